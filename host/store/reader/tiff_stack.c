/* A folder of numbered TIFF files: one page of each, one array for each stem. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/tiff_page.h"

#define STEMS_MOST 64

/* "view_0012.tif": a name that ends in digits before its suffix. */
static int is_numbered(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && (!strcasecmp(dot, ".tif") || !strcasecmp(dot, ".tiff")) &&
           isdigit((unsigned char)dot[-1]);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int select_numbered(const struct dirent *d)
{
    return is_numbered(d->d_name);
}

static int knows_stack(const struct reader_file *f)
{
    struct dirent **names;
    int n = f->is_folder ? scandir(f->path, &names, select_numbered, by_number) : -1;
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
    /* open_stack says why it cannot be listed; those of servers cannot */
    return n > 0 || (n < 0 && f->is_folder && !http_is_url(f->path));
}

/* "proj" of "proj_0001.tif". */
static size_t stem_length(const char *name)
{
    size_t n = (size_t)(strrchr(name, '.') - name);
    while (n > 0 && isdigit((unsigned char)name[n - 1]))
        n--;
    while (n > 0 && strchr("_-. ", name[n - 1]))
        n--;
    return n;
}

static int same_stem(const char *a, const char *b)
{
    return stem_length(a) == stem_length(b) && !strncmp(a, b, stem_length(a));
}

/* The largest page of a file: others are thumbnails. Two of one size would be a shorter stack. */
static enum err read_view(struct store *s, int32_t object, const char *folder, const char *name,
                          struct tiff_pages *out)
{
    struct tiff_pages pages = {0};
    size_t best = 0, same = 1;
    enum err e = tiff_pages_read(s, object, &pages);
    for (size_t i = 1; i < pages.count && !e; i++) {
        const int64_t n = tiff_page_pixels(&pages.items[i]),
                      most = tiff_page_pixels(&pages.items[best]);
        same = n > most ? 1 : same + (n == most);
        best = n > most ? i : best;
    }
    if (!e && !pages.count)
        e = FAIL(ERR_INPUT, "%s/%s: has no pages", folder, name);
    if (!e && same > 1)
        e = FAIL(ERR_INPUT,
                 "%s/%s: has %zu pages of one size; in a folder of numbered files each has one. "
                 "Move it elsewhere, or split it with tiffsplit",
                 folder, name, same);
    if (!e)
        e = array_room(&out->items, &out->room, out->count + 1, sizeof *out->items);
    if (!e)
        out->items[out->count++] = pages.items[best];
    free(pages.items);
    return e;
}

/* Adds the files of one stem. */
static enum err tiff_stack_add(struct store *s, const char *folder, struct dirent **names, int n,
                               const char *name)
{
    struct tiff_pages pages = {0};
    enum err e = ERR_OK;
    for (int i = 0; i < n && !e; i++) {
        int32_t object;
        e = store_object_add(s, folder, names[i]->d_name, &object);
        if (!e)
            e = read_view(s, object, folder, names[i]->d_name, &pages);
        if (!e && !tiff_same_layout(&pages.items[0], &pages.items[i]))
            e = FAIL(ERR_INPUT, "%s: %s is laid out otherwise than %s; a stack has one layout",
                     folder, names[i]->d_name, names[0]->d_name);
    }
    size_t *which = calloc((size_t)(n > 0 ? n : 1), sizeof *which);
    for (int i = 0; which && i < n; i++)
        which[i] = (size_t)i;
    if (!e)
        e = which ? tiff_array_add(s, name, &pages, which, n, NULL)
                  : FAIL(ERR_MEMORY, "no memory left");
    free(which);
    free(pages.items);
    return e;
}

static int array_by_length(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_elements(a), n = store_elements(b);
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

/* Makes an array for each stem, the largest first; `data` where there is a single one. */
static enum err fill_stack(struct store *s, const char *folder, struct dirent **names, int n)
{
    int first = 0, stems = 0;
    struct dirent **sorted = calloc((size_t)n + 1, sizeof *sorted);
    FAIL_IF(!sorted, ERR_MEMORY, "%s: no memory left for its names", folder);
    enum err e = ERR_OK;
    for (int done = 0; done < n && !e; stems++) {
        char name[256];
        int count = 0;
        while (!names[first])
            first++;
        const struct dirent *one = names[first];
        for (int i = first; i < n; i++)
            if (names[i] && same_stem(one->d_name, names[i]->d_name)) {
                sorted[count++] = names[i];
                if (i > first)
                    names[i] = NULL;
            }
        snprintf(name, sizeof name, "%.*s", (int)stem_length(one->d_name), one->d_name);
        e = tiff_stack_add(s, folder, sorted, count, count == n || !name[0] ? "data" : name);
        done += count;
        for (int i = 0; i < count; i++)
            free(sorted[i]);
        names[first] = NULL;
        if (stems == STEMS_MOST && !e)
            e = FAIL(ERR_INPUT, "%s: has files of more than %d names: put each stack into a folder",
                     folder, STEMS_MOST);
    }
    free(sorted);
    if (!e)
        array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, array_by_length);
    return e;
}

static enum err open_stack(const struct reader_file *f, struct store **out)
{
    struct dirent **names;
    int n = scandir(f->path, &names, select_numbered, by_number);
    FAIL_IF(n < 0, ERR_IO, "%s: cannot be listed: %s", f->path, strerror(errno));
    FAIL_IF(n < 1, ERR_INPUT, "%s: has no numbered .tif files", f->path);
    *out = NULL;
    enum err e = store_make(f->path, "TIFF stack", out);
    if (!e)
        e = fill_stack(*out, f->path, names, n);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return e;
}

const struct reader reader_tiff_stack = {"TIFF stack", "folders of TIFF", knows_stack, open_stack};
