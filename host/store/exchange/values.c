/* Small arrays as float64: scalars of metadata, angles of a file of their own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/exchange/roles.h"

#define TEXT_BYTES ((size_t)64 << 20)

int values_names(const struct store *s)
{
    return s->arrays_count + s->aliases_count;
}

struct store_alias values_name(const struct store *s, int i)
{
    if (i >= s->arrays_count)
        return s->aliases[i - s->arrays_count];
    return (struct store_alias){s->arrays[i]->name, s->arrays[i]->group, NULL, s->arrays[i]};
}

struct store_array *values_find(struct store *s, const char *name)
{
    for (int i = 0; i < values_names(s); i++)
        if (!strcmp(values_name(s, i).name, name))
            return values_name(s, i).array;
    return NULL;
}

/* Tells a note about `name`, or about a group that may hold it, from others. */
static int note_is_about(const struct store_note *note, const char *name)
{
    const char *end = strstr(note->value, ": ");
    const size_t n = end ? (size_t)(end - note->value) : 0;
    if (strcmp(note->name, "unreadable") != 0 || !n)
        return 0;
    if (note->hides && n == 1 && note->value[0] == '/')
        return 1;
    return !strncmp(note->value, name, n) && (!name[n] || (note->hides && name[n] == '/'));
}

enum err values_want(struct store *s, const char *name, struct store_array **out)
{
    *out = values_find(s, name);
    for (int i = 0; i < s->notes_count && !*out; i++)
        FAIL_IF(note_is_about(&s->notes[i], name), ERR_INPUT, "%s: cannot read %s", s->name,
                s->notes[i].value);
    return ERR_OK;
}

enum err values_read(struct store *s, struct store_array *a, double **out)
{
    const struct store_dtype f8 = {'f', 8, 0};
    const int64_t n = store_elements(a);
    *out = NULL;
    if (n > 1 << 20)
        TRY(mem_require(a->name, (size_t)n * sizeof **out, NULL));
    *out = malloc((size_t)n * sizeof **out + 1);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left for %s", s->name, a->name);
    enum err e = engine_read(s, a, NULL, f8, *out, NULL);
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

enum err values_scalar(struct store *s, const char *name, double *out, struct store_array **array)
{
    double *value;
    struct store_array *a;
    *out = (double)NAN;
    TRY(values_want(s, name, &a));
    if (array)
        *array = a;
    if (!a || store_elements(a) != 1)
        return ERR_OK;
    TRY(values_read(s, a, &value));
    *out = *value;
    free(value);
    return ERR_OK;
}

double values_note(const struct store *s, const char *name)
{
    for (int i = 0; i < s->notes_count; i++)
        if (!strcmp(s->notes[i].name, name))
            return strtod(s->notes[i].value, NULL);
    return (double)NAN;
}

double values_millimetres(const char *units)
{
    static const struct {
        const char *name;
        double mm;
    } rows[] = {
        {"m", 1000},  {"meter", 1000},     {"metre", 1000},  {"cm", 10},           {"mm", 1},
        {"um", 1e-3}, {"\xc2\xb5m", 1e-3}, {"micron", 1e-3}, {"micrometer", 1e-3}, {"nm", 1e-6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(units, rows[i].name))
            return rows[i].mm;
    return (double)NAN;
}

static enum err angles_from_text(const char *path, const char *text, int64_t views, double *out)
{
    int64_t n = 0;
    for (const char *at = text;;) {
        char *end;
        at += strspn(at, " \t\r\n,;");
        if (!*at)
            break;
        const double value = strtod(at, &end);
        FAIL_IF(end == at || !isfinite(value), ERR_INPUT,
                "`angles=%s`: \"%.20s\" is not an angle: give one number per view, in degrees",
                path, at);
        if (n < views)
            out[n] = value;
        n++;
        at = end;
    }
    FAIL_IF(n != views, ERR_INPUT,
            "`angles=%s`: has %" PRId64 " angles; the scan has %" PRId64 " views", path, n, views);
    return ERR_OK;
}

static enum err angles_from_array(const char *path, int64_t views, double *out)
{
    struct store *s;
    double *all = NULL;
    TRY(store_open(path, &s));
    const int64_t n = store_elements(s->arrays[0]);
    enum err e =
        n == views
            ? values_read(s, s->arrays[0], &all)
            : FAIL(ERR_INPUT, "`angles=%s`: has %" PRId64 " angles; the scan has %" PRId64 " views",
                   path, n, views);
    for (int64_t i = 0; i < views && !e; i++) {
        out[i] = all[i];
        if (!isfinite(all[i]))
            e = FAIL(ERR_INPUT, "`angles=%s`: angle %" PRId64 " is not a finite number", path, i);
    }
    free(all);
    store_close(s);
    return e;
}

/* 1: `source` is FIRST:LAST. */
static int angles_from_range(const char *source, int64_t views, double *out)
{
    char *end, *last;
    const double a = strtod(source, &end);
    if (end == source || *end != ':')
        return 0;
    const double b = strtod(end + 1, &last);
    if (last == end + 1 || *last || !isfinite(a) || !isfinite(b))
        return 0;
    for (int64_t i = 0; i < views; i++)
        out[i] = views > 1 ? a + (b - a) * (double)i / (double)(views - 1) : a;
    return 1;
}

static enum err angles_from_file(const char *source, int64_t views, double *out)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(source, TEXT_BYTES, &text, &bytes));
    enum err e = bytes >= 6 && !memcmp(text, "\x93NUMPY", 6)
                     ? angles_from_array(source, views, out)
                     : angles_from_text(source, text, views, out);
    free(text);
    return e;
}

