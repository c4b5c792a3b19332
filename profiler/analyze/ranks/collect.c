/* Takes the calls of MPI of each image, with the line of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/ranks/ranks_state.h"

enum { EVENTS_MAX = 20000000 };

struct image_ranks { /* of one image: its calls' stacks, until they are resolved */
    int rank;        /* NO_RANK: MPI was not started */
    size_t first;    /* of its events */
    VECTOR(uint32_t) stacks;
    VECTOR(uint64_t) names;
};

static enum err ranks_create(struct image *im, void *state)
{
    struct image_ranks *mine = state;
    mine->rank = NO_RANK;
    mine->first = im->run->ranks ? im->run->ranks->events.count : 0;
    return ERR_OK;
}

static void ranks_state_free(struct image *im, void *state)
{
    struct image_ranks *mine = state;
    (void)im;
    vector_free(&mine->stacks);
    vector_free(&mine->names);
}

static enum err the_run(struct run *r)
{
    if (r->ranks)
        return ERR_OK;
    r->ranks = calloc(1, sizeof *r->ranks);
    FAIL_IF(!r->ranks, ERR_MEMORY, "no memory for the analysis");
    return vector_add(&r->ranks->places, (struct rank_place){0});
}

void ranks_free(struct run *r)
{
    if (!r->ranks)
        return;
    vector_free(&r->ranks->events);
    vector_free(&r->ranks->places);
    vector_free(&r->ranks->ranks);
    vector_free(&r->ranks->ranges);
    table_free(&r->ranks->range_by_key);
    free(r->ranks);
}

/* "2 of 4" is the rank; the library is known of programs that have one. */
static enum err ranks_fact(struct image *im, void *state, const struct trace_item *item)
{
    struct image_ranks *mine = state;
    const char *text;
    int rank, size;
    TRY(collector_fact(im, item, "mpi.library", &text));
    if (text && im->run->ranks)
        im->run->ranks->library = run_text(im->run, text);
    TRY(collector_fact(im, item, "mpi.rank", &text));
    if (!text)
        return ERR_OK;
    TRY(the_run(im->run));
    if (sscanf(text, "%d of %d", &rank, &size) != 2 || rank < 0 || rank >= size || size > RANKS_MAX)
        return ERR_OK;
    mine->rank = rank;
    im->run->ranks->size = size;
    return ERR_OK;
}

static enum err ranks_call(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_mpi *r = (const void *)item->record;
    struct image_ranks *mine = state;
    uint32_t stack;
    TRY(the_run(im->run));
    struct ranks_run *all = im->run->ranks;
    if (r->op >= TRACE_MPI_OPS || r->spent_ns >= 1ull << 53 || r->r.time_ns < r->spent_ns) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    if (all->events.count >= EVENTS_MAX)
        return ERR_OK;
    TRY(image_stack(im, r->stack, &stack));
    TRY(vector_add(&mine->stacks, stack));
    TRY(vector_add(&mine->names, r->name));
    return vector_add(&all->events,
                      (struct rank_event){.begin = image_time(im, r->r.time_ns - r->spent_ns),
                                          .end = image_time(im, r->r.time_ns),
                                          .bytes = r->bytes,
                                          .group = r->group,
                                          .sequence = r->sequence,
                                          .size = r->size,
                                          .peer = r->peer,
                                          .tag = r->tag,
                                          .op = r->op,
                                          .flags = r->flags,
                                          .late_rank = NO_RANK});
}

/* Its place among those of the run; few lines call MPI. */
static enum err ranks_place(struct run *r, const struct rank_place *p, uint32_t *out)
{
    struct ranks_run *all = r->ranks;
    for (size_t i = 0; i < all->places.count; i++) {
        const struct rank_place *q = &all->places.items[i];
        if (q->file == p->file && q->line == p->line && q->function == p->function) {
            *out = (uint32_t)i;
            return ERR_OK;
        }
    }
    *out = (uint32_t)all->places.count;
    return vector_add(&all->places, *p);
}

static enum err ranks_resolve(struct image *im, uint32_t stack, struct resolved *f, uint32_t *out)
{
    int interpreter;
    const int n = frames_of(im, stack, f, RESOLVED_MAX, &interpreter);
    const struct resolved *at = frames_line(f, n, OWNER_OWN);
    struct rank_place p = {0};
    if (at) {
        p.file = path_shown(im->run, at->file);
        p.line = at->line;
        p.function = at->function ? run_text(im->run, at->function) : NULL;
    } else {
        for (int i = 0; i < n && !p.function; i++)
            if (f[i].owner != OWNER_RUNTIME && f[i].function)
                p.function = run_text(im->run, f[i].function);
    }
    return ranks_place(im->run, &p, out);
}

/* Stacks are few beside calls: each is resolved once. */
static enum err ranks_places(struct image *im, const struct image_ranks *mine,
                             struct resolved *room)
{
    struct rank_event *events = im->run->ranks->events.items + mine->first;
    uint32_t *known = calloc(im->stacks.count + 1, sizeof *known); /* place + 1 */
    FAIL_IF(!known, ERR_MEMORY, "no memory for the stacks of MPI");
    enum err e = ERR_OK;
    for (size_t i = 0; i < mine->stacks.count && !e; i++) {
        const uint32_t stack = mine->stacks.items[i];
        const char *name = image_string(im, mine->names.items[i]);
        events[i].rank = mine->rank;
        events[i].name = name ? run_text(im->run, name) : NULL;
        if (!known[stack]) {
            e = ranks_resolve(im, stack, room, &known[stack]);
            known[stack]++;
        }
        events[i].place = known[stack] - 1;
    }
    free(known);
    return e;
}

static enum err ranks_attribute(struct image *im, void *state)
{
    struct resolved *room;
    const struct image_ranks *mine = state;
    if (!mine->stacks.count)
        return ERR_OK;
    if (mine->rank == NO_RANK) { /* a program that calls MPI and was not told its rank */
        im->run->ranks->events.count = mine->first;
        return ERR_OK;
    }
    im->run->processes.items[im->index].rank = mine->rank;
    TRY(vector_add(&im->run->ranks->ranks,
                   (struct rank_sum){.rank = mine->rank, .process = im->index}));
    room = malloc(RESOLVED_MAX * sizeof *room);
    FAIL_IF(!room, ERR_MEMORY, "no memory for the stacks of MPI");
    enum err e = ranks_places(im, mine, room);
    free(room);
    TRY(e);
    return ranks_ranges(im, mine->rank, mine->first);
}

static const struct collected kinds[] = {{TRACE_META, ranks_fact, 0, 0},
                                         {TRACE_MPI, ranks_call, 0, 0}};
const struct collector collector_ranks = {.state_bytes = sizeof(struct image_ranks),
                                          COLLECTED(kinds),
                                          .create = ranks_create,
                                          .attribute = ranks_attribute,
                                          .free = ranks_state_free};
