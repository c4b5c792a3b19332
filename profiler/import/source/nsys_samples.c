/* Nsight Systems' samples with their call chains, and waiting in calls of the OS runtime. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/source/nsys.h"

#define CHAIN 1024

struct nsys_chain {
    int64_t id;
    int count;
    struct model_frame frames[CHAIN]; /* leaf first */
    int kernel;                       /* the leaf ran in the kernel */
};
/* Call chains of a table, in order of id: give(context, chain). */
static enum err nsys_chains(struct nsys *n, const char *table,
                            enum err (*give)(struct nsys *, struct nsys_chain *, void *),
                            void *context)
{
    static const char *const columns[] = {"id",         "symbol",     "module",
                                          "kernelMode", "unresolved", "stackDepth"};
    if (!database_has(n->d, table))
        return ERR_OK;
    struct nsys_chain *c = calloc(1, sizeof *c);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the import");
    enum err e = database_select(n->d, table, columns, 6, "id, stackDepth");
    while (!e && database_next(n->d, &e)) {
        int64_t id = database_int(n->d, 0, INT64_MIN);
        if (c->count && id != c->id) {
            e = give(n, c, context);
            c->count = 0;
        }
        const char *symbol = nsys_string(n, database_int(n->d, 1, -1)),
                   *module = nsys_string(n, database_int(n->d, 2, -1));
        if (symbol && !strcmp(symbol, "[Broken backtraces]")) {
            n->broken++;
            continue;
        }
        int unresolved = database_int(n->d, 4, 0) != 0;
        n->unresolved += unresolved;
        struct model_frame f = {.function = unresolved ? NULL : symbol,
                                .line = MODEL_UNKNOWN,
                                .module = module,
                                .kind = "native",
                                .thread = -1};
        if (!c->count)
            c->kernel =
                database_int(n->d, 3, 0) != 0 || (f.module && !strncmp(f.module, "[kernel", 7));
        c->id = id;
        if (c->count < CHAIN)
            c->frames[c->count++] = f;
    }
    if (!e && c->count)
        e = give(n, c, context);
    free(c);
    return e;
}

static enum err chain_stack(struct nsys *n, int32_t thread, const struct nsys_chain *c,
                            int32_t *node)
{
    TRY(builder_call(n->b, IMPORT_ROOT(thread), NULL, node));
    for (int i = c->count - 1; i >= 0; i--)
        TRY(builder_call(n->b, *node, &c->frames[i], node));
    return ERR_OK;
}

struct event_of { /* a row that a call chain belongs to */
    int64_t start, end, weight;
    uint64_t thread;
    const char *name;
    int taken;
};
struct events_by_id {
    struct table at;
    VECTOR(struct event_of) list;
    int64_t kept;
};

static enum err nsys_add_sample(struct nsys *n, struct event_of *e, const struct nsys_chain *c)
{
    int32_t thread, node;
    TRY(nsys_place(n, e->thread, &thread));
    TRY(chain_stack(n, thread, c, &node));
    e->taken = 1;
    TRY(builder_cost(n->b, node, c->kernel ? IMPORT_SYS : IMPORT_CPU, e->weight, 1));
    return builder_event(n->b, node, IMPORT_CPU, e->start, e->start + e->weight);
}

static enum err sample_chain(struct nsys *n, struct nsys_chain *c, void *context)
{
    struct events_by_id *s = context;
    uint32_t at = table_get(&s->at, (uint64_t)c->id);
    if (at == TABLE_NONE) {
        n->damaged++;
        return ERR_OK;
    }
    s->kept++;
    return nsys_add_sample(n, &s->list.items[at], c);
}

/* A sample's time: the thread's CPU time over its samples; the last one has what is left by
 * rounding. */
static enum err nsys_weigh(struct nsys *n, struct events_by_id *s)
{
    for (size_t i = 0; i < s->list.count; i++) {
        struct nsys_thread *t;
        TRY(nsys_thread_at(n, s->list.items[i].thread, &t));
        s->list.items[i].weight = n->rate_hz > 0 ? llround(1e9 / n->rate_hz) : t->cpu / t->samples;
        t->cpu -= n->rate_hz > 0 ? 0 : s->list.items[i].weight;
        t->samples--;
    }
    return ERR_OK;
}

