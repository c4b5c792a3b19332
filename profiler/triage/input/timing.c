#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "host/base/file.h"
#include "profiler/triage/input/timing.h"

void notes_add(struct notes *n, const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    int made = vasprintf(&text, format, list);
    va_end(list);
    if (made < 0)
        return;
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->text[i], text)) {
            free(text);
            return;
        }
    if (n->count < NOTES_MOST)
        n->text[n->count++] = text;
    else
        free(text);
}

void notes_free(struct notes *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->text[i]);
    n->count = 0;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static const char *text(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static void copy_text(char *out, size_t size, const char *in)
{
    snprintf(out, size, "%s", in ? in : "");
}

static int is_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    if (n == 0)
        return (double)NAN;
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* A row of measurements that counts as a time; says what it thinks of others. */
static int usable(const cJSON *m, struct notes *notes)
{
    const char *name = text(m, "operation"), *status = text(m, "status");
    const double size = number(m, "volume_size"), time = number(m, "time");
    if (!name || strlen(name) >= TIMING_NAME || !(size >= 1 && size <= 1e5)) {
        notes_add(notes, "a measurement without a usable operation and size was left out");
        return 0;
    }
    if (is_true(m, "traced"))
        return 0;
    if (status && strcmp(status, "ok") != 0) {
        const char *why = text(m, "reason");
        notes_add(notes, "%s at %g was %s%s%s", name, size, status, why ? ": " : "",
                  why ? why : "");
        return 0;
    }
    if (!(time > 0) || !isfinite(time)) {
        notes_add(notes, "%s at %g: a time of %s is none and was left out", name, size,
                  isnan(time) ? "null"
                  : time < 0  ? "less than 0"
                              : "0");
        return 0;
    }
    return 1;
}

static struct timing_row *row_of(struct timing *t, const char *name, double size)
{
    for (int i = 0; i < t->rows_count; i++)
        if (t->rows[i].size == size && !strcmp(t->rows[i].operation, name))
            return &t->rows[i];
    struct timing_row *r = &t->rows[t->rows_count++];
    *r = (struct timing_row){.size = size, .seconds = (double)NAN, .cv = (double)NAN};
    r->flops = r->bytes = r->flops_counted = r->bytes_counted = r->gpu_time = r->moved =
        (double)NAN;
    copy_text(r->operation, sizeof r->operation, name);
    return r;
}

/* Times of one row: without the cold run unless there is no other. */
static void summarise(struct timing_row *r, const cJSON *measurements, double *room,
                      struct notes *notes)
{
    for (r->cold = 0; r->cold < 2; r->cold++) {
        double sum = 0, squares = 0;
        int n = 0;
        for (const cJSON *m = measurements->child; m; m = m->next)
            if (usable(m, notes) && number(m, "volume_size") == r->size &&
                !strcmp(text(m, "operation"), r->operation) && is_true(m, "cold") == r->cold) {
                room[n++] = number(m, "time");
                r->flops = number(m, "flops");
                r->bytes = number(m, "bytes");
                r->flops_counted = number(m, "counted_flops");
                r->bytes_counted = number(m, "counted_bytes");
                r->gpu_time = number(m, "gpu_time");
                r->moved = fmax(number(m, "h2d_bytes"), number(m, "d2h_bytes"));
            }
        if (!n)
            continue;
        for (int i = 0; i < n; i++)
            sum += room[i];
        for (int i = 0; i < n; i++)
            squares += (room[i] - sum / n) * (room[i] - sum / n);
        r->cv = n > 1 ? sqrt(squares / (n - 1)) / (sum / n) : (double)NAN;
        r->seconds = median(room, n);
        r->runs = n;
        return;
    }
}

static double calibration(const cJSON *measurements, const char *key, double *room)
{
    int n = 0;
    for (const cJSON *m = measurements->child; m; m = m->next) {
        double v = number(cJSON_GetObjectItemCaseSensitive(m, "calibration"), key);
        if (v > 0)
            room[n++] = v;
    }
    return median(room, n);
}

static enum err read_rows(const cJSON *json, struct timing *t, struct notes *notes)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "measurements");
    FAIL_IF(!cJSON_IsArray(all), ERR_INPUT, "no \"measurements\": it is no timing.json");
    size_t n = (size_t)cJSON_GetArraySize(all) + 1;
    t->rows = calloc(n, sizeof *t->rows);
    double *room = calloc(n, sizeof *room);
    if (!t->rows || !room) {
        free(room);
        return FAIL(ERR_MEMORY, "no memory for %zu measurements", n);
    }
    for (const cJSON *m = all->child; m; m = m->next)
        if (usable(m, notes))
            row_of(t, text(m, "operation"), number(m, "volume_size"));
    for (int i = 0; i < t->rows_count; i++)
        summarise(&t->rows[i], all, room, notes);
    t->gflops = calibration(all, "gflops", room);
    t->gbytes_per_s = calibration(all, "gbytes_per_s", room);
    free(room);
    FAIL_IF(t->rows_count == 0, ERR_INPUT, "no operation has a time");
    return ERR_OK;
}

