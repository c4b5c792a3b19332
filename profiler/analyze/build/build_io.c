/* The model's part about input and output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/io/io.h"

enum { FILES_SHOWN = 300, LINES_SHOWN = 20, PICTURES = 32 };

static const char *const kinds[] = {"file",   "pipe",   "terminal", "socket",
                                    "kernel", "memory", "other"};
static const char *const ops[] = {"read", "write", "open", "seek", "sync", "connect", "map"};

static int64_t io_count(double v)
{
    return v < 9e15 ? (int64_t)v : MODEL_UNKNOWN;
}

static double cells_percentile(const double *cell, double share)
{
    double all = 0, so_far = 0;
    for (int i = 0; i < 128; i++)
        all += cell[i];
    for (unsigned i = 0; i < 128 && all > 0; i++) {
        so_far += cell[i];
        if (so_far >= share * all)
            return 1e-3 * trace_io_cell_ns(i);
    }
    return (double)NAN;
}

/* Returns the median of the distances, in the middle of its power of two. */
static double cells_jump(const double *part)
{
    const double *cell = part + TRACE_IO_JUMPS;
    double all = part[TRACE_IO_PLACED + TRACE_IO_FORWARD] + part[TRACE_IO_PLACED + TRACE_IO_BACK];
    double so_far = 0;
    for (int i = 0; i < 40 && all > 0; i++) {
        so_far += cell[i];
        if (2 * so_far >= all)
            return bytes_to_megabytes(ldexp(M_SQRT2, i));
    }
    return (double)NAN;
}

/* Tells if the calls of a kind of row have places in a file. */
/* A row of many files has none: an offset is a byte of each of them. */
static int has_places(const struct io_row *row)
{
    return (row->kind == TRACE_TO_FILE || row->kind == TRACE_TO_MEMORY) &&
           !(row->flags & TRACE_IO_MANY);
}

static void places_in_file(const double *cell, double bytes, struct model_io_calls *out)
{
    const double *placed = cell + TRACE_IO_PLACED;
    out->next = io_count(placed[TRACE_IO_NEXT] + placed[TRACE_IO_FIRST]);
    out->near = io_count(placed[TRACE_IO_NEAR]);
    out->forward = io_count(placed[TRACE_IO_FORWARD]);
    out->back = io_count(placed[TRACE_IO_BACK]);
    out->jump_mb = cells_jump(cell);
    if (bytes > 0)
        out->sequential_share = fmin(1, cell[TRACE_IO_GOING_ON] / bytes);
}

static enum err calls_of(struct run *r, const struct io_row *row, enum trace_io_op op,
                         struct model_io_calls *out)
{
    const double *cell = row->cell + trace_io_part(op, 0), *time = cell + TRACE_IO_TIMES;
    json_blank(&record_model_io_calls, out);
    out->calls = io_count(row->op[op].calls);
    out->mb = bytes_to_megabytes(row->op[op].bytes);
    out->s = ns_to_seconds(row->op[op].ns);
    out->waited = io_count(row->op[op].waited);
    out->waited_mb = bytes_to_megabytes(row->op[op].waited_bytes);
    out->waited_s = ns_to_seconds(row->op[op].waited_ns);
    out->errors = io_count(row->op[op].errors);
    out->p50_us = cells_percentile(time, 0.5);
    out->p95_us = cells_percentile(time, 0.95);
    out->p99_us = cells_percentile(time, 0.99);
    if (has_places(row))
        places_in_file(cell, row->op[op].bytes, out);
    out->sizes = arena_take(r->m->arena, 10 * sizeof *out->sizes);
    FAIL_IF(!out->sizes, ERR_MEMORY, "no memory for the profile");
    out->sizes_count = 10;
    for (int i = 0; i < 10; i++)
        out->sizes[i] = io_count(cell[TRACE_IO_SIZES + i]);
    return ERR_OK;
}

static double io_row_time(const struct io_row *row)
{
    double ns = 0;
    for (int i = 0; i < TRACE_IO_OPS; i++)
        ns += row->op[i].ns;
    return ns;
}

static int is_used(const struct io_row *row)
{
    double calls = 0;
    for (int i = 0; i < TRACE_IO_OPS; i++)
        calls += row->op[i].calls;
    return calls > 0;
}