static enum err nsys_read_samples(struct nsys *n, struct events_by_id *s)
{
    static const char *const columns[] = {"id", "start", "globalTid"};
    enum err e = ERR_OK;
    struct nsys_thread *t;
    if (!database_has(n->d, "COMPOSITE_EVENTS"))
        return ERR_OK;
    TRY(database_select(n->d, "COMPOSITE_EVENTS", columns, 3, "start, id"));
    while (!e && database_next(n->d, &e)) {
        struct event_of row = {.start = database_int(n->d, 1, -1),
                               .thread = (uint64_t)database_int(n->d, 2, 0)};
        if (row.start < n->b->origin || !row.thread) {
            n->damaged++;
            continue;
        }
        TRY(nsys_thread_at(n, row.thread, &t));
        t->samples++;
        TRY(table_put(&s->at, (uint64_t)database_int(n->d, 0, -1), (uint32_t)s->list.count));
        TRY(vector_add(&s->list, row));
    }
    TRY(e);
    double cpu = 0;
    for (size_t i = 0; i < n->thread_list.count; i++)
        cpu += n->thread_list.items[i].samples ? (double)n->thread_list.items[i].cpu : 0;
    TRY(nsys_weigh(n, s));
    TRY(nsys_chains(n, "SAMPLING_CALLCHAINS", sample_chain, s));
    static struct nsys_chain none; /* without a chain: the thread itself */
    for (size_t i = 0; i < s->list.count; i++)
        if (!s->list.items[i].taken)
            TRY(nsys_add_sample(n, &s->list.items[i], &none));
    if (!s->list.count)
        return ERR_OK;
    n->b->known[IMPORT_CPU] = n->b->known[IMPORT_SYS] = cpu > 0 || n->rate_hz > 0;
    TRY(import_note(
        n->b, !(cpu > 0) && !(n->rate_hz > 0), "import_no_weight", "warning",
        "The capture holds samples, and no scheduling events that say how much time they are.",
        "Give the sampling rate of the capture: `tomoprof import --rate HZ`."));
    return cpu > 0 && !(n->rate_hz > 0)
               ? import_check(n->b, "cpu_of_scheduler", cpu,
                              (double)(n->b->added[IMPORT_CPU] + n->b->added[IMPORT_SYS]), 1e-9,
                              "weights of samples add up to the time that the scheduler gave "
                              "their threads, ns")
               : ERR_OK;
}

static enum err add_wait(struct nsys *n, struct event_of *e, const struct nsys_chain *c)
{
    int32_t thread, node;
    int64_t waited = e->end - e->start - nsys_on_cpu_within(n, e->thread, e->start, e->end);
    struct model_frame f = {.function = e->name,
                            .line = MODEL_UNKNOWN,
                            .module = "[OS runtime]",
                            .kind = "native",
                            .thread = -1};
    TRY(nsys_place(n, e->thread, &thread));
    TRY(chain_stack(n, thread, c, &node));
    TRY(builder_call(n->b, node, &f, &node));
    e->taken = 1;
    TRY(builder_event(n->b, node, IMPORT_WAIT, e->start, e->end));
    return builder_cost(n->b, node, IMPORT_WAIT, waited > 0 ? waited : 0, 0);
}

static enum err wait_chain(struct nsys *n, struct nsys_chain *c, void *context)
{
    struct events_by_id *w = context;
    uint32_t at = table_get(&w->at, (uint64_t)c->id);
    return at == TABLE_NONE ? ERR_OK : add_wait(n, &w->list.items[at], c);
}

/* Calls of the OS runtime: the part of each that its thread was not on a CPU. */
static enum err nsys_read_waits(struct nsys *n, struct events_by_id *w)
{
    static const char *const columns[] = {"start",  "end",          "globalTid",
                                          "nameId", "nestingLevel", "callchainId"};
    enum err e = ERR_OK;
    if (!database_has(n->d, "OSRT_API"))
        return ERR_OK;
    TRY(database_select(n->d, "OSRT_API", columns, 6, "start, \"end\""));
    while (!e && database_next(n->d, &e)) {
        struct event_of row = {.start = database_int(n->d, 0, -1),
                               .end = database_int(n->d, 1, -1),
                               .thread = (uint64_t)database_int(n->d, 2, 0),
                               .name = nsys_string(n, database_int(n->d, 3, -1))};
        int64_t chain = database_int(n->d, 5, 0);
        if (row.start < n->b->origin || row.end < row.start || !row.thread) {
            n->damaged++;
            continue;
        }
        if (database_int(n->d, 4, 0) > 0) /* within another one */
            continue;
        if (chain > 0)
            TRY(table_put(&w->at, (uint64_t)chain, (uint32_t)w->list.count));
        TRY(vector_add(&w->list, row));
    }
    TRY(e);
    TRY(nsys_chains(n, "OSRT_CALLCHAINS", wait_chain, w));
    static struct nsys_chain none;
    for (size_t i = 0; i < w->list.count; i++)
        if (!w->list.items[i].taken)
            TRY(add_wait(n, &w->list.items[i], &none));
    n->b->known[IMPORT_WAIT] = 1;
    return ERR_OK;
}

enum err nsys_samples(struct nsys *n)
{
    struct events_by_id s = {0};
    enum err e = nsys_read_samples(n, &s);
    table_free(&s.at);
    vector_free(&s.list);
    return e;
}

enum err nsys_waits(struct nsys *n)
{
    struct events_by_id w = {0};
    enum err e = nsys_read_waits(n, &w);
    table_free(&w.at);
    vector_free(&w.list);
    return e;
}
