/* The tables of timing.json's structs, and the file as a whole. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "base/timing/timing.h"

#define TIMING_LIMIT ((size_t)256 << 20)

TIMING_STRUCTS(JSON_RECORD)
JSON_RECORD(timing_file, TIMING_FILE_FIELDS)

enum err timing_file_create(struct timing_file **out)
{
    struct arena *arena;
    *out = NULL;
    TRY(arena_create(&arena));
    struct timing_file *t = arena_take(arena, sizeof *t);
    if (!t) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory left for the times");
    }
    json_blank(&record_timing_file, t);
    t->arena = arena;
    *out = t;
    return ERR_OK;
}

void timing_file_free(struct timing_file *t)
{
    if (t)
        arena_free(t->arena);
}

enum err timing_file_write(const struct timing_file *t, const char *path)
{
    struct outfile f;
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    json_write(&w, &record_timing_file, t);
    return outfile_commit(&f);
}

enum err timing_file_read(const char *path, struct timing_file **out)
{
    cJSON *root;
    enum err e = ERR_OK;
    *out = NULL;
    TRY(json_parse_file(path, TIMING_LIMIT, &root));
    if (cJSON_IsObject(root)) {
        e = timing_file_create(out);
        if (!e)
            e = json_read((*out)->arena, &record_timing_file, root, *out, JSON_LENIENT);
    }
    cJSON_Delete(root);
    if (e) {
        timing_file_free(*out);
        *out = NULL;
    }
    return e;
}

/* The sentence that sums up a run of the suite. The page's is made by the same rule
 * (profiler/report/page/assets/summary.js). */

/* Seconds above what the peak allows; operations of which no peak is known come after all others.
 */
static double seconds_lost(const struct timing_statistics *s)
{
    return isfinite(s->roof_share) ? s->median * fmax(0, 1 - s->roof_share) : -1;
}

static int farther_from_peak(const struct timing_statistics *a, const struct timing_statistics *b)
{
    return seconds_lost(a) != seconds_lost(b) ? seconds_lost(a) > seconds_lost(b)
                                              : a->median > b->median;
}

void timing_seconds(double s, char out[TIMING_SECONDS])
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    int u = 0;
    for (; u < 3 && s < 1; u++)
        s *= 1000;
    snprintf(out, TIMING_SECONDS, "%.3g %s", s, units[u]);
}

void timing_headline(const struct timing_file *t, char out[TIMING_HEADLINE])
{
    const struct timing_statistics *top = NULL;
    char took[TIMING_SECONDS], at_peak[TIMING_SECONDS];
    int64_t size = 0;
    *out = 0;
    for (int i = 0; i < t->statistics_count; i++) {
        const struct timing_statistics *s = &t->statistics[i];
        if (!s->operation || !(s->median > 0) || s->volume_size == JSON_UNKNOWN ||
            s->volume_size < size)
            continue;
        if (s->volume_size > size || farther_from_peak(s, top))
            top = s;
        size = s->volume_size;
    }
    if (!top)
        return;
    timing_seconds(top->median, took);
    if (seconds_lost(top) < 0) {
        snprintf(out, TIMING_HEADLINE, "At %lld^3, %.60s takes %s.", (long long)size,
                 top->operation, took);
        return;
    }
    timing_seconds(top->median - seconds_lost(top), at_peak);
    snprintf(out, TIMING_HEADLINE,
             "At %lld^3, %.60s is farthest from this machine's peak: it takes %s, at the peak it "
             "would take %s.",
             (long long)size, top->operation, took, at_peak);
}