enum err values_angles(const char *source, int64_t views, double **out)
{
    *out = calloc((size_t)views, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left for %" PRId64 " angles", views);
    enum err e =
        angles_from_range(source, views, *out) ? ERR_OK : angles_from_file(source, views, *out);
    for (int64_t i = 0; i < views && !e; i++)
        (*out)[i] *= M_PI / 180;
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

/* NXtomo: groups are found by their NX_class, under all names that links give them. */

const char *nexus_sibling(const char *name, const char *other, char path[1024])
{
    const char *slash = strrchr(name, '/');
    snprintf(path, 1024, "%.*s%s%s", slash ? (int)(slash - name) : 0, name, slash ? "/" : "",
             other);
    return path;
}

static enum err image_key(struct store *s, const struct store_alias *data, struct store_array **out)
{
    char path[1024];
    TRY(values_want(s, nexus_sibling(data->name, "image_key", path), out));
    if (!*out)
        TRY(values_want(s, nexus_sibling(data->name, "image_key_control", path), out));
    if (*out && ((*out)->dims != 1 || (*out)->shape[0] != data->array->shape[0]))
        *out = NULL;
    return ERR_OK;
}

enum err nexus_detector(struct store *s, struct store_alias *out, struct store_array **key)
{
    *key = NULL;
    for (int i = 0; i < values_names(s) && !*key; i++) {
        *out = values_name(s, i);
        if (out->array->dims == 3 && out->group && !strcmp(out->group, "NXdetector"))
            TRY(image_key(s, out, key));
    }
    return ERR_OK;
}

enum err nexus_rotation(struct store *store, const char *data, struct store_array **out)
{
    static const char wanted[] = "/rotation_angle";
    size_t most = 0;
    *out = NULL;
    for (int i = 0; i < values_names(store); i++) {
        const struct store_alias a = values_name(store, i);
        const char *slash = strrchr(a.name, '/');
        size_t same = 0;
        if (!slash || strcmp(slash, wanted) || !a.group || strcmp(a.group, "NXsample"))
            continue;
        while (a.name[same] && a.name[same] == data[same])
            same++;
        if (!*out || same > most)
            *out = a.array;
        most = same > most ? same : most;
    }
    for (int i = 0; i < store->notes_count && !*out; i++) {
        const struct store_note *n = &store->notes[i];
        const char *end = strstr(n->value, ": ");
        const size_t bytes = end ? (size_t)(end - n->value) : 0, k = sizeof wanted - 1;
        FAIL_IF(!strcmp(n->name, "unreadable") &&
                    (n->hides || (bytes >= k && !strncmp(n->value + bytes - k, wanted, k))),
                ERR_INPUT,
                "%s: has no angles that can be read (give them with `angles`); cannot "
                "read %s",
                store->name, n->value);
    }
    return ERR_OK;
}