static enum err read_growth(const cJSON *json, struct timing *t)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "scaling");
    t->growth = calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *t->growth);
    FAIL_IF(!t->growth, ERR_MEMORY, "no memory for the growth of operations");
    for (const cJSON *s = cJSON_IsArray(all) ? all->child : NULL; s; s = s->next) {
        struct timing_growth g = {.exponent = number(s, "p"), .r2 = number(s, "r2")};
        double sizes = number(s, "sizes");
        const char *name = text(s, "operation");
        if (!name || !(g.exponent >= 0 && g.exponent <= 10))
            continue;
        copy_text(g.operation, sizeof g.operation, name);
        g.overhead_share = number(s, "overhead_share");
        g.sizes = sizes >= 0 && sizes < 1000 ? (int)sizes : 0;
        t->growth[t->growth_count++] = g;
    }
    return ERR_OK;
}

static void read_environment(const cJSON *json, struct timing *t)
{
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(json, "environment");
    const cJSON *device = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(e, "devices"), 0);
    double threads = number(e, "threads");
    copy_text(t->backend, sizeof t->backend, text(e, "backend"));
    copy_text(t->device, sizeof t->device, cJSON_IsString(device) ? device->valuestring : NULL);
    copy_text(t->cpu, sizeof t->cpu, text(e, "cpu"));
    t->threads = threads >= 1 && threads < 1e5 ? (int)threads : 0;
}

static enum err read_json(const cJSON *json, struct timing *t, struct notes *notes)
{
    FAIL_IF(!cJSON_IsObject(json), ERR_INPUT, "not a JSON object");
    read_environment(json, t);
    TRY(read_rows(json, t, notes));
    return read_growth(json, t);
}

enum err timing_read(const char *path, struct timing *t, struct notes *notes)
{
    char *data;
    size_t bytes;
    *t = (struct timing){.gflops = (double)NAN, .gbytes_per_s = (double)NAN};
    TRY(file_read_all(path, 1 << 28, &data, &bytes));
    cJSON *json = cJSON_ParseWithLength(data, bytes);
    enum err e = read_json(json, t, notes);
    cJSON_Delete(json);
    free(data);
    if (e)
        timing_free(t);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

void timing_free(struct timing *t)
{
    free(t->rows);
    free(t->growth);
    *t = (struct timing){0};
}

const struct timing_row *timing_find(const struct timing *t, const char *operation, double size)
{
    for (int i = 0; i < t->rows_count; i++)
        if (t->rows[i].size == size && !strcmp(t->rows[i].operation, operation) &&
            t->rows[i].seconds > 0)
            return &t->rows[i];
    return NULL;
}

double timing_exponent(const struct timing *t, const char *operation, double *overhead,
                       const char **why)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    *overhead = (double)NAN;
    *why = NULL;
    for (int i = 0; i < t->rows_count; i++) {
        const struct timing_row *r = &t->rows[i];
        if (strcmp(r->operation, operation) != 0 || !(r->seconds > 0))
            continue;
        double u = log(r->size), v = log(r->seconds);
        n++, x += u, y += v, xx += u * u, xy += u * v;
    }
    if (n < 3) {
        *why = n == 0 ? "not measured by itself" : "fewer than 3 sizes: no exponent from so few";
        return (double)NAN;
    }
    for (int i = 0; i < t->growth_count; i++)
        if (!strcmp(t->growth[i].operation, operation)) {
            *overhead = t->growth[i].overhead_share;
            return t->growth[i].exponent;
        }
    return (n * xy - x * y) / (n * xx - x * x);
}

double timing_largest(const struct timing *t)
{
    double largest = 0;
    for (int i = 0; i < t->rows_count; i++)
        largest = fmax(largest, t->rows[i].size);
    return largest;
}
