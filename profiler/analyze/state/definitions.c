/* Definitions that other records of an image refer to by number: texts, code objects, stacks,
 * threads, sample contexts. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/state/cells.h"
#include "profiler/analyze/state/sent_code.h"
#include "profiler/analyze/state/collector.h"

const char *image_string(const struct image *im, uint64_t id)
{
    uint32_t i = id ? table_get(&im->string_by_id, id) : TABLE_NONE;
    return i == TABLE_NONE ? NULL : im->strings.items[i];
}

uint64_t image_time(struct image *im, uint64_t ns)
{
    const uint64_t limit = 1ull << 53; /* 104 days: exact in a double */
    struct run *r = im->run;
    if (ns < r->origin || ns - r->origin > limit) {
        int part = r->from_s > 0; /* what began before is not an error */
        r->q.bad_values += (!part && ns + 1000000000 < r->origin) || ns > r->origin;
        return 0;
    }
    im->last = im->last > ns ? im->last : ns;
    return ns - r->origin;
}

uint64_t image_end(const struct image *im)
{
    uint64_t end = im->header.end_ns, origin = im->run->origin;
    end = end > im->last && end < origin + (1ull << 53) ? end : im->last;
    im->run->end = end > im->run->end ? end : im->run->end;
    end = end < im->run->until ? end : im->run->until;
    return end > origin ? end : origin;
}

int image_left_out(const struct image *im, uint64_t ns)
{
    return (im->run->from_s > 0 && ns < im->run->origin) || ns > im->run->until;
}

/* Index of `id`, new (and zero) at the end of the vector when first seen. */
static enum err item_index(struct table *t, uint64_t id, void *items, size_t *count, size_t *room,
                           size_t size, uint32_t *index)
{
    *index = table_get(t, id);
    if (*index != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(items, room, *count + 1, size));
    *index = (uint32_t)(*count)++;
    return table_put(t, id, *index);
}
#define index_of(table, id, v, index)                                                              \
    item_index((table), (id), &(v)->items, &(v)->count, &(v)->room, sizeof *(v)->items, (index))

enum err image_stack(struct image *im, uint64_t id, uint32_t *index)
{
    TRY(index_of(&im->stack_by_id, id, &im->stacks, index));
    im->stacks.items[*index].id = id;
    return ERR_OK;
}

enum err image_thread(struct image *im, uint32_t tid, struct thread **out)
{
    size_t before = im->threads.count;
    uint32_t index;
    TRY(index_of(&im->thread_by_tid, tid, &im->threads, &index));
    *out = &im->threads.items[index];
    if (im->threads.count > before) {
        struct run *r = im->run;
        (*out)->tid = tid;
        (*out)->main = tid == (uint32_t)im->header.pid;
        (*out)->row = (int)r->threads.count;
        TRY(vector_room(&r->threads, r->threads.count + 1));
        json_blank(&record_model_thread, &r->threads.items[r->threads.count++]);
    }
    return ERR_OK;
}

enum err image_context_at(struct image *im, uint32_t thread, uint32_t stack, uint32_t borrow,
                          uint32_t *context)
{
    uint64_t key = table_mix(((uint64_t)thread << 32) | stack, borrow);
    *context = table_get(&im->context_by_key, key);
    if (*context != TABLE_NONE)
        return ERR_OK;
    if (im->contexts.count >=
        CONTEXTS_MAX) { /* the first one takes what finds no room: see create */
        im->run->q.contexts_full++;
        *context = 0;
        return ERR_OK;
    }
    TRY(index_of(&im->context_by_key, key, &im->contexts, context));
    struct sample_context *s = &im->contexts.items[*context];
    s->thread = thread;
    s->stack = stack;
    s->borrow = borrow;
    s->site = s->function = -1;
    return ERR_OK;
}

enum err image_context(struct image *im, uint32_t tid, uint64_t stack, uint32_t borrow,
                       uint32_t *context)
{
    struct thread *t;
    uint32_t index;
    TRY(image_thread(im, tid, &t));
    TRY(image_stack(im, stack, &index));
    return image_context_at(im, (uint32_t)(t - im->threads.items), index, borrow, context);
}

static enum err define_string(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_text *t = (const void *)item->record;
    (void)state;
    if (table_get(&im->string_by_id, t->id) != TABLE_NONE)
        return ERR_OK;
    uint32_t index;
    TRY(index_of(&im->string_by_id, t->id, &im->strings, &index));
    im->strings.items[index] = arena_text_n(im->arena, item->tail, item->tail_bytes);
    FAIL_IF(!im->strings.items[index], ERR_MEMORY, "no memory for the texts of a trace");
    return ERR_OK;
}

