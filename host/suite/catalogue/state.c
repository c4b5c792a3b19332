/* Arrays of an operation: shapes, memory, places; four numbers that tell its results apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/geom/kinds.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/state.h"

enum err model_for_size(const struct operation *op, int64_t size, struct ct_model *m)
{
    const enum scan_kind named = scan_kind_named(op->geometry);
    const enum scan_kind kind = named == SCAN_KINDS ? KIND_PARALLEL : named; /* of "any" */
    ct_model_init(m);
    m->scan.views = size / 2;
    m->scan.rows = m->scan.channels = size;
    m->volume.rows = m->volume.cols = m->volume.slices = size;
    scan_example_beam(kind, &m->scan);
    if (op->set_up)
        op->set_up(m, size);
    enum err e = scan_example_views(kind, op->first_angle, op->turn > 0 ? op->turn : (double)NAN,
                                    0.35, &m->scan);
    if (!e)
        e = ct_model_resolve(m);
    if (e)
        ct_model_free(m);
    return e;
}

void ct_model_shape(const struct ct_model *m, enum array array, int64_t shape[3])
{
    const struct volume *v = &m->volume;
    const struct scan *s = &m->scan;
    const int volume = array == ARRAY_VOLUME || array == ARRAY_STEP || array == ARRAY_VIEW;
    shape[0] = volume ? v->rows : array == ARRAY_SINOGRAM ? s->views : 0;
    shape[1] = volume ? v->cols : array == ARRAY_SINOGRAM ? s->rows : 0;
    shape[2] = volume ? v->slices : array == ARRAY_SINOGRAM ? s->channels : 0;
}

enum err state_host_array(struct array_pair *a, const char *what, const int64_t shape[3])
{
    size_t bytes;
    void *block;
    TRY(mem_size(what, shape[0], shape[1], shape[2], sizeof(float), &bytes));
    TRY(mem_alloc(what, bytes, &block));
    a->host = block;
    return ERR_OK;
}

enum err state_upload(struct run_state *s, struct array_pair *a, const int64_t shape[3])
{
    size_t bytes = (size_t)(shape[0] * shape[1] * shape[2]) * sizeof(float);
    if (s->large) {
        a->buffer = (struct buffer){PLACE_HOST, 0, bytes, a->host};
        return ERR_OK;
    }
    return s->be->ops->upload(s->be, a->host, bytes, &a->buffer);
}

static enum err state_allocate(struct run_state *s, const char *what, enum array array,
                               struct array_pair *a)
{
    int64_t shape[3];
    size_t bytes;
    ct_model_shape(&s->model, array, shape);
    TRY(mem_size(what, shape[0], shape[1], shape[2], sizeof(float), &bytes));
    if (s->large) {
        TRY(state_host_array(a, what, shape));
        return state_upload(s, a, shape);
    }
    return s->be->ops->alloc(s->be, what, bytes, &a->buffer);
}

/* Allocates whole floats, for fingerprints and the host's arrays. */
static enum err allocate_step(struct run_state *s)
{
    const int64_t *n = s->step.out;
    size_t bytes;
    TRY(mem_size("volume", n[0], n[1], n[2], (size_t)volume_dtype_bytes(s->step.dtype), &bytes));
    bytes = (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    if (!s->large)
        return s->be->ops->alloc(s->be, "volume", bytes, &s->out.buffer);
    TRY(state_host_array(&s->out, "volume", n));
    return state_upload(s, &s->out, n);
}

double state_bytes_out(const struct run_state *s)
{
    if (s->op->step)
        return (double)volume_step_voxels(s->step.out) * volume_dtype_bytes(s->step.dtype);
    return (double)s->out.buffer.bytes;
}

double state_bytes_in(const struct run_state *s)
{
    return s->in.buffer.ptr ? (double)s->in.buffer.bytes : 0;
}

enum err state_allocate_output(struct run_state *s)
{
    if (s->op->step)
        TRY(s->op->step(s));
    switch (s->op->output) {
    case ARRAY_VOLUME:
        return state_allocate(s, "volume", ARRAY_VOLUME, &s->out);
    case ARRAY_SINOGRAM:
        return state_allocate(s, "sinogram", ARRAY_SINOGRAM, &s->out);
    case ARRAY_STEP:
        return allocate_step(s);
    default:
        return ERR_OK;
    }
}

enum err state_allocate_scratch(struct run_state *s)
{
    return s->large ? ERR_OK : state_allocate(s, "filtered sinogram", ARRAY_SINOGRAM, &s->scratch);
}

void state_free(struct run_state *s)
{
    if (s->op && s->op->finish)
        s->op->finish(s);
    struct array_pair *all[] = {&s->in,     &s->weights, &s->initial, &s->prox,
                                &s->frames, &s->out,     &s->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->buffer.ptr)
            s->be->ops->release(s->be, &all[i]->buffer);
        mem_free(all[i]->host);
    }
    mbir_report_free(&s->report);
    partition_free(&s->partition);
    ct_model_free(&s->model);
    memset(s, 0, sizeof *s);
}

