/* The parts of an operation: from the first rank to all. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/cluster/crew_state.h"
#include "host/geom/ct_model.h"

static int rank_is_first(const struct crew *w)
{
    return w->c->place.rank == 0;
}

enum err crew_agree(struct crew *w, enum err e)
{
    char text[CREW_TEXT] = "";
    const int size = w->c->place.size;
    double first = e ? w->c->place.rank : size;
    int code = e;
    if (e)
        strncpy(text, err_text(), sizeof text - 1);
    TRY(cluster_least(w->c, &first, 1));
    if ((int)first == size)
        return ERR_OK;
    TRY(cluster_broadcast(w->c, &code, sizeof code, (int)first));
    TRY(cluster_broadcast(w->c, text, sizeof text, (int)first));
    w->agreed = 1;
    if (first > 0)
        return FAIL((enum err)code, "process %d: %s", (int)first, text);
    return FAIL((enum err)code, "%s", text);
}

struct array_pair *crew_array(struct run_state *s, int i)
{
    struct array_pair *const all[CREW_ARRAYS] = {&s->in, &s->weights, &s->initial, &s->prox};
    return all[i];
}

static const struct box *part_box(const struct operation *op, const struct crew_part *p, int i)
{
    const int sinogram = i == 1 || (i == 0 && op->input == ARRAY_SINOGRAM);
    return sinogram ? &p->sinogram : &p->volume;
}

/* Sends to all ranks the values that the first rank has of each view: NULL, or malloc'ed. */
static enum err share_views(struct crew *w, int there, const void *given, size_t bytes,
                            const void **out)
{
    *out = NULL;
    if (!there)
        return ERR_OK;
    void *copy = malloc(bytes);
    FAIL_IF(!copy, ERR_MEMORY, "no memory for the views of a scan");
    if (rank_is_first(w))
        memcpy(copy, given, bytes);
    *out = copy;
    return cluster_broadcast(w->c, copy, bytes, 0);
}

static const void *copy_views(const void *from, size_t bytes)
{
    void *to = from ? malloc(bytes) : NULL;
    if (to)
        memcpy(to, from, bytes);
    return to;
}

/* The model on all ranks, each with views of its own. */
static enum err share_model(struct crew *w, const struct crew_order *o, const struct run_state *s)
{
    const size_t views = (size_t)o->m.scan.views;
    const struct scan *given = s ? &s->model.scan : NULL;
    struct scan *mine = &w->whole.scan;
    const void *angles, *shifts, *moves;
    w->whole = o->m;
    mine->angles = mine->z_shifts = NULL;
    mine->moves = NULL;
    TRY(share_views(w, o->has_angles, given ? given->angles : NULL, views * sizeof(float),
                    &angles));
    mine->angles = angles;
    TRY(share_views(w, o->has_shifts, given ? given->z_shifts : NULL, views * sizeof(float),
                    &shifts));
    mine->z_shifts = shifts;
    TRY(share_views(w, o->has_moves, given ? given->moves : NULL, views * sizeof(struct view_move),
                    &moves));
    mine->moves = moves;
    return ERR_OK;
}

/* Makes this rank's problem, its arrays empty. */
static enum err make_part(struct crew *w, const struct crew_order *o)
{
    struct run_state *p = &w->part;
    const int size = w->c->place.size, rank = w->c->place.rank;
    TRY(crew_plan_part(p->op, &w->whole, size, rank, &w->plan));
    if (p->op->share == SHARE_MBIR)
        TRY(shares_of(&w->whole, size, &w->shares));
    p->model = w->plan.m;
    const struct scan *from = &w->plan.m.scan;
    const size_t views = (size_t)from->views;
    p->model.scan.angles = copy_views(from->angles, views * sizeof *from->angles);
    p->model.scan.z_shifts = copy_views(from->z_shifts, views * sizeof *from->z_shifts);
    p->model.scan.moves = copy_views(from->moves, views * sizeof *from->moves);
    FAIL_IF(views && ((from->angles && !p->model.scan.angles) ||
                      (from->z_shifts && !p->model.scan.z_shifts) ||
                      (from->moves && !p->model.scan.moves)),
            ERR_MEMORY, "no memory for the views of a scan");
    p->seed = o->seed;
    p->subsets = o->subsets;
    p->mbir = o->mbir;
    p->mbir.samples = scan_samples(&w->whole.scan);
    if (!w->plan.range.count)
        return ERR_OK;
    TRY(state_place(p, o->has[1], 0));
    for (int i = 0; i < CREW_ARRAYS; i++) {
        const struct box *b = part_box(p->op, &w->plan, i);
        const int64_t n[3] = {b->part[0].count, b->part[1].count, b->part[2].count};
        if (o->has[i])
            TRY(state_host_array(crew_array(p, i), "a part of the input", n));
    }
    return ERR_OK;
}

