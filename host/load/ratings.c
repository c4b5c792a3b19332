/* Fast, moderate or slow, by limits that laboratories use for tiles of microscopes. */
#include <math.h>
#include <string.h>

#include "host/load/load.h"

/* A number of a chunk; 0 where it is unknown. */
static double rated_known(int64_t value)
{
    return value > 0 ? (double)value : 0;
}

static double rated_read(const struct loading *l)
{
    double s = 0;
    for (int i = 0; i < l->chunks_count; i++)
        s += 1e-9 * (rated_known(l->chunks[i].fetch_ns) + rated_known(l->chunks[i].decode_ns) +
                     rated_known(l->chunks[i].convert_ns));
    return l->spread.n ? s / (double)l->spread.n : (double)NAN;
}

static double rated_place(const struct loading *l)
{
    double s = 0;
    for (int i = 0; i < l->chunks_count; i++)
        s += 1e-9 * rated_known(l->chunks[i].place_ns);
    return l->spread.n ? s / (double)l->spread.n : (double)NAN;
}

/* The fastest threads of the sweep. */
static double rated_threads(const struct loading *l)
{
    for (int i = 0; i < l->sweep_count; i++)
        if (!strcmp(l->sweep[i].status, "ok") && l->sweep[i].workers > 1 && !l->sweep[i].processes)
            return l->sweep[i].speedup;
    return (double)NAN;
}

static double rated_rate(const struct loading *l)
{
    double bytes = 0;
    const double elements = l->file.bytes > 0 ? (double)l->file.bytes : 0;
    double count = 1;
    for (int i = 0; i < l->file.shape_count; i++)
        count *= (double)l->file.shape[i];
    for (int i = 0; i < l->chunks_count; i++)
        bytes += rated_known(l->chunks[i].decoded);
    return elements > 0 && l->read_s > 0 ? bytes / (elements / count) / l->read_s / 1e6
                                         : (double)NAN;
}

/* 1: half of what was fetched came from the disk. A file in the page cache says nothing of it. */
static int disk_was_read(const struct loading *l)
{
    double stored = 0;
    for (int i = 0; i < l->chunks_count; i++)
        stored += rated_known(l->chunks[i].stored);
    return l->disk.requests > 0 && (double)l->disk.bytes >= stored / 2;
}

static double rated_wait(const struct loading *l)
{
    return disk_was_read(l) ? l->disk.wait_s : (double)NAN;
}

static double rated_requests(const struct loading *l)
{
    return disk_was_read(l) ? l->disk.requests_per_s : (double)NAN;
}

static double rated_busy(const struct loading *l)
{
    return disk_was_read(l) ? 100 * l->disk.busy_share : (double)NAN;
}

/* `fast` and `slow` are limits; where fast is the smaller one, less is better. */
static const struct {
    const char *name, *unit;
    double fast, slow;
    double (*value)(const struct loading *l);
} measures[] = {
    {"read of a chunk", "s", 0.01, 0.1, rated_read},
    {"placing of a chunk", "s", 0.001, 0.01, rated_place},
    {"threads over one chunk after the other", "", 2, 1.2, rated_threads},
    {"throughput", "Mpx/s", 100, 20, rated_rate},
    {"wait of a request to the disk", "s", 0.005, 0.02, rated_wait},
    {"requests to the disk", "/s", 100, 10, rated_requests},
    {"disk busy", "%", 50, 80, rated_busy},
};
enum { MEASURES = sizeof measures / sizeof *measures };

static const char *rating_of(double value, double fast, double slow)
{
    const int less = fast < slow;
    if (less ? value < fast : value >= fast)
        return "Fast";
    return (less ? value > slow : value < slow) ? "Slow" : "Moderate";
}

enum err load_ratings(struct loading *l)
{
    TRY(json_items(l->arena, &record_load_rating, MEASURES, &l->ratings, &l->ratings_count));
    l->ratings_count = 0;
    for (int i = 0; i < MEASURES; i++) {
        const double value = measures[i].value(l), fast = measures[i].fast, slow = measures[i].slow;
        if (isfinite(value))
            l->ratings[l->ratings_count++] = (struct load_rating){measures[i].name,
                                                                  value,
                                                                  measures[i].unit,
                                                                  rating_of(value, fast, slow),
                                                                  fast,
                                                                  slow};
    }
    return ERR_OK;
}
