/* Lines that read, with what they call: storage, network, copies from the page cache, decoding,
 * conversion, placing. Calls have their own clocks; CPU time is sampled, and belongs to the
 * innermost own line of its stack, to what its innermost known frame does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/build/build.h"
#include "profiler/analyze/io/io.h"
#include "profiler/analyze/model/codecs.h"

enum { SHOWN = 20, CODECS = 8 };

struct reading_line {
    struct model_reading row;
    struct {
        const char *name;
        double s;
    } codec[CODECS];
};
struct readers {
    VECTOR(struct reading_line) all;
    struct table by_line, own; /* lines; paths of the program's own files */
    struct codec_modules codecs;
};

static enum err reader_of(struct readers *t, const char *file, int64_t line,
                          struct reading_line **out)
{
    uint64_t key = table_mix(file ? table_hash(file, strlen(file)) : 1, (uint64_t)line);
    uint32_t at = table_get(&t->by_line, key);
    if (at == TABLE_NONE) {
        struct reading_line r = {0};
        r.row.file = file;
        r.row.line = file ? line : MODEL_UNKNOWN;
        at = (uint32_t)t->all.count;
        TRY(vector_add(&t->all, r));
        TRY(table_put(&t->by_line, key, at));
    }
    *out = &t->all.items[at];
    return ERR_OK;
}

static enum err readers_add_calls(struct run *r, struct readers *t)
{
    for (size_t i = 0; i < r->io->owns.count; i++) {
        const struct io_own *p = &r->io->owns.items[i];
        const struct io_row *row = &r->io->rows.items[p->row];
        const struct own_node *own = p->own < r->own.count ? &r->own.items[p->own] : NULL;
        struct reading_line *to;
        if ((row->kind != TRACE_TO_FILE && row->kind != TRACE_TO_MEMORY &&
             row->kind != TRACE_TO_SOCKET) ||
            (own && !strcmp(own->kind, "import")))
            continue;
        const struct site *s = own && own->site >= 0 ? &r->sites.items[own->site] : NULL;
        TRY(reader_of(t, s ? r->sources.items[s->file].path : NULL, s ? s->line : 0, &to));
        double waited = ns_to_seconds(p->waited_ns);
        to->row.calls += p->calls;
        to->row.mb += bytes_to_megabytes(p->bytes);
        to->row.copy_s += fmax(0, ns_to_seconds(p->ns) - waited);
        *(row->kind == TRACE_TO_SOCKET ? &to->row.network_s : &to->row.storage_s) += waited;
    }
    return ERR_OK;
}

static enum err find_own(const struct run *r, struct readers *t)
{
    for (int i = 0; i < r->m->files_count; i++)
        if (r->m->files[i].user)
            TRY(table_put(&t->own, table_hash(r->m->files[i].path, strlen(r->m->files[i].path)),
                          1));
    return ERR_OK;
}

static void add_codec(struct reading_line *to, const char *name, double s)
{
    for (int i = 0; i < CODECS; i++)
        if (!to->codec[i].name || !strcmp(to->codec[i].name, name)) {
            to->codec[i].name = name;
            to->codec[i].s += s;
            return;
        }
}

static enum err add_stack(struct run *r, struct readers *t, const struct model_stack *leaf)
{
    const struct model *m = r->m;
    const struct model_frame *own = NULL;
    enum frame_work work = WORK_OTHER;
    const char *codec = NULL;
    int unnamed = 0;
    struct reading_line *to;
    double s = ns_to_seconds((double)leaf->cpu_ns);
    for (const struct model_stack *at = leaf; !own;) {
        const struct model_frame *f =
            at->frame >= 0 && at->frame < m->frames_count ? &m->frames[at->frame] : NULL;
        if (f && f->file && f->line > 0 &&
            table_get(&t->own, table_hash(f->file, strlen(f->file))) != TABLE_NONE)
            own = f;
        if (f && !own && f->function && !strcmp(f->function, "_find_and_load"))
            return ERR_OK; /* Python's imports */
        if (f && work == WORK_OTHER)
            work = frame_work(f, &t->codecs, &codec, &unnamed);
        if (at->parent < 0)
            break;
        at = &m->stacks[at->parent];
    }
    if (work == WORK_CALL)
        return ERR_OK;
    TRY(reader_of(t, own ? own->file : NULL, own ? own->line : 0, &to));
    double *sums[] = {[WORK_OTHER] = &to->row.other_s,     [WORK_CALL] = &to->row.other_s,
                      [WORK_ENCODE] = &to->row.other_s,    [WORK_DECODE] = &to->row.decode_s,
                      [WORK_CONVERT] = &to->row.convert_s, [WORK_PLACE] = &to->row.place_s};
    *sums[work] += s;
    if (codec)
        add_codec(to, codec, s);
    to->row.unnamed_s += codec && unnamed ? s : 0;
    return ERR_OK;
}