enum err state_result(struct run_state *s, const float **data, float **copy)
{
    const struct buffer *b = &s->out.buffer;
    void *block = NULL;
    *copy = NULL;
    *data = b->ptr;
    if (b->place == PLACE_HOST)
        return ERR_OK;
    TRY(mem_alloc("result", b->bytes, &block));
    enum err e = s->be->ops->download(s->be, b, block, b->bytes);
    if (e)
        mem_free(block);
    else
        *data = *copy = block;
    return e;
}

/* Reads numbers from..from + n of an array, as float64. */
typedef void values_of(int type, const void *array, int64_t from, int64_t n, double *out);

static void values_of_indices(int type, const void *array, int64_t from, int64_t n, double *out)
{
    (void)type;
    for (int64_t i = 0; i < n; i++)
        out[i] = ((const int32_t *)array)[from + i];
}

static void values_of_type(int type, const void *array, int64_t from, int64_t n, double *out)
{
    volume_values((enum volume_dtype)type, array, from, n, out);
}

#define VALUE_LANES 8
#define VALUE_BLOCK 512
struct value_sums {
    double sum[VALUE_LANES], squares[VALUE_LANES], min[VALUE_LANES], max[VALUE_LANES];
};

/* Between two runs it must be over soon: threads fall asleep in it, and arrays leave the caches.
 * fmin and fmax take longer, and there is no NaN. */
static void array_read_values(struct value_sums *k, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VALUE_LANES)
        for (int l = 0; l < VALUE_LANES; l++) {
            const double v = x[i + l];
            k->sum[l] += v;
            k->squares[l] += v * v;
            k->min[l] = v < k->min[l] ? v : k->min[l];
            k->max[l] = v > k->max[l] ? v : k->max[l];
        }
}

static void array_read_value(struct value_sums *k, double v)
{
    k->sum[0] += v;
    k->squares[0] += v * v;
    k->min[0] = v < k->min[0] ? v : k->min[0];
    k->max[0] = v > k->max[0] ? v : k->max[0];
}

static void host_fingerprint(values_of *values, int type, const void *array, int64_t n,
                             struct fingerprint *out)
{
    struct value_sums k = {{0}, {0}, {0}, {0}};
    double x[VALUE_BLOCK], squares = 0;
    for (int l = 0; l < VALUE_LANES; l++) {
        k.min[l] = INFINITY;
        k.max[l] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i += VALUE_BLOCK) {
        const int64_t m = n - i < VALUE_BLOCK ? n - i : VALUE_BLOCK, whole = m - m % VALUE_LANES;
        values(type, array, i, m, x);
        array_read_values(&k, x, whole);
        for (int64_t rest = whole; rest < m; rest++)
            array_read_value(&k, x[rest]);
    }
    *out = (struct fingerprint){0, 0, INFINITY, -INFINITY};
    for (int l = 0; l < VALUE_LANES; l++) {
        out->sum += k.sum[l];
        squares += k.squares[l];
        out->min = k.min[l] < out->min ? k.min[l] : out->min;
        out->max = k.max[l] > out->max ? k.max[l] : out->max;
    }
    out->l2 = sqrt(squares);
}

/* Computes the fingerprint of a step's result of any type. */
static enum err step_fingerprint(struct run_state *s, struct fingerprint *out)
{
    const float *data;
    float *copy;
    TRY(state_result(s, &data, &copy));
    host_fingerprint(values_of_type, (int)s->step.dtype, data, volume_step_voxels(s->step.out),
                     out);
    mem_free(copy);
    return ERR_OK;
}

enum err state_fingerprint(struct run_state *s, struct fingerprint *out)
{
    /* A file that was written is compared by its contents. */
    const struct buffer *b = s->op->output == ARRAY_FILE ? &s->in.buffer : &s->out.buffer;
    const struct partition *p = &s->partition;
    if (s->op->output == ARRAY_PARTITION)
        host_fingerprint(values_of_indices, 0, p->indices, p->subsets * p->length, out);
    else if (s->step.dtype != VOLUME_F32)
        return step_fingerprint(s, out);
    else if (s->large)
        host_fingerprint(values_of_type, VOLUME_F32, b->ptr, (int64_t)(b->bytes / sizeof(float)),
                         out);
    else
        return s->be->ops->fingerprint(s->be, b, &out->sum, &out->l2, &out->min, &out->max);
    return ERR_OK;
}

void fingerprint_write(struct jsonw *w, const struct fingerprint *f)
{
    jsonw_knumber(w, "sum", f->sum);
    jsonw_knumber(w, "l2", f->l2);
    jsonw_knumber(w, "min", f->min);
    jsonw_knumber(w, "max", f->max);
}

struct work work_declared(struct run_state *s)
{
    return backend_take_work(s->be);
}

struct work work_partition(struct run_state *s)
{
    const double bytes = 4.0 * (double)(s->partition.subsets * s->partition.length);
    return (struct work){0, bytes, 4 * bytes};
}

const struct buffer *given_buffer(const struct array_pair *a)
{
    return a->buffer.ptr ? &a->buffer : NULL;
}
