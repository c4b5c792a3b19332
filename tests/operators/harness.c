/* Opens the back ends, runs operators on host arrays, and keeps the worst case of a comparison. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/operators/harness.h"

/* Small cases are shared by threads as well. Absent where the device alone is tested. */
extern int64_t cpu_team_least __attribute__((weak));

int harness_setup(void **state)
{
    (void)state;
    if (&cpu_team_least)
        cpu_team_least = 1;
    log_set_level(LOG_ERROR); /* extreme geometries warn */
    harness_register();
    return harness_backend(0) ? 0 : -1;
}

const char *harness_backend(int index)
{
    const char *name, *reason;
    for (int i = 0; backend_describe(i, &name, &reason); i++)
        if (!*reason && index-- == 0)
            return name;
    return NULL;
}

void rig_open(struct rig *r, const char *backend, int threads, const struct test_case *c)
{
    memset(r, 0, sizeof *r);
    snprintf(r->label, sizeof r->label, "%s %s", backend, c->name);
    r->name = r->label;
    assert_ok(case_model(c, &r->model));
    const struct volume *v = &r->model.volume;
    assert_ok(volume_pixels_inside(v, &r->inside, &r->inside_count));
    r->pixels = volume_pixels(v);
    r->voxels = volume_voxels(v);
    r->samples = scan_samples(&r->model.scan);
    assert_ok(backend_open(backend, &(struct backend_options){.threads = threads}, &r->be));
    assert_ok(r->be->ops->projector_create(r->be, &r->model.scan, v, &r->projector));
}

void rig_close(struct rig *r)
{
    r->be->ops->projector_free(r->be, r->projector);
    backend_close(r->be);
    free(r->inside);
    ct_model_free(&r->model);
}

int case_wanted(const char *name)
{
    const char *list = getenv("TOMOPROF_TEST_CASES");
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return 1;
    return !list;
}

int cases_wanted(void)
{
    int count = 0;
    for (int i = 0; i < case_count; i++)
        count += case_wanted(cases[i].name);
    return count;
}

void for_each_case(void (*check)(struct rig *r, const struct test_case *c, void *context),
                   void *context)
{
    for (int b = 0; harness_backend(b); b++)
        for (int i = 0; i < case_count; i++) {
            struct rig r;
            if (!case_wanted(cases[i].name))
                continue;
            rig_open(&r, harness_backend(b), 1, &cases[i]);
            check(&r, &cases[i], context);
            rig_close(&r);
        }
}

struct pixel_set rig_inside(const struct rig *r)
{
    return (struct pixel_set){.indices = r->inside, .count = r->inside_count};
}

float *rig_packed(const struct rig *r, const float *x)
{
    const int64_t slices = r->model.volume.slices;
    float *packed = floats(r->inside_count * slices);
    for (int64_t q = 0; q < r->inside_count; q++)
        memcpy(packed + q * slices, x + r->inside[q] * slices, (size_t)slices * sizeof *x);
    return packed;
}

static size_t size(int64_t n)
{
    return (size_t)n * sizeof(float);
}

struct buffer rig_push(struct rig *r, const float *host, int64_t n)
{
    struct buffer from, own;
    assert_ok(r->be->ops->alloc(r->be, "test array", size(n), &own));
    assert_ok(r->be->ops->upload(r->be, host, size(n), &from));
    assert_ok(r->be->ops->copy(r->be, &from, &own));
    r->be->ops->release(r->be, &from);
    return own;
}

float *rig_pull(struct rig *r, struct buffer *b, int64_t n)
{
    float *out = floats(n);
    assert_ok(r->be->ops->sync(r->be));
    assert_ok(r->be->ops->download(r->be, b, out, size(n)));
    r->be->ops->release(r->be, b);
    return out;
}

static int64_t cylinders(const struct rig *r, struct pixel_set pixels)
{
    return (pixels.packed ? pixels.count : r->pixels) * r->model.volume.slices;
}

float *rig_forward(struct rig *r, struct pixel_set pixels, const float *x, enum sino_order order)
{
    /* NaN: the result must overwrite whatever was there. */
    float *before = floats(r->samples);
    for (int64_t i = 0; i < r->samples; i++)
        before[i] = NAN;
    struct buffer in = rig_push(r, x, cylinders(r, pixels)), out = rig_push(r, before, r->samples);
    free(before);
    assert_ok(r->be->ops->forward(r->be, r->projector, &pixels, &in,
                                  (struct sinogram){.data = &out, .order = order}));
    r->be->ops->release(r->be, &in);
    return rig_pull(r, &out, r->samples);
}

float *rig_back(struct rig *r, struct pixel_set pixels, const float *y, const float *w,
                enum sino_order order, int power, const float *before)
{
    struct buffer data = {0}, weights = {0}, out;
    float *zeros = floats(cylinders(r, pixels));
    out = rig_push(r, before ? before : zeros, cylinders(r, pixels));
    free(zeros);
    if (y)
        data = rig_push(r, y, r->samples);
    if (w)
        weights = rig_push(r, w, r->samples);
    assert_ok(r->be->ops->back(
        r->be, r->projector, &pixels, (struct sinogram){.data = y ? &data : NULL, .order = order},
        (struct sinogram){.data = w ? &weights : NULL, .order = order}, power, &out));
    if (y)
        r->be->ops->release(r->be, &data);
    if (w)
        r->be->ops->release(r->be, &weights);
    return rig_pull(r, &out, cylinders(r, pixels));
}

float *rig_back_voxel(struct rig *r, struct pixel_set pixels, const float *y, enum sino_order order,
                      const float *before)
{
    struct buffer in = rig_push(r, y, r->samples);
    struct buffer out = rig_push(r, before, cylinders(r, pixels));
    assert_ok(
        r->be->ops->back_voxel(r->be, r->projector, &pixels, (struct sinogram){&in, order}, &out));
    r->be->ops->release(r->be, &in);
    return rig_pull(r, &out, cylinders(r, pixels));
}

static void *zeroed(int64_t n, size_t item)
{
    void *p = calloc((size_t)(n > 0 ? n : 1), item);
    assert_non_null(p);
    return p;
}

float *floats(int64_t n)
{
    return zeroed(n, sizeof(float));
}

double *doubles(int64_t n)
{
    return zeroed(n, sizeof(double));
}

float *random_floats(uint64_t seed, double low, double high, int64_t n)
{
    float *a = floats(n);
    fill_uniform(seed, low, high, a, n);
    return a;
}

double *widen(const float *a, int64_t n)
{
    double *wide = doubles(n);
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)a[i];
    return wide;
}

double relative_l2(const float *a, const double *b, int64_t n)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

double dot64(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void worst_note(struct worst *w, const char *where, double value)
{
    if (!(value <= w->limit)) {
        print_message("%s: %s is %.3g, the limit is %.3g\n", where, w->what, value, w->limit);
        w->failed = 1;
    }
    if (!w->seen++ || value > w->value) {
        w->value = value;
        snprintf(w->where, sizeof w->where, "%s", where);
    }
}

void worst_check(const struct worst *w)
{
    print_message("%s: worst of %d %.2g (%s), limit %.2g\n", w->what, w->seen, w->value, w->where,
                  w->limit);
    if (w->failed || !w->seen)
        fail_msg("%s: %s", w->what, w->seen ? "beyond the limit" : "nothing was compared");
}
