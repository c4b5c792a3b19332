/* Adds up the IO_ records of each process by path, and puts their time on lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/io/io.h"

enum { POINTS_MOST = 4096, ROWS_MOST = 100000 };

struct site_calls { /* waits for its line */
    uint32_t file, context, op;
    double calls, bytes, ns, waited_ns;
};
struct io_state { /* the last one of a file counts; threads' records come in any order */
    uint64_t time;
    double unique, error, stride;
    VECTOR(struct io_point) points;
};
struct io {
    struct table row_by_id; /* row + 1 of a file id */
    VECTOR(struct site_calls) sites;
    struct table state_by_id;
    VECTOR(struct io_state) states;
    VECTOR(uint64_t) state_ids;
    struct trace_io_kernel begin, end;
    struct trace_io_ring ring;
    double seen[2]; /* bytes of its IO_USE */
};

static enum err io_create(struct image *im, void *state)
{
    (void)state;
    if (!im->run->io)
        im->run->io = calloc(1, sizeof *im->run->io);
    FAIL_IF(!im->run->io, ERR_MEMORY, "no memory for the analysis");
    return ERR_OK;
}

static void io_state_free(struct image *im, void *state)
{
    struct io *io = state;
    (void)im;
    for (size_t i = 0; i < io->states.count; i++)
        vector_free(&io->states.items[i].points);
    vector_free(&io->states);
    vector_free(&io->state_ids);
    vector_free(&io->sites);
    table_free(&io->row_by_id);
    table_free(&io->state_by_id);
}

void io_free(struct run *r)
{
    if (!r->io)
        return;
    for (size_t i = 0; i < r->io->rows.count; i++)
        vector_free(&r->io->rows.items[i].points);
    vector_free(&r->io->rows);
    vector_free(&r->io->places);
    vector_free(&r->io->mounts);
    table_free(&r->io->row_by_key);
    table_free(&r->io->place_by_key);
    vector_free(&r->io->owns);
    table_free(&r->io->own_by_key);
    free(r->io);
}

static enum err io_row_of(struct image *im, uint64_t key, uint32_t *row)
{
    struct io_run *io = im->run->io;
    *row = table_get(&io->row_by_key, key);
    if (*row != TABLE_NONE)
        return ERR_OK;
    *row = io->rows.count < ROWS_MOST ? (uint32_t)io->rows.count : 0;
    if (io->rows.count < ROWS_MOST)
        TRY(vector_add(&io->rows, (struct io_row){.resident = UINT64_MAX}));
    return table_put(&io->row_by_key, key, *row);
}

/* The row of a file id, which may be named later: a row of its own until then. */
static enum err row_by_id(struct image *im, struct io *io, uint64_t id, struct io_row **out)
{
    uint32_t row = table_get(&io->row_by_id, id);
    if (row == TABLE_NONE) {
        TRY(io_row_of(im, table_mix(table_mix(id, (uint64_t)im->index), 7), &row));
        TRY(table_put(&io->row_by_id, id, row));
    }
    *out = &im->run->io->rows.items[row];
    if ((*out)->last_process != im->index + 1) {
        (*out)->processes++;
        (*out)->last_process = im->index + 1;
    }
    return ERR_OK;
}

static enum err io_file(struct image *im, void *state, const struct trace_item *item)
{
    struct io *io = state;
    const struct trace_io_file *f = (const void *)item->record;
    struct arena *kept = im->run->m->arena;
    const char *path = arena_text_n(kept, item->tail, item->tail_bytes);
    uint32_t row;
    struct io_row *r;
    FAIL_IF(!path, ERR_MEMORY, "no memory for the texts of a trace");
    uint64_t key = table_hash(path, strlen(path));
    key = table_mix(table_mix(key, f->kind), f->kind == TRACE_TO_FILE ? f->inode : 0);
    if (table_get(&io->row_by_id, f->id) == TABLE_NONE) {
        TRY(io_row_of(im, key, &row));
        TRY(table_put(&io->row_by_id, f->id, row));
    }
    TRY(row_by_id(im, io, f->id, &r));
    r->path = path;
    r->kind = f->kind;
    im->accepts |=
        f->kind == TRACE_TO_SOCKET && !strncmp(path, TRACE_CLIENTS, strlen(TRACE_CLIENTS));
    r->flags |= f->flags;
    r->device = f->device;
    r->size = f->size;
    if (r->resident == UINT64_MAX)
        r->resident = f->resident;
    return ERR_OK;
}

