/* Orders of the first rank, and what all ranks do on each. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/cluster/crew_state.h"
#include "host/geom/ct_model.h"

enum err crew_create(struct cluster *c, struct crew **out)
{
    const size_t size = (size_t)c->place.size;
    struct crew *w = *out = calloc(1, sizeof *w);
    if (w) {
        w->c = c;
        w->told = calloc(size, sizeof *w->told);
        w->first = calloc(size, sizeof *w->first);
        w->later = calloc(size, sizeof *w->later);
    }
    if (w && w->told && w->first && w->later)
        return ERR_OK;
    crew_free(w);
    *out = NULL;
    return FAIL(ERR_MEMORY, "no memory for %zu processes", size);
}

static void crew_drop_part(struct crew *w)
{
    if (w->part.op)
        state_free(&w->part);
    shares_free(&w->shares);
    ct_model_free(&w->whole);
    w->part = (struct run_state){0};
    w->whole = (struct ct_model){0};
}

void crew_free(struct crew *w)
{
    if (!w)
        return;
    crew_drop_part(w);
    free(w->told);
    free(w->first);
    free(w->later);
    free(w);
}

static int crew_leads(const struct crew *w)
{
    return w->c->place.rank == 0;
}

static enum err crew_send_order(struct crew *w, struct crew_order *o)
{
    return cluster_broadcast(w->c, o, sizeof *o, 0);
}

static enum err crew_begin_part(struct crew *w, const struct operation *op, struct backend *be,
                                const struct crew_order *o, const struct run_state *s)
{
    crew_drop_part(w);
    w->agreed = 0;
    w->part = (struct run_state){.op = op, .be = be};
    const enum err e = crew_take_part(w, o, s);
    if (e)
        crew_drop_part(w);
    return e;
}

static enum err crew_order_of(const struct run_state *s, struct crew_order *o)
{
    memset(o, 0, sizeof *o);
    o->what = CREW_SEND;
    strncpy(o->op, s->op->name, sizeof o->op - 1);
    o->m = s->model;
    o->mbir = s->mbir;
    o->mbir.weights = o->mbir.initial = o->mbir.prox_target = NULL;
    o->mbir.on_iteration = NULL;
    o->mbir.context = NULL;
    o->mbir.stop = NULL;
    o->seed = s->seed;
    o->subsets = s->subsets;
    o->has_angles = s->model.scan.angles != NULL;
    o->has_shifts = s->model.scan.z_shifts != NULL;
    o->has_moves = s->model.scan.moves != NULL;
    for (int i = 0; i < CREW_ARRAYS; i++)
        o->has[i] = crew_array((struct run_state *)(uintptr_t)s, i)->host != NULL;
    if (s->op->share != SHARE_MBIR || !o->m.regularisation.automatic)
        return ERR_OK;
    TRY(auto_regularise(s->be, &s->model, s->in.host, s->weights.host, &o->m.regularisation));
    o->m.regularisation.automatic = 0;
    return ERR_OK;
}

enum err crew_send(struct crew *w, struct run_state *s)
{
    struct crew_order o;
    w->runs = 0;
    w->axis = crew_plan_axis(s->op, &s->model, w->c->place.size, &w->why);
    if (!w->axis)
        return ERR_OK;
    TRY(crew_order_of(s, &o));
    TRY(crew_send_order(w, &o));
    TRY(crew_begin_part(w, s->op, s->be, &o, s));
    w->part.mbir.on_iteration = s->mbir.on_iteration;
    w->part.mbir.context = s->mbir.context;
    return ERR_OK;
}

static enum err crew_run_mbir(struct crew *w)
{
    struct run_state *p = &w->part;
    struct ranks_backend *ranks = NULL;
    enum err e = ranks_backend_open(p->be, w->c, &w->shares, &p->model, NULL, &ranks);
    if (!e)
        e = p->op->run(p);
    ranks_backend_close(p->be, ranks);
    return e;
}

/* From when all are here until the last is done. MBIR's ranks wait for each other inside: an error
 * of one ends the call of all. */
static enum err run_part(struct crew *w, double *seconds)
{
    struct run_state *p = &w->part;
    struct crew_answer mine = {0};
    enum err e = ERR_OK;
    backend_take_work(p->be);
    TRY(cluster_barrier(w->c));
    const int64_t start = clock_ns();
    if (p->op->share == SHARE_MBIR)
        TRY(crew_run_mbir(w));
    else if (w->plan.range.count)
        e = p->op->run(p);
    if (!e)
        e = p->be->ops->sync(p->be);
    mine.seconds = clock_seconds_since(start);
    e = crew_agree(w, e);
    *seconds = clock_seconds_since(start);
    TRY(e);
    if (w->plan.range.count)
        mine.work = p->op->work(p);
    if (!crew_leads(w))
        return cluster_exchange(w->c, 0, &mine, sizeof mine, -1, NULL, 0);
    w->told[0] = mine;
    for (int r = 1; r < w->c->place.size; r++)
        TRY(cluster_exchange(w->c, -1, NULL, 0, r, &w->told[r], sizeof mine));
    return ERR_OK;
}

static enum err send_result(struct crew *w)
{
    const float *data = NULL;
    float *copy = NULL;
    const int64_t n = w->plan.range.count ? box_count(&w->plan.out) : 0;
    TRY(crew_agree(w, n ? state_result(&w->part, &data, &copy) : ERR_OK));
    enum err e = ERR_OK;
    if (n)
        e = cluster_exchange(w->c, 0, data + w->plan.skip, (size_t)n * sizeof *data, -1, NULL, 0);
    mem_free(copy);
    return e;
}

