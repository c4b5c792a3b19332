/* links: tp_api */
/* Compares each operation that `tomoprof apply` runs on files with its function in tomoprof.h: the
 * same bits (sparse projections: the same to 1e-6). An operation without one fails. */
#include <math.h>

#include "base/json/jsonw.h"
#include "host/backend/registry.h"
#include "host/geom/ct_model.h"
#include "host/store/format/geometry_json.h"
#include "host/suite/catalogue/catalogue.h"
#include "tests/unit/api/api_case.h"

#define SIZE 32
#define SEED 5

/* An operation of the suite, done, and the same model in the library. */
struct twin {
    struct run_state s;
    struct api_case a;
    tomoprof_array in, out;
    char *result; /* of the library */
    size_t bytes;
    const char *name; /* without the beam */
};
typedef void twin_call(struct twin *t);

static void twin_forward(struct twin *t)
{
    api_ok(&t->a, tomoprof_forward_project(t->a.c, t->a.m, &t->in, &t->out));
}

static void twin_back(struct twin *t)
{
    api_ok(&t->a, tomoprof_back_project(t->a.c, t->a.m, &t->in, &t->out));
}

static void twin_hessian(struct twin *t)
{
    api_ok(&t->a, tomoprof_hessian_diagonal(t->a.c, t->a.m, NULL, &t->out));
}

static void twin_filter(struct twin *t)
{
    api_ok(&t->a, tomoprof_direct_filter(t->a.c, t->a.m, &t->in, &t->out));
}

static void twin_direct(struct twin *t)
{
    const tomoprof_direct method =
        !strcmp(t->name, "fourier_recon") ? TOMOPROF_FOURIER : TOMOPROF_ADJOINT;
    api_ok(&t->a, tomoprof_direct_recon(t->a.c, t->a.m, method, &t->in, &t->out));
}

static void twin_recon(struct twin *t)
{
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    const tomoprof_array prox = api_array(t->s.prox.host, t->a.volume);
    o.iterations = t->s.mbir.max_iterations;
    o.stop_threshold_percent = 0;
    o.seed = SEED;
    if (t->s.prox.host)
        o.prox = &prox;
    api_ok(&t->a, tomoprof_recon(t->a.c, t->a.m, &t->in, &o, &t->out, NULL));
}

static void twin_median(struct twin *t)
{
    api_ok(&t->a, tomoprof_median_filter3d(t->a.c, &t->in, &t->out));
}

static void twin_denoise(struct twin *t)
{
    tomoprof_recon_options o = TOMOPROF_RECON_OPTIONS;
    o.iterations = t->s.mbir.max_iterations;
    o.stop_threshold_percent = 0;
    o.seed = SEED;
    api_ok(&t->a, tomoprof_denoise(t->a.c, NULL, &t->in, 0, &o, &t->out, NULL));
}

static void twin_weights(struct twin *t)
{
    const char *kind = t->name + strlen("gen_weights_");
    api_ok(&t->a, strcmp(kind, "mar")
                      ? tomoprof_gen_weights(t->a.c, kind, &t->in, &t->out)
                      : tomoprof_gen_weights_mar(t->a.c, t->a.m, &t->in, NULL, 1, 3, &t->out));
}

static void twin_rays(struct twin *t)
{
    const char *kind = !strcmp(t->name, "parker_weights") ? "parker" : "wang";
    api_ok(&t->a, tomoprof_weigh_rays(t->a.c, t->a.m, kind, &t->in, &t->out));
}

static void twin_step(struct twin *t)
{
    int64_t shape[3];
    tomoprof_type type;
    const tomoprof_array frames =
        api_array(t->s.frames.host, (int64_t[]){3, t->in.shape[1], t->in.shape[2]});
    api_ok(&t->a, tomoprof_step_shape(t->a.c, t->s.op->name, NULL, &t->in, shape, &type));
    t->out.type = type;
    memcpy(t->out.shape, shape, sizeof shape);
    api_ok(&t->a, tomoprof_step(t->a.c, t->s.op->name, NULL, &t->in,
                                t->s.frames.host ? &frames : NULL, &t->out));
}

static void twin_center(struct twin *t)
{
    double channel, score;
    api_ok(&t->a, tomoprof_find_center(t->a.c, t->a.m, t->name + strlen("find_center_"), &t->in,
                                       &channel, &score));
    const float value = (float)channel;
    memcpy(t->result, &value, sizeof value);
}

/* The library takes the cylinders of the subset alone, the suite a volume that holds them. */
static void twin_sparse(struct twin *t)
{
    const struct partition *p = &t->s.partition;
    const int64_t slices = t->a.volume[2];
    const size_t row = (size_t)slices * sizeof(float), count = (size_t)p->length;
    const int forward = t->s.op->input == ARRAY_VOLUME;
    char *packed = malloc(count * row), *volume = forward ? (char *)t->s.in.host : t->result;
    tomoprof_array voxels = TOMOPROF_ARRAY(packed, TOMOPROF_FLOAT32, p->length, slices, 0);
    voxels.dimensions = 2;
    for (size_t i = 0; forward && i < count; i++)
        memcpy(packed + i * row, volume + (size_t)p->indices[i] * row, row);
    api_ok(&t->a, forward ? tomoprof_sparse_forward_project(t->a.c, t->a.m, &voxels, p->indices,
                                                            count, &t->out)
                          : tomoprof_sparse_back_project(t->a.c, t->a.m, &t->in, p->indices, count,
                                                         1, &voxels));
    if (!forward)
        memset(volume, 0, t->bytes);
    for (size_t i = 0; !forward && i < count; i++)
        memcpy(volume + (size_t)p->indices[i] * row, packed + i * row, row);
    free(packed);
}

