/* The histogram of an array: bins and counts, for people with bars. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/doctor/facts.h"
#include "cli/storage/sandbox.h"
#include "cli/storage/info_histogram.h"
#include "host/store/engine/overview.h"

#define BAR 40 /* characters of the longest */

static int bins, as_json;

static void put_bins_json(struct facts *f, const struct histogram *h)
{
    jsonw_karray(&f->w, "edges");
    for (int i = 0; i <= h->bins; i++)
        jsonw_number(&f->w, h->edge[i]);
    jsonw_end(&f->w);
    jsonw_karray(&f->w, "counts");
    for (int i = 0; i < h->bins; i++)
        jsonw_int(&f->w, h->count[i]);
    jsonw_end(&f->w);
}

static void put_bins(const struct histogram *h)
{
    static const char bar[] = "########################################";
    int64_t most = 1;
    for (int i = 0; i < h->bins; i++)
        most = h->count[i] > most ? h->count[i] : most;
    printf("\n  %14s %14s %12s\n", "from", "to", "count");
    for (int i = 0; i < h->bins; i++)
        printf("  %14.7g %14.7g %12" PRId64 "%s%.*s\n", h->edge[i], h->edge[i + 1], h->count[i],
               h->count[i] ? "  " : "", (int)((double)h->count[i] / (double)most * BAR + 0.5), bar);
}

static void print_histogram(const struct store *s, const struct store_array *a,
                            const struct histogram *h)
{
    struct facts f;
    char dtype[16];
    store_dtype_name(a->dtype, dtype);
    facts_begin(&f, as_json);
    facts_string(&f, "file", s->name);
    facts_string(&f, "format", s->format);
    facts_string(&f, "array", a->name);
    facts_shape(&f, "shape", a->dims, a->shape);
    facts_string(&f, "dtype", dtype);
    facts_number(&f, "minimum", h->finite ? h->low : (double)NAN, "");
    facts_number(&f, "maximum", h->finite ? h->high : (double)NAN, "");
    facts_int(&f, "finite", h->finite);
    facts_int(&f, "nan", h->nan);
    facts_int(&f, "minus_infinity", h->minus_infinity);
    facts_int(&f, "plus_infinity", h->plus_infinity);
    facts_int(&f, "bins", h->bins);
    if (as_json)
        put_bins_json(&f, h);
    else
        put_bins(h);
    facts_end(&f);
}

static enum err count_values(char **word)
{
    struct histogram h;
    struct store *s;
    struct store_array *a;
    TRY(store_open(word[0], &s));
    enum err e = histogram_open(&h, bins);
    if (!e)
        e = store_find(s, NULL, &a);
    if (!e)
        e = overview_read(s, a, &h, NULL, 0);
    if (!e)
        print_histogram(s, a, &h);
    histogram_close(&h);
    store_close(s);
    return e;
}

enum err info_histogram(const char *path, int number, int json)
{
    char *word[] = {(char *)path};
    bins = number;
    as_json = json;
    return storage_sandboxed(count_values, word, NULL);
}
