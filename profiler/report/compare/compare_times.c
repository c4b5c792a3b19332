/* Collects a side's times by operation and size. */
#include <stdlib.h>
#include <string.h>

#include "profiler/report/compare/compare_parts.h"

static enum err times_of(struct compare_side *s, const char *name, int size,
                         struct compare_times **out)
{
    for (int i = 0; i < s->times_count; i++)
        if (s->times[i].size == size && strcmp(s->times[i].name, name) == 0) {
            *out = &s->times[i];
            return ERR_OK;
        }
    struct compare_times *more = realloc(s->times, (size_t)(s->times_count + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more)
        s->times = more;
    if (!more || !copy) {
        free(copy);
        return FAIL(ERR_MEMORY, "no memory left for the operations of %s", s->path);
    }
    more[s->times_count] = (struct compare_times){.name = copy, .size = size};
    *out = &more[s->times_count++];
    return ERR_OK;
}

enum err compare_add_time(struct compare_side *s, const char *name, int size, double seconds)
{
    struct compare_times *t = NULL;
    FAIL_IF(!(seconds > 0), ERR_INPUT, "%s has a time of %s that is not above 0", s->path, name);
    TRY(times_of(s, name, size, &t));
    double *more = realloc(t->seconds, (size_t)(t->count + 1) * sizeof *more);
    FAIL_IF(!more, ERR_MEMORY, "no memory left for the times of %s", s->path);
    t->seconds = more;
    more[t->count++] = seconds;
    return ERR_OK;
}