static void twin_partition(struct twin *t)
{
    const char *of = "gen_pixel_partition";
    const char *method = strcmp(t->name, of) ? t->name + strlen(of) + 1 : "random";
    int64_t subsets = t->s.subsets, length;
    api_ok(&t->a, tomoprof_partition(t->a.c, t->a.m, method, SEED, &subsets, &length,
                                     (int32_t *)(void *)t->result, t->bytes / sizeof(int32_t)));
    assert_int_equal(subsets, t->s.partition.subsets);
    assert_int_equal(length, t->s.partition.length);
}

/* Names, or how names begin. */
static const struct {
    const char *name;
    twin_call *call;
} twins[] = {{"forward_project", twin_forward},
             {"back_project", twin_back},
             {"sparse_", twin_sparse},
             {"hessian_diagonal", twin_hessian},
             {"fbp_filter", twin_filter},
             {"fdk_filter", twin_filter},
             {"direct_filter", twin_filter},
             {"fbp_recon", twin_direct},
             {"fdk_recon", twin_direct},
             {"direct_recon", twin_direct},
             {"fourier_recon", twin_direct},
             {"mbir_recon", twin_recon},
             {"prox_map", twin_recon},
             {"median_filter3d", twin_median},
             {"qggmrf_denoise", twin_denoise},
             {"gen_weights_", twin_weights},
             {"parker_weights", twin_rays},
             {"wang_weights", twin_rays},
             {"gen_pixel_partition", twin_partition},
             {"find_center_", twin_center},
             {"remove_stripes_sorting", twin_step}};

static twin_call *twin_of(const struct operation *op, const char *name)
{
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (!strncmp(name, twins[i].name, strlen(twins[i].name)))
            return twins[i].call;
    return op->step ? twin_step : NULL;
}

/* Cylinders that lie packed are summed in another order. */
static double distance(const void *a, const void *b, size_t bytes)
{
    const float *x = a, *y = b;
    double difference = 0, size = 0;
    for (size_t i = 0; i < bytes / sizeof *x; i++) {
        difference += pow((double)x[i] - (double)y[i], 2);
        size += pow((double)y[i], 2);
    }
    return sqrt(difference / size);
}

/* Returns 1 where `apply` runs it on files: where it makes none of its own, and no phantom. */
static int runs_on_files(const struct operation *op)
{
    return strcmp(op->group, "benchmark") != 0 && strcmp(op->group, "storage") != 0 &&
           !op->phantom && !op->finish;
}

static void twin_model(struct twin *t)
{
    struct jsonw w;
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    jsonw_init(&w, f, 0);
    ct_model_write_json(&w, &t->s.model);
    fclose(f);
    api_open(&t->a, "par_plain_odd");
    tomoprof_model_free(t->a.m);
    api_ok(&t->a, tomoprof_model_parse(t->a.c, text, bytes, &t->a.m));
    tomoprof_model_volume_shape(t->a.m, t->a.volume);
    tomoprof_model_sinogram_shape(t->a.m, t->a.sinogram);
    free(text);
}

static size_t result_bytes(const struct run_state *s)
{
    return s->op->output == ARRAY_PARTITION
               ? (size_t)(s->partition.subsets * s->partition.length) * sizeof(int32_t)
           : s->op->step ? (size_t)(volume_step_voxels(s->step.out) *
                                    (int64_t)volume_dtype_bytes(s->step.dtype))
                         : s->out.buffer.bytes;
}

static void operation_check(struct backend *be, const struct operation *op)
{
    struct twin t = {.s = {.op = op, .be = be, .seed = SEED}};
    int64_t shape[3];
    t.name = strcmp(op->geometry, "any") ? op->name + strlen(op->geometry) + 1 : op->name;
    twin_call *call = twin_of(op, t.name);
    if (!call)
        fail_msg("%s has no function in tomoprof.h, or no row here", op->name);
    assert_ok(model_for_size(op, SIZE, &t.s.model));
    assert_ok(state_prepare(&t.s));
    assert_ok(op->run(&t.s));
    twin_model(&t);
    t.bytes = result_bytes(&t.s);
    t.result = malloc(t.bytes);
    memset(t.result, 0x7f, t.bytes);
    ct_model_shape(&t.s.model, op->input, shape);
    t.in = api_array(t.s.in.host, shape);
    ct_model_shape(&t.s.model, op->output, shape);
    t.out = api_array(t.result, shape);
    call(&t);
    const void *expected =
        op->output == ARRAY_PARTITION ? (void *)t.s.partition.indices : t.s.out.buffer.ptr;
    if (call == twin_sparse)
        assert_true(distance(t.result, expected, t.bytes) < 1e-6);
    else if (memcmp(t.result, expected, t.bytes) != 0)
        fail_msg("%s and the library differ", op->name);
    free(t.result);
    api_close(&t.a);
    state_free(&t.s);
}

static void each_operation_has_its_function(void **state)
{
    const struct backend_options options = {.threads = 2};
    const struct operation *op;
    struct backend *be;
    int count = 0;
    (void)state;
    tomoprof_context *first; /* the library knows the back ends by now */
    assert_int_equal(tomoprof_context_create(NULL, &first), TOMOPROF_OK);
    assert_ok(backend_open("cpu", &options, &be));
    for (int i = 0; (op = operation_at(i)); i++)
        if (runs_on_files(op)) {
            operation_check(be, op);
            count++;
        }
    assert_true(count > 60);
    backend_close(be);
    tomoprof_context_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_has_its_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
