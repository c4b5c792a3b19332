/* Growing arrays, orders of numbers. */
#include <string.h>

#include "base/array.h"

enum err array_room(void *items, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return ERR_OK;
    size_t now = *room < 8 ? 8 : *room + *room / 2;
    now = now < need ? need : now;
    void *old, *new = NULL;
    memcpy(&old, items, sizeof old);
    if (now <= SIZE_MAX / 2 / size)
        new = realloc(old, now * size);
    FAIL_IF(!new, ERR_MEMORY, "no memory for a table of %zu entries", now);
    memset((char *)new + *room *size, 0, (now - *room) * size);
    memcpy(items, &new, sizeof new);
    *room = now;
    return ERR_OK;
}

void array_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(items, n, size, compare);
}

void array_copy(void *to, const void *from, size_t n, size_t size)
{
    if (n)
        memcpy(to, from, n * size);
}

int ascending_double(const void *x, const void *y)
{
    return COMPARE(*(const double *)x, *(const double *)y);
}

int ascending_float(const void *x, const void *y)
{
    return COMPARE(*(const float *)x, *(const float *)y);
}