static double waited_of(const struct io_row *row)
{
    double ns = 0;
    for (int i = 0; i < TRACE_IO_OPS; i++)
        ns += row->op[i].waited_ns;
    return ns;
}

static int io_row_by_time(const void *a, const void *b)
{
    const struct io_row *x = *(struct io_row *const *)a, *y = *(struct io_row *const *)b;
    double p = io_row_time(x), q = io_row_time(y);
    if (p < q || p > q)
        return p < q ? 1 : -1;
    return strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

static int place_most_first(const void *a, const void *b)
{
    const struct io_place *x = *(struct io_place *const *)a, *y = *(struct io_place *const *)b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static enum err places_of(struct run *r, uint32_t row, struct model_io_file *out)
{
    VECTOR(const struct io_place *) all = {0};
    enum err e = ERR_OK;
    for (size_t i = 0; i < r->io->places.count && e == ERR_OK; i++)
        if (r->io->places.items[i].row == row)
            e = vector_add(&all, &r->io->places.items[i]);
    vector_sort(&all, place_most_first);
    size_t n = all.count < LINES_SHOWN ? all.count : LINES_SHOWN;
    if (e == ERR_OK)
        e = model_list(r->m, model_io_place, out, lines, n);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const struct io_place *p = all.items[i];
        struct model_io_place *to = &out->lines[i];
        if (p->site >= 0) {
            to->file = r->sources.items[r->sites.items[p->site].file].path;
            to->line = r->sites.items[p->site].line;
        }
        to->module = p->module;
        to->op = ops[p->op];
        to->calls = p->calls;
        to->mb = bytes_to_megabytes(p->bytes);
        to->s = ns_to_seconds(p->ns);
        to->waited_s = ns_to_seconds(p->waited_ns);
    }
    vector_free(&all);
    return e;
}

ARRAY_ORDER(in_time, struct io_point, COMPARE(x->time, y->time));

static enum err moments_of(struct run *r, struct io_row *row, struct model_io_file *out)
{
    vector_sort(&row->points, in_time);
    TRY(model_list(r->m, model_io_moment, out, moments, row->points.count));
    for (size_t i = 0; i < row->points.count; i++) {
        const struct io_point *p = &row->points.items[i];
        out->moments[i] =
            (struct model_io_moment){(int64_t)(p->time / 1000), io_count((double)p->offset),
                                     io_count((double)p->bytes), p->op};
    }
    out->moment_stride = io_count(row->stride);
    return ERR_OK;
}

static void access_of(const struct io_row *row, struct model_io_file *out)
{
    double unique = fmin(row->unique, row->op[TRACE_IO_READ].bytes);
    if (!has_places(row))
        return;
    out->size_mb = bytes_to_megabytes((double)row->size);
    if (row->resident != UINT64_MAX && row->size > 0)
        out->cached_share = (double)row->resident / (double)row->size;
    if (unique > 0) {
        out->unique_mb = bytes_to_megabytes(unique);
        out->unique_error_mb = bytes_to_megabytes(sqrt(row->unique_variance));
        out->reread = row->op[TRACE_IO_READ].bytes / unique;
    }
    if (row->op[TRACE_IO_MAP].calls > 0) {
        out->mapped_mb = bytes_to_megabytes(row->op[TRACE_IO_MAP].bytes);
        out->touched_mb = bytes_to_megabytes(row->cell[TRACE_IO_TOUCHED]);
    }
}

static enum err file_row(struct run *r, struct io_row *row, int pictured, struct model_io_file *out)
{
    out->path = path_shown(r, row->path ? row->path : "unknown");
    out->kind = kinds[row->kind < 7 ? row->kind : 6];
    for (size_t i = 0; i < r->io->mounts.count && row->device; i++)
        if (r->io->mounts.items[i].device == row->device) {
            out->file_system = r->io->mounts.items[i].type;
            out->mount = r->io->mounts.items[i].point;
        }
    out->direct = (row->flags & TRACE_IO_DIRECT) != 0;
    out->processes = row->processes;
    TRY(calls_of(r, row, TRACE_IO_READ, &out->read));
    TRY(calls_of(r, row, TRACE_IO_WRITE, &out->write));
    out->opens = io_count(row->op[TRACE_IO_OPEN].calls);
    out->open_s = ns_to_seconds(row->op[TRACE_IO_OPEN].ns);
    out->seeks = io_count(row->op[TRACE_IO_SEEK].calls);
    out->seek_s = ns_to_seconds(row->op[TRACE_IO_SEEK].ns);
    out->syncs = io_count(row->op[TRACE_IO_SYNC].calls);
    out->sync_s = ns_to_seconds(row->op[TRACE_IO_SYNC].ns);
    out->connects = io_count(row->op[TRACE_IO_CONNECT].calls);
    out->connect_s = ns_to_seconds(row->op[TRACE_IO_CONNECT].ns);
    out->s = ns_to_seconds(io_row_time(row));
    out->waited_s = ns_to_seconds(waited_of(row));
    access_of(row, out);
    if (row->kind == TRACE_TO_SOCKET) {
        double requests = row->cell[TRACE_IO_REQUESTS];
        out->requests = io_count(requests);
        if (requests > 0)
            out->first_byte_ms = 1e-6 * row->cell[TRACE_IO_FIRST_BYTE] / requests;
        if (row->cell[TRACE_IO_IN_FLIGHT] > 0) /* requests without an answer are left out */
            out->in_flight =
                fmax(1, row->cell[TRACE_IO_FIRST_BYTE] / row->cell[TRACE_IO_IN_FLIGHT]);
    }
    if (pictured)
        TRY(moments_of(r, row, out));
    return places_of(r, (uint32_t)(row - r->io->rows.items), out);
}

static enum err add_up(struct run *r)
{
    struct io_row all = {.kind = TRACE_TO_FILE};
    for (size_t i = 0; i < r->io->rows.count; i++) {
        const struct io_row *row = &r->io->rows.items[i];
        for (size_t k = 0; k < TRACE_IO_OPS * (sizeof all.op[0] / sizeof(double)); k++)
            ((double *)all.op)[k] += ((const double *)row->op)[k];
        for (int k = 0; k < TRACE_IO_CELLS; k++)
            all.cell[k] += row->cell[k];
    }
    struct model_io *io = &r->m->io;
    TRY(calls_of(r, &all, TRACE_IO_READ, &io->read));
    TRY(calls_of(r, &all, TRACE_IO_WRITE, &io->write));
    io->open_s = ns_to_seconds(all.op[TRACE_IO_OPEN].ns);
    io->sync_s = ns_to_seconds(all.op[TRACE_IO_SYNC].ns);
    return ERR_OK;
}

static enum err io_lists(struct run *r, struct io_row **rows, size_t n)
{
    struct model_io *io = &r->m->io;
    size_t sockets = 0, files = 0, shown;
    for (size_t i = 0; i < n; i++)
        sockets += rows[i]->kind == TRACE_TO_SOCKET;
    shown = n - sockets < FILES_SHOWN ? n - sockets : FILES_SHOWN;
    io->files_more = (int64_t)(n - sockets - shown);
    TRY(model_list(r->m, model_io_file, io, files, shown));
    TRY(model_list(r->m, model_io_file, io, endpoints, sockets));
    sockets = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i]->kind == TRACE_TO_SOCKET)
            TRY(file_row(r, rows[i], 0, &io->endpoints[sockets++]));
        else if (files < shown) {
            TRY(file_row(r, rows[i], files < PICTURES, &io->files[files]));
            files++;
        }
    return ERR_OK;
}

