/* Statistics of durations as they come: Welford's mean and deviation, exact values first, then a
 * histogram of octaves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/common/dist.h"

enum { STEPS = 32, BINS = 64 * STEPS };

void dist_free(struct dist *d)
{
    free(d->values);
    free(d->histogram);
}

/* Returns bin 32 * octave + the next 5 bits below the highest. */
static int dist_bin(uint64_t ns)
{
    if (ns < STEPS)
        return (int)ns;
    int octave = 63 - __builtin_clzll(ns);
    return (octave - 4) * STEPS + (int)((ns >> (octave - 5)) & (STEPS - 1));
}

static double middle_of(int bin)
{
    if (bin < STEPS)
        return bin;
    int octave = bin / STEPS + 4;
    return ldexp(STEPS + bin % STEPS + 0.5, octave - 5);
}

static enum err dist_make_bins(struct dist *d)
{
    if (d->histogram)
        return ERR_OK;
    d->histogram = calloc(BINS, sizeof *d->histogram);
    FAIL_IF(!d->histogram, ERR_MEMORY, "no memory for a histogram");
    for (uint64_t i = 0; i < d->n; i++)
        d->histogram[dist_bin(d->values[i])]++;
    free(d->values);
    d->values = NULL;
    return ERR_OK;
}

static enum err dist_store(struct dist *d, uint64_t ns)
{
    if (d->n >= DIST_EXACT)
        TRY(dist_make_bins(d));
    if (d->histogram) {
        d->histogram[dist_bin(ns)]++;
        return ERR_OK;
    }
    size_t room = d->room;
    TRY(array_room(&d->values, &room, d->n + 1, sizeof *d->values));
    d->room = (uint32_t)room;
    d->values[d->n] = ns;
    return ERR_OK;
}

enum err dist_add(struct dist *d, uint64_t ns)
{
    TRY(dist_store(d, ns));
    double v = (double)ns, delta = v - d->mean;
    d->min = d->n && d->min < ns ? d->min : ns;
    d->max = d->max > ns ? d->max : ns;
    d->n++;
    d->sum += v;
    d->mean += delta / (double)d->n;
    d->m2 += delta * (v - d->mean);
    return ERR_OK;
}

enum err dist_merge(struct dist *to, const struct dist *from)
{
    if (!from->n)
        return ERR_OK;
    if (from->values) {
        for (uint64_t i = 0; i < from->n; i++)
            TRY(dist_add(to, from->values[i]));
        return ERR_OK;
    }
    TRY(dist_make_bins(to));
    for (int i = 0; i < BINS; i++)
        to->histogram[i] += from->histogram[i];
    double a = (double)to->n, b = (double)from->n, delta = from->mean - to->mean;
    to->min = to->n && to->min < from->min ? to->min : from->min;
    to->max = to->max > from->max ? to->max : from->max;
    to->n += from->n;
    to->sum += from->sum;
    to->mean += delta * b / (a + b);
    to->m2 += from->m2 + delta * delta * a * b / (a + b);
    return ERR_OK;
}

static int ns_ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Linear between closest ranks, as NumPy's percentile. */
double dist_quantile(struct dist *d, double q)
{
    if (!d->n)
        return (double)NAN;
    double rank = q * (double)(d->n - 1);
    if (d->values) {
        array_sort(d->values, d->n, sizeof *d->values, ns_ascending);
        uint64_t low = (uint64_t)rank, high = low + 1 < d->n ? low + 1 : low;
        double a = (double)d->values[low], b = (double)d->values[high];
        return a + (b - a) * (rank - (double)low);
    }
    uint64_t passed = 0;
    for (int i = 0; i < BINS; i++)
        if ((double)(passed += d->histogram[i]) > rank)
            return fmin(fmax(middle_of(i), (double)d->min), (double)d->max);
    return (double)d->max;
}

/* Finds a counter by its names and numbers through a hash of them. */

struct counter *counter_of(struct counters *t, const char *domain, const char *name, uint32_t a,
                           uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t numbers[4] = {a, b, c, d};
    uint64_t key = table_hash(numbers, sizeof numbers);
    key = table_mix(table_mix(key, name ? table_hash(name, strlen(name)) : 0),
                    domain ? table_hash(domain, strlen(domain)) : 0);
    uint32_t index = table_get(&t->by_key, key);
    if (index == TABLE_NONE) {
        if (array_room(&t->items, &t->room, t->count + 1, sizeof *t->items) != ERR_OK)
            return NULL;
        index = (uint32_t)t->count;
        if (table_put(&t->by_key, key, index) != ERR_OK)
            return NULL;
        t->items[index].name = name;
        t->items[index].domain = domain;
        memcpy(t->items[index].key, numbers, sizeof numbers);
        t->count++;
    }
    return &t->items[index];
}

void counters_free(struct counters *t)
{
    for (size_t i = 0; i < t->count; i++)
        dist_free(&t->items[i].time);
    free(t->items);
    table_free(&t->by_key);
}
