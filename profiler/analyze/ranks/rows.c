/* The calls as rows of the model: by rank, by line, by pair of ranks. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/ranks/ranks.h"
#include "profiler/analyze/ranks/ranks_state.h"

enum { LINES_MAX = 2000, PAIRS_MAX = 10000 };

struct mpi_line { /* and call */
    struct rank_place at;
    const char *name;
    double spent, late, bytes;
    uint64_t calls, bytes_unknown;
    double *for_rank; /* ns that was waited for each, [size]; NULL none */
    uint8_t *came;    /* [size] */
};
struct mpi_pair {
    int from, to;
    uint64_t messages;
    double bytes;
};
struct mpi_rows {
    VECTOR(struct mpi_line) lines;
    VECTOR(struct mpi_pair) pairs;
    struct table line_by_key, pair_by_key;
};

static void rows_free(struct mpi_rows *t)
{
    for (size_t i = 0; i < t->lines.count; i++) {
        free(t->lines.items[i].for_rank);
        free(t->lines.items[i].came);
    }
    vector_free(&t->lines);
    vector_free(&t->pairs);
    table_free(&t->line_by_key);
    table_free(&t->pair_by_key);
}

static struct rank_sum *rank_of(struct ranks_run *all, int rank)
{
    for (size_t i = 0; i < all->ranks.count; i++)
        if (all->ranks.items[i].rank == rank)
            return &all->ranks.items[i];
    return NULL;
}

static enum err mpi_add_line(struct ranks_run *all, struct mpi_rows *t, const struct rank_event *e)
{
    const uint64_t key = table_mix(e->place, (uintptr_t)e->name);
    uint32_t at = table_get(&t->line_by_key, key);
    if (at == TABLE_NONE) {
        struct mpi_line l = {.at = all->places.items[e->place], .name = e->name};
        l.for_rank = calloc((size_t)all->size, sizeof *l.for_rank);
        l.came = calloc((size_t)all->size, 1);
        at = (uint32_t)t->lines.count;
        if (!l.for_rank || !l.came || vector_add(&t->lines, l)) {
            free(l.for_rank);
            free(l.came);
            return FAIL(ERR_MEMORY, "no memory for the lines of MPI");
        }
        TRY(table_put(&t->line_by_key, key, at));
    }
    struct mpi_line *l = &t->lines.items[at];
    l->calls++;
    l->spent += (double)(e->end - e->begin);
    l->late += e->late;
    l->bytes += (double)e->bytes;
    l->bytes_unknown += !(e->flags & TRACE_MPI_BYTES);
    l->came[e->rank] = 1;
    if (e->late_rank >= 0 && e->late_rank < all->size)
        l->for_rank[e->late_rank] += e->late;
    return ERR_OK;
}

static enum err add_pair(struct mpi_rows *t, const struct rank_event *e)
{
    const uint64_t key = table_mix((uint64_t)e->rank, (uint64_t)e->peer);
    const int sends =
        e->op == TRACE_MPI_SEND || e->op == TRACE_MPI_SEND_POST || e->op == TRACE_MPI_EXCHANGE;
    if (!sends || e->peer < 0)
        return ERR_OK;
    uint32_t at = table_get(&t->pair_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)t->pairs.count;
        TRY(vector_add(&t->pairs, (struct mpi_pair){.from = e->rank, .to = e->peer}));
        TRY(table_put(&t->pair_by_key, key, at));
    }
    t->pairs.items[at].messages++;
    t->pairs.items[at].bytes += (double)e->bytes;
    return ERR_OK;
}

/* A rank's time counts from the end of its Init to its Finalize. */
static void add_rank(struct ranks_run *all, const struct rank_event *e)
{
    struct rank_sum *r = rank_of(all, e->rank), *late = rank_of(all, e->late_rank);
    if (!r)
        return;
    if (e->op == TRACE_MPI_START) {
        r->begin = e->end;
        return;
    }
    r->calls++;
    if (e->op != TRACE_MPI_RECEIVE && e->op != TRACE_MPI_RECEIVE_POST) /* room, not given */
        r->bytes += (double)e->bytes;
    if (late)
        late->delayed += e->op == TRACE_MPI_END ? 0 : e->late;
    if (e->op == TRACE_MPI_END) {
        r->ended = 1;
        r->end = e->begin;
        return;
    }
    r->in_mpi += (double)(e->end - e->begin);
    r->late += e->late;
    r->end = e->end > r->end ? e->end : r->end;
}

ARRAY_ORDER(by_rank, struct model_rank, COMPARE(x->rank, y->rank));

ARRAY_ORDER(by_time, struct mpi_line, COMPARE(y->spent, x->spent));

ARRAY_ORDER(by_bytes, struct mpi_pair, COMPARE(y->bytes, x->bytes));