/* Gives code that was sent here its file back; notes own modules, from which code may be sent. */
static enum err code_place(struct image *im, struct code_object *code)
{
    if (sent_code_is(code->file)) {
        const char *file = sent_code_file(im->run, code->name, code->first_line);
        code->file = file ? file : code->file;
        return ERR_OK;
    }
    const struct owner_frame f = {.file = code->file, .function = code->name, .python = 1};
    struct owner_program p = im->program;
    p.include = p.exclude = NULL; /* these choose what is shown */
    return frame_owner(&p, &f) == OWNER_OWN ? sent_code_may_be_in(im->run, code->file) : ERR_OK;
}

static enum err define_code(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_code *c = (const void *)item->record;
    (void)state;
    uint32_t index;
    im->program.python = 1;
    if (table_get(&im->code_by_id, c->id) != TABLE_NONE)
        return ERR_OK;
    TRY(index_of(&im->code_by_id, c->id, &im->codes, &index));
    struct code_object *code = &im->codes.items[index];
    struct arena *kept = im->run->m->arena; /* the cache of paths.c goes by address */
    code->file = arena_text_n(kept, item->tail, c->file_bytes);
    const char *cell = code->file ? cells_name(im->run, code->file) : NULL;
    code->file = cell ? cell : code->file;
    code->name = arena_text_n(kept, item->tail + c->file_bytes, c->name_bytes);
    code->first_line = c->first_line;
    FAIL_IF(!code->file || !code->name, ERR_MEMORY, "no memory for the texts of a trace");
    return code_place(im, code);
}

static enum err define_stack(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_stack *s = (const void *)item->record;
    (void)state;
    uint32_t index;
    TRY(image_stack(im, s->id, &index));
    struct stack *d = &im->stacks.items[index];
    if (d->known)
        return ERR_OK;
    size_t words = (size_t)s->native + 2 * (size_t)s->python;
    FAIL_IF(im->words.count + words > UINT32_MAX, ERR_UNSUPPORTED,
            "a trace file with more than 32 GiB of stacks");
    TRY(vector_room(&im->words, im->words.count + words));
    if (words)
        memcpy(im->words.items + im->words.count, item->tail, words * sizeof *im->words.items);
    *d = (struct stack){
        s->id, s->r.time_ns, (uint32_t)im->words.count, s->flags, s->native, s->python, 1, 0};
    im->words.count += words;
    im->program.python |= s->python > 0;
    return ERR_OK;
}

static enum err define_thread(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_thread *d = (const void *)item->record;
    (void)state;
    struct thread *t;
    TRY(image_thread(im, d->tid, &t));
    if (d->name_bytes)
        t->name = arena_text_n(im->arena, item->tail, d->name_bytes);
    t->main |= d->flags & 1;
    t->recorder |= !!(d->flags & 2);
    return ERR_OK;
}

static enum err end_thread(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_thread_end *e = (const void *)item->record;
    (void)state;
    struct thread *t;
    TRY(image_thread(im, e->tid, &t));
    if (e->user_ns || e->system_ns) {
        t->kernel_ns = (double)e->user_ns + (double)e->system_ns;
        t->kernel_ns -= e->start_ns < t->kernel_ns ? e->start_ns : 0;
        t->ended = 1;
    }
    return ERR_OK;
}

static enum err define_module(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_module *m = (const void *)item->record;
    const char *path = arena_text_n(im->arena, item->tail, m->path_bytes);
    (void)state;
    FAIL_IF(!path, ERR_MEMORY, "no memory for the texts of a trace");
    return symbols_module(im->run->symbols, im->index, m->r.time_ns, m->start, m->end, m->bias,
                          path, item->tail + m->path_bytes, m->build_id_bytes);
}

static enum err end_module(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_module *m = (const void *)item->record;
    (void)state;
    return symbols_module_gone(im->run->symbols, im->index, m->r.time_ns, m->start, m->end);
}

static void definitions_free(struct image *im, void *state)
{
    (void)state;
    table_free(&im->string_by_id);
    table_free(&im->code_by_id);
    table_free(&im->stack_by_id);
    table_free(&im->thread_by_tid);
    table_free(&im->context_by_key);
    table_free(&im->owner_of);
    table_free(&im->work_of);
    vector_free(&im->strings);
    vector_free(&im->codes);
    vector_free(&im->stacks);
    vector_free(&im->words);
    vector_free(&im->threads);
    vector_free(&im->contexts);
}

static const struct collected kinds[] = {
    {TRACE_STRING, define_string, 0, 0},   {TRACE_CODE, define_code, 0, 0},
    {TRACE_STACK, define_stack, 0, 0},     {TRACE_THREAD, define_thread, 0, 0},
    {TRACE_THREAD_END, end_thread, 0, 0},  {TRACE_MODULE, define_module, 0, 0},
    {TRACE_MODULE_GONE, end_module, 0, 0},
};
const struct collector collector_definitions = {COLLECTED(kinds), .free = definitions_free};