/* Sends each rank's part of one array, from the first. */
static enum err part_send_array(struct crew *w, const struct run_state *s, int i, float *room)
{
    const struct operation *op = w->part.op;
    struct array_pair *to = crew_array(&w->part, i);
    for (int r = w->c->place.size - 1; r >= 0; r--) {
        struct crew_part p;
        TRY(crew_plan_part(op, &w->whole, w->c->place.size, r, &p));
        const struct box *b = part_box(op, &p, i);
        const int64_t n = p.range.count ? box_count(b) : 0;
        const size_t bytes = (size_t)n * sizeof(float);
        if (rank_is_first(w) && n)
            box_pack(b, crew_array((struct run_state *)(uintptr_t)s, i)->host, 0, n,
                     r ? room : to->host);
        if (r && n && rank_is_first(w))
            TRY(cluster_exchange(w->c, r, room, bytes, -1, NULL, 0));
        else if (r && n && r == w->c->place.rank)
            TRY(cluster_exchange(w->c, -1, NULL, 0, 0, to->host, bytes));
    }
    return ERR_OK;
}

/* Floats of the largest part of any other rank: of its inputs and its result. */
static enum err part_largest(const struct crew *w, const struct crew_order *o, int64_t *out)
{
    *out = 1;
    for (int r = 1; r < w->c->place.size; r++) {
        struct crew_part p;
        TRY(crew_plan_part(w->part.op, &w->whole, w->c->place.size, r, &p));
        for (int i = 0; i < CREW_ARRAYS; i++) {
            const int64_t n = o->has[i] ? box_count(part_box(w->part.op, &p, i)) : 0;
            *out = n > *out ? n : *out;
        }
    }
    return ERR_OK;
}

static enum err part_send_arrays(struct crew *w, const struct crew_order *o,
                                 const struct run_state *s)
{
    int64_t n = 1;
    void *room = NULL;
    enum err e = rank_is_first(w) ? part_largest(w, o, &n) : ERR_OK;
    if (!e)
        e = mem_alloc("the part of another process", (size_t)n * sizeof(float), &room);
    e = crew_agree(w, e);
    for (int i = 0; i < CREW_ARRAYS && !e; i++)
        if (o->has[i])
            e = part_send_array(w, s, i, room);
    mem_free(room);
    return e;
}

static enum err make_ready(struct crew *w)
{
    struct run_state *p = &w->part;
    if (!w->plan.range.count)
        return ERR_OK;
    for (int i = 0; i < CREW_ARRAYS; i++) {
        const struct box *b = part_box(p->op, &w->plan, i);
        const int64_t n[3] = {b->part[0].count, b->part[1].count, b->part[2].count};
        if (crew_array(p, i)->host)
            TRY(state_upload(p, crew_array(p, i), n));
    }
    if (p->op->scratch == SCRATCH_SINOGRAM)
        TRY(state_allocate_scratch(p));
    TRY(state_allocate_output(p));
    return p->op->ready ? p->op->ready(p) : ERR_OK;
}

enum err crew_take_part(struct crew *w, const struct crew_order *o, const struct run_state *s)
{
    TRY(crew_agree(w, share_model(w, o, s)));
    TRY(crew_agree(w, make_part(w, o)));
    TRY(part_send_arrays(w, o, s));
    return crew_agree(w, make_ready(w));
}