static enum err put_ranks(struct run *r)
{
    struct ranks_run *all = r->ranks;
    struct model_mpi *m = &r->m->mpi;
    double sum = 0, most = 0, wall = 0;
    TRY(model_list(r->m, model_rank, m, ranks, all->ranks.count));
    for (size_t i = 0; i < all->ranks.count; i++) {
        const struct rank_sum *k = &all->ranks.items[i];
        const double ns = k->end > k->begin ? (double)(k->end - k->begin) : 0;
        const double compute = fmax(0, ns - k->in_mpi);
        struct model_rank *row = &m->ranks[i];
        row->rank = k->rank;
        row->process = k->process;
        row->whole = k->ended;
        row->wall_s = ns * 1e-9;
        row->compute_s = compute * 1e-9;
        row->late_s = k->late * 1e-9;
        row->transfer_s = (k->in_mpi - k->late) * 1e-9;
        row->delayed_s = k->delayed * 1e-9;
        row->calls = (int64_t)k->calls;
        row->given_mb = k->bytes / 1048576;
        sum += compute;
        most = fmax(most, compute);
        wall = fmax(wall, ns);
    }
    array_sort(m->ranks, (size_t)m->ranks_count, sizeof *m->ranks, by_rank);
    m->wall_s = wall * 1e-9;
    if (most <= 0 || wall <= 0 || (int)all->ranks.count < all->size)
        return ERR_OK; /* not all ranks are known */
    const double mean = sum / (double)all->ranks.count;
    m->load_balance = mean / most;
    m->communication_efficiency = most / wall;
    m->parallel_efficiency = mean / wall;
    return ERR_OK;
}

static enum err put_lines(struct run *r, struct mpi_rows *t)
{
    struct model_mpi *m = &r->m->mpi;
    vector_sort(&t->lines, by_time);
    const size_t n = t->lines.count < LINES_MAX ? t->lines.count : LINES_MAX;
    TRY(model_list(r->m, model_mpi_line, m, lines, n));
    for (size_t i = 0; i < n; i++) {
        const struct mpi_line *l = &t->lines.items[i];
        struct model_mpi_line *row = &m->lines[i];
        row->file = l->at.file;
        row->line = l->at.file ? l->at.line : MODEL_UNKNOWN;
        row->function = l->at.function;
        row->call = l->name;
        row->calls = (int64_t)l->calls;
        row->spent_s = l->spent * 1e-9;
        row->late_s = l->late * 1e-9;
        if (!l->bytes_unknown)
            row->given_mb = l->bytes / 1048576;
        row->ranks = 0;
        for (int k = 0; k < r->ranks->size; k++) {
            row->ranks += l->came[k];
            if (l->for_rank[k] * 1e-9 <= (row->late_rank == MODEL_UNKNOWN ? 0 : row->late_rank_s))
                continue;
            row->late_rank = k;
            row->late_rank_s = l->for_rank[k] * 1e-9;
        }
    }
    return ERR_OK;
}

static enum err put_pairs(struct run *r, struct mpi_rows *t)
{
    struct model_mpi *m = &r->m->mpi;
    vector_sort(&t->pairs, by_bytes);
    const size_t n = t->pairs.count < PAIRS_MAX ? t->pairs.count : PAIRS_MAX;
    TRY(model_list(r->m, model_mpi_pair, m, pairs, n));
    for (size_t i = 0; i < n; i++) {
        const struct mpi_pair *p = &t->pairs.items[i];
        m->pairs[i] =
            (struct model_mpi_pair){p->from, p->to, (int64_t)p->messages, p->bytes / 1048576};
    }
    return ERR_OK;
}

static enum err mpi_make_rows(struct run *r, struct mpi_rows *t)
{
    struct ranks_run *all = r->ranks;
    for (size_t i = 0; i < all->events.count; i++) {
        const struct rank_event *e = &all->events.items[i];
        add_rank(all, e);
        TRY(mpi_add_line(all, t, e));
        TRY(add_pair(t, e));
    }
    r->m->mpi.size = all->size;
    r->m->mpi.library = all->library;
    r->m->mpi.unmatched = (int64_t)all->unmatched;
    r->m->mpi.clock = clocks_text(r);
    TRY(put_ranks(r));
    TRY(put_lines(r, t));
    TRY(ranks_range_rows(r));
    return put_pairs(r, t);
}

enum err ranks_build(struct run *r)
{
    struct mpi_rows t = {0};
    json_blank(&record_model_mpi, &r->m->mpi);
    if (!r->ranks || !r->ranks->events.count || r->ranks->size < 1)
        return ERR_OK;
    TRY(ranks_match(r->ranks));
    enum err e = mpi_make_rows(r, &t);
    rows_free(&t);
    return e;
}
