/* Reads timing.json for triage: one row per operation and size. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/timing/timing.h"
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

static double seconds_median(double *v, int n)
{
    if (n == 0)
        return (double)NAN;
    qsort(v, (size_t)n, sizeof *v, ascending_double);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* A row of measurements that counts as a time; says what it thinks of others. */
static int measurement_is_usable(const struct timing_measurement *m, struct notes *notes)
{
    const double size = json_real(m->volume_size);
    if (!m->operation || strlen(m->operation) >= TIMING_NAME || !(size >= 1 && size <= 1e5)) {
        notes_add(notes, "a measurement without a usable operation and size was left out");
        return 0;
    }
    if (m->traced)
        return 0;
    if (m->status && strcmp(m->status, "ok") != 0) {
        notes_add(notes, "%s at %g was %s%s%s", m->operation, size, m->status,
                  m->reason ? ": " : "", m->reason ? m->reason : "");
        return 0;
    }
    if (!(m->time > 0) || !isfinite(m->time)) {
        notes_add(notes, "%s at %g: %s is not a time; the row was left out", m->operation, size,
                  isnan(m->time) ? "null"
                  : m->time < 0  ? "less than 0"
                                 : "0");
        return 0;
    }
    return 1;
}

static void timing_append_row(struct timing *t, const char *name, double size)
{
    for (int i = 0; i < t->rows_count; i++)
        if (t->rows[i].size == size && !strcmp(t->rows[i].operation, name))
            return;
    const double unknown = (double)NAN;
    t->rows[t->rows_count++] = (struct timing_row){.operation = name,
                                                   .size = size,
                                                   .seconds = unknown,
                                                   .cv = unknown,
                                                   .flops = unknown,
                                                   .bytes = unknown,
                                                   .flops_counted = unknown,
                                                   .bytes_counted = unknown,
                                                   .gpu_time = unknown,
                                                   .moved = unknown};
}

/* Sums up the times of one row, without the cold run unless it is the only one. */
static void timing_summarise_row(struct timing_row *r, const struct timing_file *file, double *room,
                                 struct notes *notes)
{
    for (int cold = 0; cold < 2; cold++) {
        double sum = 0, squares = 0;
        int n = 0;
        for (int i = 0; i < file->measurements_count; i++) {
            const struct timing_measurement *m = &file->measurements[i];
            if (!measurement_is_usable(m, notes) || json_real(m->volume_size) != r->size ||
                strcmp(m->operation, r->operation) != 0 || m->cold != cold)
                continue;
            room[n++] = m->time;
            r->flops = m->flops;
            r->bytes = m->bytes;
            r->flops_counted = m->counted_flops;
            r->bytes_counted = m->counted_bytes;
            r->gpu_time = m->gpu_time;
            r->moved = fmax(json_real(m->h2d_bytes), json_real(m->d2h_bytes));
        }
        if (!n)
            continue;
        for (int i = 0; i < n; i++)
            sum += room[i];
        for (int i = 0; i < n; i++)
            squares += (room[i] - sum / n) * (room[i] - sum / n);
        r->cv = n > 1 ? sqrt(squares / (n - 1)) / (sum / n) : (double)NAN;
        r->seconds = seconds_median(room, n);
        r->runs = n;
        return;
    }
}

/* Returns the median of the member at `offset` of all calibrations. */
static double calibration_median(const struct timing_file *file, size_t offset, double *room)
{
    int n = 0;
    for (int i = 0; i < file->measurements_count; i++) {
        const char *c = (const char *)file->measurements[i].calibration;
        double v = c ? *(const double *)(const void *)(c + offset) : (double)NAN;
        if (v > 0)
            room[n++] = v;
    }
    return seconds_median(room, n);
}

static enum err timing_read_rows(struct timing *t, struct notes *notes)
{
    const struct timing_file *file = t->file;
    FAIL_IF(!file, ERR_INPUT, "not a JSON object");
    FAIL_IF(!file->measurements, ERR_INPUT, "no \"measurements\": it is not a timing.json");
    size_t n = (size_t)file->measurements_count + 1;
    t->rows = calloc(n, sizeof *t->rows);
    double *room = calloc(n, sizeof *room);
    if (!t->rows || !room) {
        free(room);
        return FAIL(ERR_MEMORY, "no memory for %zu measurements", n);
    }
    for (int i = 0; i < file->measurements_count; i++) {
        const struct timing_measurement *m = &file->measurements[i];
        if (measurement_is_usable(m, notes))
            timing_append_row(t, m->operation, json_real(m->volume_size));
    }
    for (int i = 0; i < t->rows_count; i++)
        timing_summarise_row(&t->rows[i], file, room, notes);
    t->gflops = calibration_median(file, offsetof(struct timing_calibration, gflops), room);
    t->gbytes_per_s =
        calibration_median(file, offsetof(struct timing_calibration, gbytes_per_s), room);
    free(room);
    FAIL_IF(t->rows_count == 0, ERR_INPUT, "no operation has a time");
    return ERR_OK;
}

enum err timing_read(const char *path, struct timing *t, struct notes *notes)
{
    *t = (struct timing){.gflops = (double)NAN, .gbytes_per_s = (double)NAN};
    TRY(timing_file_read(path, &t->file));
    enum err e = timing_read_rows(t, notes);
    if (e)
        timing_free(t);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

void timing_free(struct timing *t)
{
    free(t->rows);
    timing_file_free(t->file);
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
    for (int i = 0; i < (t->file ? t->file->scaling_count : 0); i++) {
        const struct timing_scaling *s = &t->file->scaling[i];
        if (s->operation && !strcmp(s->operation, operation) && s->p >= 0 && s->p <= 10) {
            *overhead = s->overhead_share;
            return s->p;
        }
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