static enum err io_mount(struct image *im, void *state, const struct trace_item *item)
{
    (void)state;
    const struct trace_io_mount *f = (const void *)item->record;
    struct io_run *io = im->run->io;
    for (size_t i = 0; i < io->mounts.count; i++)
        if (io->mounts.items[i].device == f->device)
            return ERR_OK;
    const char *type = arena_text_n(im->run->m->arena, item->tail, item->tail_bytes);
    size_t n = type ? strlen(type) + 1 : 0;
    const char *point = n && n <= item->tail_bytes
                            ? arena_text_n(im->run->m->arena, item->tail + n, item->tail_bytes - n)
                            : NULL;
    FAIL_IF(!type, ERR_MEMORY, "no memory for the texts of a trace");
    return vector_add(&io->mounts, (struct io_mount){f->device, type, point});
}

static enum err io_use(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_io_use *u = (const void *)item->record;
    struct io *mine = state;
    struct io_row *r;
    TRY(row_by_id(im, mine, u->file, &r));
    for (int i = 0; i < TRACE_IO_OPS; i++) {
        const struct trace_io_count *c = &u->op[i];
        r->op[i].calls += (double)c->calls;
        r->op[i].bytes += (double)c->bytes;
        r->op[i].ns += (double)c->ns;
        r->op[i].waited += (double)c->waited;
        r->op[i].waited_bytes += (double)c->waited_bytes;
        r->op[i].waited_ns += (double)c->waited_ns;
        r->op[i].errors += (double)c->errors;
    }
    for (int i = 0; i < 2; i++)
        mine->seen[i] += (double)u->op[i].bytes;
    for (size_t i = 0; i < item->tail_bytes / 8; i++) {
        uint64_t word;
        memcpy(&word, item->tail + 8 * i, 8);
        if (word >> 48 < TRACE_IO_CELLS)
            r->cell[word >> 48] += (double)(word & ((1ull << 48) - 1));
    }
    return ERR_OK;
}

static enum err io_site(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_io_site *s = (const void *)item->record;
    struct io *io = state;
    struct site_calls kept = {0, 0, s->op, s->calls, s->bytes, s->ns, s->waited_ns};
    struct io_row *r;
    if (s->op >= TRACE_IO_OPS || !(s->calls >= 0 && s->bytes >= 0 && s->ns >= 0) ||
        !(s->calls + s->bytes + s->ns + s->waited_ns < 1e18)) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    TRY(row_by_id(im, io, s->file, &r));
    kept.file = (uint32_t)(r - im->run->io->rows.items);
    TRY(image_context(im, s->tid, s->stack, 0, &kept.context));
    struct costs *c = &im->contexts.items[kept.context].costs;
    c->io_calls += s->calls;
    c->io_read += s->op == TRACE_IO_READ ? s->bytes : 0;
    c->io_write += s->op == TRACE_IO_WRITE ? s->bytes : 0;
    c->io_ns += s->ns;
    c->io_waited += s->waited_ns;
    return vector_add(&io->sites, kept);
}

static enum err io_state(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_io_state *s = (const void *)item->record;
    struct io *io = state;
    uint32_t at = table_get(&io->state_by_id, s->file);
    if (at == TABLE_NONE) {
        at = (uint32_t)io->states.count;
        TRY(vector_add(&io->states, (struct io_state){0}));
        TRY(vector_add(&io->state_ids, s->file));
        TRY(table_put(&io->state_by_id, s->file, at));
    }
    struct io_state *kept = &io->states.items[at];
    if (kept->time > s->r.time_ns)
        return ERR_OK;
    kept->time = s->r.time_ns;
    kept->unique = s->unique == UINT64_MAX ? (double)NAN : (double)s->unique;
    kept->error = s->error;
    kept->stride = (double)s->stride;
    kept->points.count = 0;
    for (size_t i = 0; i < item->tail_bytes / 32; i++) {
        uint64_t word[4];
        memcpy(word, item->tail + 32 * i, sizeof word);
        TRY(vector_add(&kept->points, (struct io_point){image_time(im, word[0]), word[1], word[2],
                                                        (uint32_t)(word[3] & 0xff)}));
    }
    return ERR_OK;
}

static enum err io_ring(struct image *im, void *state, const struct trace_item *item)
{
    struct io *io = state;
    (void)im;
    io->ring = *(const struct trace_io_ring *)(const void *)item->record;
    return ERR_OK;
}

static enum err io_kernel(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_io_kernel *k = (const void *)item->record;
    struct io *io = state;
    (void)im;
    if (!k->at)
        io->begin = *k;
    else if (k->r.time_ns >= io->end.r.time_ns)
        io->end = *k;
    return ERR_OK;
}

static double io_growth(uint64_t begin, uint64_t end)
{
    return end > begin ? (double)(end - begin) : 0;
}