/* Reports reads and writes by ways that have no hook, where they are much. */
static enum err io_note_unseen(struct run *r)
{
    const struct model_io *io = &r->m->io;
    double kernel = io->kernel_read_mb + io->kernel_write_mb;
    double unseen = fmax(io->unseen_read_mb, 0) + fmax(io->unseen_write_mb, 0);
    char text[160];
    struct model_item row;
    if (!(unseen > 1) || !(unseen > 0.02 * kernel))
        return ERR_OK;
    snprintf(text, sizeof text,
             "%s MiB of %s MiB that the kernel counted as read and written are of no file.",
             NUMBER(4, unseen), NUMBER(4, kernel));
    json_blank(&record_model_item, &row);
    row.id = "io.unseen";
    row.severity = "warning";
    row.share = unseen / kernel;
    row.text = run_text(r, text);
    row.effect = "Files and lines have less than they moved.";
    return vector_add(&r->q.notes, row);
}

/* A stack that was taken for one call in many stands for all of them; of few large calls such sums
 * miss by far. What a row moved in all is exact, so its places are scaled to that. */
static enum err scale_places(struct run *r)
{
    struct io_run *io = r->io;
    size_t n = io->rows.count * TRACE_IO_OPS;
    struct sums {
        double calls, bytes, ns, waited_ns;
    } *sum = calloc(n + 1, sizeof *sum);
    FAIL_IF(!sum, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < io->places.count; i++) {
        const struct io_place *p = &io->places.items[i];
        struct sums *s = &sum[p->row * TRACE_IO_OPS + p->op];
        s->calls += p->calls;
        s->bytes += p->bytes;
        s->ns += p->ns;
        s->waited_ns += p->waited_ns;
    }
    for (size_t i = 0; i < n; i++) {
        const struct io_row *row = &io->rows.items[i / TRACE_IO_OPS];
        const size_t op = i % TRACE_IO_OPS;
        sum[i] = (struct sums){sum[i].calls > 0 ? row->op[op].calls / sum[i].calls : 1,
                               sum[i].bytes > 0 ? row->op[op].bytes / sum[i].bytes : 1,
                               sum[i].ns > 0 ? row->op[op].ns / sum[i].ns : 1,
                               sum[i].waited_ns > 0 ? row->op[op].waited_ns / sum[i].waited_ns : 1};
    }
    for (size_t i = 0; i < io->places.count; i++) {
        struct io_place *p = &io->places.items[i];
        const struct sums *s = &sum[p->row * TRACE_IO_OPS + p->op];
        p->calls *= s->calls;
        p->bytes *= s->bytes;
        p->ns *= s->ns;
        p->waited_ns *= s->waited_ns;
    }
    for (size_t i = 0; i < io->owns.count; i++) {
        struct io_own *p = &io->owns.items[i];
        const struct sums *s = &sum[p->row * TRACE_IO_OPS + TRACE_IO_READ];
        p->calls *= s->calls;
        p->bytes *= s->bytes;
        p->ns *= s->ns;
        p->waited_ns *= s->waited_ns;
    }
    free(sum);
    return ERR_OK;
}