/* A read from memory that lost its CPU looks as if it had waited. Where the kernel fetched next to
 * nothing from storage, reads waited at most as long as the run was asleep. */
static void find_ready(const struct model *m, struct readers *t)
{
    double asleep = 0, waited = 0;
    if (!(m->io.storage_read_mb < 0.1 * m->io.read.waited_mb) || !m->own_count)
        return;
    for (int i = 0; i < m->own_count; i++)
        asleep += fmax(0, ns_to_seconds((double)m->own[i].path_wait_ns));
    for (size_t i = 0; i < t->all.count; i++)
        waited += t->all.items[i].row.storage_s;
    for (size_t i = 0; i < t->all.count && waited > asleep; i++) {
        struct model_reading *row = &t->all.items[i].row;
        row->ready_s = row->storage_s * (1 - asleep / waited);
        row->storage_s -= row->ready_s;
    }
}

static double reading_time(const struct model_reading *x)
{
    return x->storage_s + x->network_s + x->copy_s + x->decode_s + x->convert_s + x->place_s;
}

static int reading_by_time(const void *a, const void *b)
{
    const struct reading_line *x = a, *y = b;
    double p = reading_time(&x->row), q = reading_time(&y->row);
    if (p < q || p > q)
        return p < q ? 1 : -1;
    int order = strcmp(x->row.file ? x->row.file : "", y->row.file ? y->row.file : "");
    return order ? order : (x->row.line > y->row.line) - (x->row.line < y->row.line);
}

/* Lines that read, and those that decode what another line read. */
static enum err reading_rows(struct run *r, struct readers *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->all.count; i++)
        if (t->all.items[i].row.calls > 0 || t->all.items[i].row.decode_s > 0)
            t->all.items[n++] = t->all.items[i];
    t->all.count = n;
    vector_sort(&t->all, reading_by_time);
    n = n < SHOWN ? n : SHOWN;
    TRY(model_list(r->m, model_reading, &r->m->io, reading, n));
    for (size_t i = 0; i < n; i++) {
        struct reading_line *from = &t->all.items[i];
        double most = 0;
        for (int k = 0; k < CODECS && from->codec[k].name; k++)
            if (from->codec[k].s > most) {
                most = from->codec[k].s;
                from->row.codec = from->codec[k].name;
            }
        if (!r->has_cpu)
            from->row.decode_s = from->row.unnamed_s = from->row.convert_s = from->row.place_s =
                from->row.other_s = (double)NAN;
        r->m->io.reading[i] = from->row;
    }
    return ERR_OK;
}

enum err build_reading(struct run *r)
{
    struct readers t = {0};
    codec_modules(r->m, &t.codecs);
    enum err e = find_own(r, &t);
    if (e == ERR_OK)
        e = readers_add_calls(r, &t);
    find_ready(r->m, &t);
    for (int i = 0; i < r->m->stacks_count && e == ERR_OK; i++)
        if (r->m->stacks[i].cpu_ns > 0)
            e = add_stack(r, &t, &r->m->stacks[i]);
    if (e == ERR_OK)
        e = reading_rows(r, &t);
    vector_free(&t.all);
    table_free(&t.by_line);
    table_free(&t.own);
    return e;
}
