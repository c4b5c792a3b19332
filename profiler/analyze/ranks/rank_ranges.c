/* Ranges beside ranks: how unequal the time outside of MPI is that ranks spend in one range. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/ranks/ranks_state.h"

enum { ROWS_MAX = 1000 };

/* The calls of one rank by their begin, and the time in those before each. */
struct in_mpi {
    struct ranks_run *all;
    int rank;
    size_t n;
    struct span {
        uint64_t begin, length, before;
    } * spans;
};

ARRAY_ORDER(by_begin, struct span, COMPARE(x->begin, y->begin));

/* ns in MPI until `time`. */
static uint64_t mpi_time_until(const struct in_mpi *m, uint64_t time)
{
    size_t low = ARRAY_BOUND(0, m->n, i, m->spans[i].begin < time);
    if (!low)
        return 0;
    const struct span *s = &m->spans[low - 1];
    const uint64_t inside = time - s->begin;
    return s->before + (inside < s->length ? inside : s->length);
}

static enum err rank_range_add(void *context, uint32_t row, uint64_t start, uint64_t end)
{
    struct in_mpi *m = context;
    const uint64_t key = table_mix(row, (uint64_t)m->rank);
    uint32_t at = table_get(&m->all->range_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)m->all->ranges.count;
        TRY(vector_add(&m->all->ranges, (struct rank_range){.row = row, .rank = m->rank}));
        TRY(table_put(&m->all->range_by_key, key, at));
    }
    struct rank_range *k = &m->all->ranges.items[at];
    const double in = (double)(mpi_time_until(m, end) - mpi_time_until(m, start)),
                 spent = (double)(end - start);
    k->n++;
    k->spent += spent;
    k->in_mpi += fmin(in, spent);
    return ERR_OK;
}

enum err ranks_ranges(struct image *im, int rank, size_t first)
{
    struct ranks_run *all = im->run->ranks;
    struct in_mpi m = {.all = all, .rank = rank, .n = all->events.count - first};
    m.spans = calloc(m.n + 1, sizeof *m.spans);
    FAIL_IF(!m.spans, ERR_MEMORY, "no memory for the ranges of ranks");
    for (size_t i = 0; i < m.n; i++) {
        const struct rank_event *e = &all->events.items[first + i];
        m.spans[i] = (struct span){.begin = e->begin, .length = e->end - e->begin};
    }
    array_sort(m.spans, m.n, sizeof *m.spans, by_begin);
    for (size_t i = 1; i < m.n; i++)
        m.spans[i].before = m.spans[i - 1].before + m.spans[i - 1].length;
    const enum err e = ranges_each(im, rank_range_add, &m);
    free(m.spans);
    return e;
}

ARRAY_ORDER(by_row, struct rank_range, COMPARE(x->row, y->row) ?: COMPARE(x->rank, y->rank));

static int by_loss(const void *a, const void *b)
{
    const struct model_mpi_range *x = a, *y = b;
    const double p = x->most_s - x->mean_s, q = y->most_s - y->mean_s;
    return p != q ? (p < q ? 1 : -1) : 0;
}

static void rank_range_put(const struct rank_range *k, size_t n, double ranks,
                           struct model_mpi_range *row)
{
    double sum = 0, in_mpi = 0, most = -1;
    row->range = (int64_t)k->row;
    row->ranks = (int64_t)n;
    row->n = 0;
    for (size_t i = 0; i < n; i++) {
        const double outside = k[i].spent - k[i].in_mpi;
        row->n += (int64_t)k[i].n;
        sum += outside;
        in_mpi += k[i].in_mpi;
        if (outside > most) {
            most = outside;
            row->most_rank = k[i].rank;
        }
    }
    row->mean_s = sum / ranks * 1e-9;
    row->most_s = most * 1e-9;
    row->in_mpi_s = in_mpi / ranks * 1e-9;
    if (sum > 0)
        row->imbalance = most / (sum / ranks) - 1;
}

enum err ranks_range_rows(struct run *r)
{
    struct ranks_run *all = r->ranks;
    struct model_mpi *m = &r->m->mpi;
    size_t rows = 0, i, n;
    vector_sort(&all->ranges, by_row);
    for (i = 0; i < all->ranges.count; i++)
        rows += !i || all->ranges.items[i].row != all->ranges.items[i - 1].row;
    TRY(model_list(r->m, model_mpi_range, m, ranges, rows));
    for (i = 0, rows = 0; i < all->ranges.count; i += n) {
        const struct rank_range *k = &all->ranges.items[i];
        for (n = 1; i + n < all->ranges.count && k[n].row == k->row; n++)
            ;
        rank_range_put(k, n, (double)all->ranks.count, &m->ranges[rows++]);
    }
    array_sort(m->ranges, rows, sizeof *m->ranges, by_loss);
    if (m->ranges_count > ROWS_MAX)
        m->ranges_count = ROWS_MAX;
    return ERR_OK;
}
