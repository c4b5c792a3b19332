#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/common/image.h"

const char *image_string(const struct image *im, uint64_t id)
{
    uint32_t i = id ? table_get(&im->string_by_id, id) : TABLE_NONE;
    return i == TABLE_NONE ? NULL : im->strings[i];
}

uint64_t image_time(struct image *im, uint64_t ns)
{
    const uint64_t limit = 1ull << 53; /* 104 days: exact in a double */
    struct run *r = im->run;
    if (ns < r->origin || ns - r->origin > limit) {
        r->q.bad_values += ns + 1000000000 < r->origin || ns > r->origin;
        return 0;
    }
    im->last = im->last > ns ? im->last : ns;
    return ns - r->origin;
}

uint64_t image_end(const struct image *im)
{
    uint64_t end = im->header.end_ns, origin = im->run->origin;
    return end > im->last && end - origin < 1ull << 53 ? end : im->last;
}

/* Index of `id`, new at the end of a table when first seen. */
static enum err index_of(struct table *t, uint64_t id, void *items, size_t *count, size_t *room,
                         size_t size, uint32_t *index)
{
    *index = table_get(t, id);
    if (*index != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(items, room, *count + 1, size));
    *index = (uint32_t)(*count)++;
    return table_put(t, id, *index);
}

enum err image_stack(struct image *im, uint64_t id, uint32_t *index)
{
    TRY(index_of(&im->stack_by_id, id, &im->stacks, &im->stacks_count, &im->stacks_room,
                 sizeof *im->stacks, index));
    im->stacks[*index].id = id;
    return ERR_OK;
}

enum err image_thread(struct image *im, uint32_t tid, struct thread **out)
{
    size_t before = im->threads_count;
    uint32_t index;
    TRY(index_of(&im->thread_by_tid, tid, &im->threads, &im->threads_count, &im->threads_room,
                 sizeof *im->threads, &index));
    *out = &im->threads[index];
    if (im->threads_count > before) {
        struct run *r = im->run;
        (*out)->tid = tid;
        (*out)->main = tid == (uint32_t)im->header.pid;
        (*out)->row = (int)r->threads_count;
        TRY(array_room(&r->threads, &r->threads_room, r->threads_count + 1, sizeof *r->threads));
        json_blank(&record_model_thread, &r->threads[r->threads_count++]);
    }
    return ERR_OK;
}

enum err image_spot_at(struct image *im, uint32_t thread, uint32_t stack, uint32_t borrow,
                       uint32_t *spot)
{
    uint64_t key = table_mix(((uint64_t)thread << 32) | stack, borrow);
    *spot = table_get(&im->spot_by_key, key);
    if (*spot != TABLE_NONE)
        return ERR_OK;
    if (im->spots_count >= SPOTS_MAX) { /* the first one takes what finds no room: see create */
        im->run->q.spots_full++;
        *spot = 0;
        return ERR_OK;
    }
    TRY(index_of(&im->spot_by_key, key, &im->spots, &im->spots_count, &im->spots_room,
                 sizeof *im->spots, spot));
    struct spot *s = &im->spots[*spot];
    s->thread = thread;
    s->stack = stack;
    s->borrow = borrow;
    s->site = s->function = -1;
    return ERR_OK;
}

enum err image_spot(struct image *im, uint32_t tid, uint64_t stack, uint32_t borrow, uint32_t *spot)
{
    struct thread *t;
    uint32_t index;
    TRY(image_thread(im, tid, &t));
    TRY(image_stack(im, stack, &index));
    return image_spot_at(im, (uint32_t)(t - im->threads), index, borrow, spot);
}

static enum err define_string(struct image *im, const struct trace_text *t, const char *tail,
                              size_t bytes)
{
    if (table_get(&im->string_by_id, t->id) != TABLE_NONE)
        return ERR_OK;
    uint32_t index;
    TRY(index_of(&im->string_by_id, t->id, &im->strings, &im->strings_count, &im->strings_room,
                 sizeof *im->strings, &index));
    im->strings[index] = arena_text_n(im->arena, tail, bytes);
    FAIL_IF(!im->strings[index], ERR_MEMORY, "no memory for the texts of a trace");
    return ERR_OK;
}