/* Settles the last record of each file, and the kernel's account. */
static enum err io_finish(struct image *im, void *state)
{
    struct io *mine = state;
    struct io_run *io = im->run->io;
    const struct trace_io_kernel *a = &mine->begin, *b = &mine->end;
    for (size_t i = 0; i < mine->states.count; i++) {
        struct io_state *s = &mine->states.items[i];
        struct io_row *r;
        TRY(row_by_id(im, mine, mine->state_ids.items[i], &r));
        if (!isnan(s->unique)) {
            r->unique += s->unique;
            r->unique_variance += s->error * s->error;
        }
        r->stride = fmax(r->stride, s->stride);
        for (size_t k = 0; k < s->points.count && r->points.count < POINTS_MOST; k++)
            TRY(vector_add(&r->points, s->points.items[k]));
    }
    if (!b->at) /* of one that ended asleep the kernel's counters are not known */
        return ERR_OK;
    im->run->has_io = 1;
    /* Two counters, read one after the other: the recorder may have written in between. */
    io->kernel[0] +=
        fmax(0, io_growth(a->read_chars, b->read_chars) - io_growth(a->own_read, b->own_read));
    io->kernel[1] +=
        fmax(0, io_growth(a->write_chars, b->write_chars) - io_growth(a->own_write, b->own_write));
    io->seen[0] += mine->seen[0] - (double)b->no_chars_read;
    io->seen[1] += mine->seen[1] - (double)b->no_chars_write;
    io->storage[0] += io_growth(a->read_bytes, b->read_bytes);
    io->storage[1] += io_growth(a->write_bytes, b->write_bytes);
    io->major_faults += io_growth(a->major_faults, b->major_faults);
    io->minor_faults += io_growth(a->minor_faults, b->minor_faults);
    io->unplaced += io_growth(a->unplaced, b->unplaced);
    io->ring[0] += io_growth(a->ring_calls, b->ring_calls);
    io->ring[1] += (double)mine->ring.requests;
    io->ring[2] += (double)mine->ring.lost;
    return ERR_OK;
}

/* Returns the module of a stack without lines. */
static const char *stack_module(struct image *im, uint32_t stack, struct resolved *frames)
{
    int interpreter, n = frames_of(im, stack, frames, RESOLVED_MAX, &interpreter);
    return path_shown(im->run, frames_module(frames, n));
}

static enum err add_own(struct io_run *io, const struct site_calls *s, uint32_t own)
{
    uint64_t key = table_mix((uint64_t)s->file, own);
    uint32_t at = table_get(&io->own_by_key, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)io->owns.count;
        TRY(vector_add(&io->owns, (struct io_own){own, s->file, 0, 0, 0, 0}));
        TRY(table_put(&io->own_by_key, key, at));
    }
    struct io_own *o = &io->owns.items[at];
    o->calls += s->calls;
    o->bytes += s->bytes;
    o->ns += s->ns;
    o->waited_ns += s->waited_ns;
    return ERR_OK;
}

static enum err io_attribute(struct image *im, void *state)
{
    const struct io *mine = state;
    struct io_run *io = im->run->io;
    struct resolved *frames = calloc(RESOLVED_MAX, sizeof *frames);
    FAIL_IF(!frames, ERR_MEMORY, "no memory for the analysis");
    enum err e = ERR_OK;
    for (size_t i = 0; i < mine->sites.count && e == ERR_OK; i++) {
        const struct site_calls *s = &mine->sites.items[i];
        const struct sample_context *c = &im->contexts.items[s->context];
        const char *module = c->site < 0 ? stack_module(im, c->stack, frames) : NULL;
        uint64_t key = table_mix((uint64_t)s->file << 8 | s->op, (uint64_t)(uint32_t)c->site);
        key = table_mix(key, (uintptr_t)module);
        uint32_t at = table_get(&io->place_by_key, key);
        if (at == TABLE_NONE) {
            at = (uint32_t)io->places.count;
            e = vector_add(&io->places,
                           (struct io_place){c->site, module, s->file, s->op, 0, 0, 0, 0});
            if (e == ERR_OK)
                e = table_put(&io->place_by_key, key, at);
        }
        if (e == ERR_OK && s->op == TRACE_IO_READ)
            e = add_own(io, s, c->own);
        if (e != ERR_OK)
            break;
        struct io_place *p = &io->places.items[at];
        p->calls += s->calls;
        p->bytes += s->bytes;
        p->ns += s->ns;
        p->waited_ns += s->waited_ns;
    }
    free(frames);
    return e;
}

static const struct collected kinds[] = {
    {TRACE_IO_FILE, io_file, 0, 0},     {TRACE_IO_MOUNT, io_mount, 0, 0},
    {TRACE_IO_USE, io_use, 1, 0},       {TRACE_IO_SITE, io_site, 1, 0},
    {TRACE_IO_STATE, io_state, 0, 0},   {TRACE_IO_RING, io_ring, 0, 0},
    {TRACE_IO_KERNEL, io_kernel, 0, 0},
};
const struct collector collector_io = {.state_bytes = sizeof(struct io),
                                       COLLECTED(kinds),
                                       .create = io_create,
                                       .finish = io_finish,
                                       .attribute = io_attribute,
                                       .free = io_state_free};