enum err build_io(struct run *r)
{
    struct model_io *io = &r->m->io;
    const struct io_run *run = r->io;
    if (!r->has_io || !run)
        return ERR_OK;
    TRY(add_up(r));
    TRY(scale_places(r));
    if (!build_of_part(r)) {
        io->kernel_read_mb = bytes_to_megabytes(run->kernel[0]);
        io->kernel_write_mb = bytes_to_megabytes(run->kernel[1]);
        io->seen_read_mb = bytes_to_megabytes(run->seen[0]);
        io->seen_write_mb = bytes_to_megabytes(run->seen[1]);
        io->unseen_read_mb = bytes_to_megabytes(run->kernel[0] - run->seen[0]);
        io->unseen_write_mb = bytes_to_megabytes(run->kernel[1] - run->seen[1]);
        io->storage_read_mb = bytes_to_megabytes(run->storage[0]);
        io->storage_write_mb = bytes_to_megabytes(run->storage[1]);
        io->major_faults = io_count(run->major_faults);
        io->minor_faults = io_count(run->minor_faults);
        io->unplaced = io_count(run->unplaced);
        io->ring_calls = io_count(run->ring[0]);
        io->ring_requests = io_count(run->ring[1]);
        io->ring_lost = io_count(run->ring[2]);
    }
    struct io_row **rows = calloc(run->rows.count + 1, sizeof *rows);
    FAIL_IF(!rows, ERR_MEMORY, "no memory for the profile");
    size_t n = 0;
    for (size_t i = 0; i < run->rows.count; i++)
        if (is_used(&run->rows.items[i]))
            rows[n++] = &run->rows.items[i];
    array_sort(rows, n, sizeof *rows, io_row_by_time);
    enum err e = io_lists(r, rows, n);
    free(rows);
    if (e == ERR_OK)
        e = build_reading(r);
    return e == ERR_OK ? io_note_unseen(r) : e;
}