static enum err define_code(struct image *im, const struct trace_code *c, const char *tail)
{
    uint32_t index;
    im->python = 1;
    if (table_get(&im->code_by_id, c->id) != TABLE_NONE)
        return ERR_OK;
    TRY(index_of(&im->code_by_id, c->id, &im->codes, &im->codes_count, &im->codes_room,
                 sizeof *im->codes, &index));
    struct code *code = &im->codes[index];
    struct arena *kept = im->run->m->arena; /* caches of rules.c go by address */
    code->file = arena_text_n(kept, tail, c->file_bytes);
    code->name = arena_text_n(kept, tail + c->file_bytes, c->name_bytes);
    code->first_line = c->first_line;
    FAIL_IF(!code->file || !code->name, ERR_MEMORY, "no memory for the texts of a trace");
    return ERR_OK;
}

static enum err define_stack(struct image *im, const struct trace_stack *s, const char *tail)
{
    uint32_t index;
    TRY(image_stack(im, s->id, &index));
    struct stack *d = &im->stacks[index];
    if (d->known)
        return ERR_OK;
    size_t words = (size_t)s->native + 2 * (size_t)s->python;
    FAIL_IF(im->words_count + words > UINT32_MAX, ERR_UNSUPPORTED,
            "a trace file with more than 32 GiB of stacks");
    TRY(array_room(&im->words, &im->words_room, im->words_count + words, sizeof *im->words));
    if (words)
        memcpy(im->words + im->words_count, tail, words * sizeof *im->words);
    *d = (struct stack){
        s->id, s->r.time_ns, (uint32_t)im->words_count, s->flags, s->native, s->python, 1, 0};
    im->words_count += words;
    im->python |= s->python > 0;
    return ERR_OK;
}

static enum err define_thread(struct image *im, const struct trace_thread *d, const char *tail)
{
    struct thread *t;
    TRY(image_thread(im, d->tid, &t));
    if (d->name_bytes)
        t->name = arena_text_n(im->arena, tail, d->name_bytes);
    t->main |= d->flags & 1;
    t->ours |= !!(d->flags & 2);
    return ERR_OK;
}

static enum err end_thread(struct image *im, const struct trace_thread_end *e)
{
    struct thread *t;
    TRY(image_thread(im, e->tid, &t));
    if (e->user_ns || e->system_ns) {
        t->kernel_ns = (double)e->user_ns + (double)e->system_ns;
        t->ended = 1;
    }
    return ERR_OK;
}

static enum err cost(struct image *im, const struct trace_cost *c)
{
    uint64_t key = table_mix(c->tid, c->part);
    uint32_t index = table_get(&im->costs.by_key, key);
    if (index == TABLE_NONE) {
        size_t need = im->costs.count + 1;
        TRY(array_room(&im->costs.keys, &im->costs.room[0], need, sizeof *im->costs.keys));
        TRY(array_room(&im->costs.ns, &im->costs.room[1], need, sizeof *im->costs.ns));
        TRY(array_room(&im->costs.calls, &im->costs.room[2], need, sizeof *im->costs.calls));
        index = (uint32_t)im->costs.count++;
        TRY(table_put(&im->costs.by_key, key, index));
    }
    im->costs.keys[index] = c->part;
    im->costs.ns[index] = c->ns;
    im->costs.calls[index] = c->calls;
    return ERR_OK;
}

enum err image_define(struct image *im, const struct trace_item *item)
{
    const void *r = item->record;
    const struct trace_module *m = r;
    switch (item->record->kind) {
    case TRACE_STRING:
        return define_string(im, r, item->tail, item->tail_bytes);
    case TRACE_CODE:
        return define_code(im, r, item->tail);
    case TRACE_STACK:
        return define_stack(im, r, item->tail);
    case TRACE_THREAD:
        return define_thread(im, r, item->tail);
    case TRACE_THREAD_END:
        return end_thread(im, r);
    case TRACE_COST:
        return cost(im, r);
    case TRACE_MODULE: {
        const char *path = arena_text_n(im->arena, item->tail, m->path_bytes);
        FAIL_IF(!path, ERR_MEMORY, "no memory for the texts of a trace");
        return symbols_module(im->run->symbols, im->index, m->r.time_ns, m->start, m->end, m->bias,
                              path, item->tail + m->path_bytes, m->build_id_bytes);
    }
    default:
        return ERR_OK;
    }
}

void image_free_definitions(struct image *im)
{
    table_free(&im->string_by_id);
    table_free(&im->code_by_id);
    table_free(&im->stack_by_id);
    table_free(&im->thread_by_tid);
    table_free(&im->spot_by_key);
    table_free(&im->costs.by_key);
    free(im->costs.keys);
    free(im->costs.ns);
    free(im->costs.calls);
    free(im->strings);
    free(im->codes);
    free(im->stacks);
    free(im->words);
    free(im->threads);
    free(im->spots);
    arena_free(im->arena);
}