/* All parts into `all`, the whole result. */
static enum err crew_receive(struct crew *w, const float *mine, float *room, float *all)
{
    for (int r = 0; r < w->c->place.size; r++) {
        struct crew_part p;
        TRY(crew_plan_part(w->part.op, &w->whole, w->c->place.size, r, &p));
        const int64_t n = p.range.count ? box_count(&p.out) : 0;
        if (r && n)
            TRY(cluster_exchange(w->c, -1, NULL, 0, r, room, (size_t)n * sizeof *room));
        if (n)
            box_unpack(&p.out, r ? room : mine + p.skip, 0, n, all);
    }
    return ERR_OK;
}

static enum err receive_result(struct crew *w, struct run_state *s)
{
    const float *mine = NULL;
    float *copy = NULL;
    void *room = NULL, *all = NULL;
    struct buffer *out = &s->out.buffer;
    const int here = out->place == PLACE_HOST;
    enum err e = w->plan.range.count ? state_result(&w->part, &mine, &copy) : ERR_OK;
    if (!e)
        e = mem_alloc("the results of others", out->bytes, &room);
    if (!e && !here)
        e = mem_alloc("the result", out->bytes, &all);
    e = crew_agree(w, e);
    if (!e)
        e = crew_receive(w, mine, room, here ? out->ptr : all);
    if (!e && !here) {
        const size_t bytes = out->bytes;
        s->be->ops->release(s->be, out);
        e = s->be->ops->upload(s->be, all, bytes, out);
    }
    mem_free(copy);
    mem_free(room);
    mem_free(all);
    return e;
}

static void count_run(struct crew *w, struct work *work)
{
    *work = (struct work){0, 0, 0};
    for (int r = 0; r < w->c->place.size; r++) {
        const struct crew_answer *t = &w->told[r];
        work->flops += t->work.flops;
        work->bytes_min += t->work.bytes_min;
        work->bytes_ideal_cache += t->work.bytes_ideal_cache;
        if (!w->runs)
            w->first[r] = t->seconds, w->later[r] = 0;
        else
            w->later[r] += t->seconds;
    }
    w->runs++;
}

static enum err run_alone(struct run_state *s, double *seconds, struct work *work)
{
    const int64_t start = clock_ns();
    TRY(s->op->run(s));
    TRY(s->be->ops->sync(s->be));
    *seconds = clock_seconds_since(start);
    *work = s->op->work(s);
    return ERR_OK;
}

enum err crew_run(struct crew *w, struct run_state *s, double *seconds, struct work *work)
{
    struct crew_order o = {.what = CREW_RUN};
    if (!w->part.op)
        return run_alone(s, seconds, work);
    TRY(crew_send_order(w, &o));
    TRY(run_part(w, seconds));
    count_run(w, work);
    mbir_report_free(&s->report);
    s->report = w->part.report;
    w->part.report = (struct mbir_report){0};
    return receive_result(w, s);
}

enum err crew_release(struct crew *w)
{
    struct crew_order o = {.what = CREW_RELEASE};
    if (!w->part.op)
        return ERR_OK;
    crew_drop_part(w);
    return crew_send_order(w, &o);
}

enum err crew_dismiss(struct crew *w, enum err e, int *silent)
{
    struct crew_order o = {.what = CREW_DISMISS};
    crew_drop_part(w);
    if (crew_send_order(w, &o))
        return e ? e : ERR_FAILED;
    return cluster_agree(w->c, e, silent);
}

static enum err crew_obey(struct crew *w, const struct crew_order *o, struct backend *be)
{
    double seconds;
    if (o->what == CREW_SEND) {
        const struct operation *op = operation_named(o->op);
        FAIL_IF(!op, ERR_INTERNAL, "no operation is called %s", o->op);
        return crew_begin_part(w, op, be, o, NULL);
    }
    if (o->what == CREW_RELEASE) {
        crew_drop_part(w);
        return ERR_OK;
    }
    TRY(run_part(w, &seconds));
    mbir_report_free(&w->part.report);
    w->part.report = (struct mbir_report){0};
    return send_result(w);
}

enum err crew_follow(struct crew *w, struct backend *be, int *silent)
{
    for (;;) {
        struct crew_order o;
        TRY(cluster_broadcast(w->c, &o, sizeof o, 0));
        if (o.what == CREW_DISMISS)
            return cluster_agree(w->c, ERR_OK, silent);
        w->agreed = 0;
        const enum err e = crew_obey(w, &o, be);
        if (e && !w->agreed)
            return e; /* the others wait for what will not come: the job ends */
    }
}

const char *crew_shared(const struct crew *w, const char **why)
{
    *why = w->why;
    return w->axis;
}

int crew_rank_at(const struct crew *w, int rank, struct crew_rank *out)
{
    struct crew_part p;
    if (!w->axis || !w->runs || rank >= w->c->place.size ||
        crew_plan_part(w->part.op, &w->whole, w->c->place.size, rank, &p))
        return 0;
    const double later = w->runs > 1 ? w->later[rank] / (double)(w->runs - 1) : w->first[rank];
    *out = (struct crew_rank){p.range.first, p.range.count, later};
    return 1;
}
