/* links: tp_operators */
/* Arrays that MBIRJAX 0.7.3 computed (tests/data/goldens): the twins against them, which shows that
 * the twins read the formulas as MBIRJAX does, and every back end against them. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"
#include "host/recon/recon.h"
#include "tests/operators/harness.h"
#include "tests/operators/twin.h"
#include "tests/operators/twin_mbir.h"

/* Settings of mbir_recon in every golden. */
#define ITERATIONS 3
#define SEED       7

/* A golden folder with a geometry. */
struct golden {
    const char *name;
    struct ct_model model;
    int32_t *inside;
    int64_t inside_count, voxels, samples;
    float *volume, *sinogram, *weights;
};

static int is_cone(const struct golden *g)
{
    return g->model.scan.beam == BEAM_CONE;
}

/* Array `array`.npy of the folder, of the volume's or the sinogram's shape; NULL when there is none
 * and it need not be. */
static float *load(const struct golden *g, const char *array, int is_volume, int required)
{
    char path[500];
    snprintf(path, sizeof path, "%s/goldens/%s/%s.npy", DATA_FOLDER, g->name, array);
    struct stat found;
    if (!required && stat(path, &found) != 0)
        return NULL;
    const struct scan *s = &g->model.scan;
    const struct volume *v = &g->model.volume;
    int64_t shape[3] = {s->views, s->rows, s->channels};
    const char *const names[3] = {"first size", "second size", "third size"};
    if (is_volume)
        shape[0] = v->rows, shape[1] = v->cols, shape[2] = v->slices;
    float *data = NULL;
    assert_ok(npy_read(path, 3, shape, names, 1, &data));
    return data;
}

static void golden_open(struct golden *g, const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/goldens/%s/geometry.json", DATA_FOLDER, name);
    *g = (struct golden){.name = name};
    assert_ok(ct_model_read(path, &g->model));
    assert_ok(volume_pixels_inside(&g->model.volume, &g->inside, &g->inside_count));
    g->voxels = volume_voxels(&g->model.volume);
    g->samples = scan_samples(&g->model.scan);
    g->volume = load(g, "volume", 1, 1);
    g->sinogram = load(g, "sinogram", 0, 1);
    g->weights = load(g, "weights", 0, 1);
}

static void golden_close(struct golden *g)
{
    mem_free(g->volume);
    mem_free(g->sinogram);
    mem_free(g->weights);
    free(g->inside);
    ct_model_free(&g->model);
}

static int has_geometry(const struct dirent *entry)
{
    char path[500];
    struct stat found;
    snprintf(path, sizeof path, "%s/goldens/%s/geometry.json", DATA_FOLDER, entry->d_name);
    return entry->d_name[0] != '.' && stat(path, &found) == 0;
}

static void for_each_golden(void (*check)(struct golden *g, void *context), void *context)
{
    struct dirent **entries;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/goldens", DATA_FOLDER);
    int n = scandir(folder, &entries, has_geometry, alphasort);
    assert_true(n >= 4);
    for (int i = 0; i < n; i++) {
        struct golden g;
        golden_open(&g, entries[i]->d_name);
        check(&g, context);
        golden_close(&g);
        free(entries[i]);
    }
    free(entries);
}

/* The twins are asked where the CPU computes: a device is compared with the arrays themselves. */
static int twins_are_asked(void)
{
    return !strcmp(harness_backend(0), "cpu");
}

/* The operators with a golden, in one order for twins and back ends. */
enum operation { FORWARD, BACK, HESSIAN, FILTER, DIRECT, OPERATIONS };
static const struct {
    const char *parallel, *cone, *other; /* behind the name of the geometry */
    int gives_volume;
} operations[OPERATIONS] = {
    [FORWARD] = {"forward_project", "forward_project", "forward_project", 0},
    [BACK] = {"back_project", "back_project", "back_project", 1},
    [HESSIAN] = {"hessian_diagonal", "hessian_diagonal", "hessian_diagonal", 1},
    [FILTER] = {"fbp_filter", "fdk_filter", "direct_filter", 0},
    [DIRECT] = {"fbp_recon", "fdk_recon", "direct_recon", 1},
};

struct array_name {
    char text[80];
};

static struct array_name name_of(const struct golden *g, const char *operation)
{
    const struct scan *s = &g->model.scan;
    struct array_name name;
    snprintf(name.text, sizeof name.text, "%s_%s.out",
             scan_is_translation(s) ? "translation"
             : scan_is_multiaxis(s) ? "multiaxis"
             : is_cone(g)           ? "cone"
                                    : "parallel",
             operation);
    return name;
}

/* | a - golden | / | golden | */
static double distance(const float *a, const float *golden, int64_t n)
{
    double *wide = widen(golden, n), result = relative_l2(a, wide, n);
    free(wide);
    return result;
}

static void compare(const struct golden *g, enum operation o, const float *result,
                    struct worst *worst)
{
    const struct array_name array = name_of(g, g->model.scan.moves ? operations[o].other
                                               : is_cone(g)        ? operations[o].cone
                                                                   : operations[o].parallel);
    int is_volume = operations[o].gives_volume;
    float *golden = load(g, array.text, is_volume, 1);
    char where[160];
    snprintf(where, sizeof where, "%s/%s", g->name, array.text);
    worst_note(worst, where, distance(result, golden, is_volume ? g->voxels : g->samples));
    mem_free(golden);
}

static void run_twin(const struct golden *g, enum operation o, double *out)
{
    double *x = widen(g->volume, g->voxels), *y = widen(g->sinogram, g->samples);
    double *w = widen(g->weights, g->samples);
    if (o == FORWARD)
        twin_forward(&g->model, g->inside, g->inside_count, x, out);
    else if (o == BACK)
        twin_back(&g->model, g->inside, g->inside_count, y, NULL, 1, out);
    else if (o == HESSIAN)
        twin_back(&g->model, NULL, volume_pixels(&g->model.volume), NULL, w, 2, out);
    else if (o == FILTER)
        twin_filter(&g->model, y, out);
    else
        twin_direct_recon(&g->model, g->inside, g->inside_count, y, out);
    free(x);
    free(y);
    free(w);
}

static void check_twin(struct golden *g, void *context)
{
    for (int o = 0; o < OPERATIONS; o++) {
        int64_t n = operations[o].gives_volume ? g->voxels : g->samples;
        double *out = doubles(n);
        run_twin(g, (enum operation)o, out);
        float *narrow = floats(n);
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (float)out[i];
        compare(g, (enum operation)o, narrow, context);
        free(out);
        free(narrow);
    }
}

static void twins_equal_mbirjax(void **state)
{
    (void)state;
    struct worst w = {.what = "twin against MBIRJAX", .limit = 1e-5};
    if (!twins_are_asked())
        skip();
    for_each_golden(check_twin, &w);
    worst_check(&w);
}

static void check_mbir_twin(struct golden *g, void *context)
{
    float *golden = load(g, name_of(g, "mbir_recon").text, 1, 0);
    if (!golden)
        return;
    double *y = widen(g->sinogram, g->samples), *w = widen(g->weights, g->samples);
    double *x = doubles(g->voxels), *expected = widen(golden, g->voxels);
    float *narrow = floats(g->voxels);
    struct twin_report report;
    if (g->model.regularisation.automatic)
        twin_auto_regularise(&g->model, y, w, &g->model.regularisation);
    twin_mbir(&g->model, g->inside, g->inside_count, y, w, ITERATIONS, SEED, x, &report);
    for (int64_t i = 0; i < g->voxels; i++)
        narrow[i] = (float)x[i];
    worst_note(context, g->name, relative_l2(narrow, expected, g->voxels));
    mem_free(golden);
    free(y);
    free(w);
    free(x);
    free(expected);
    free(narrow);
}

static void mbir_twin_equals_mbirjax(void **state)
{
    (void)state;
    struct worst w = {.what = "MBIR twin, 3 iterations, against MBIRJAX", .limit = 1e-4};
    if (!twins_are_asked())
        skip();
    for_each_golden(check_mbir_twin, &w);
    worst_check(&w);
}

/* A back end and where its results are noted. */
struct run {
    struct rig rig; /* only the back end of it */
    struct worst single, mbir;
};

static enum err call(struct backend *be, const struct golden *g, enum operation o,
                     const struct buffer *in, struct buffer *out)
{
    const struct ct_model *m = &g->model;
    if (o == FORWARD)
        return forward_project(be, m, in, out);
    if (o == BACK)
        return back_project(be, m, in, out);
    if (o == HESSIAN)
        return hessian_diagonal(be, m, in, out);
    if (o == FILTER)
        return direct_filter(be, m, in, out);
    struct buffer scratch;
    TRY(be->ops->alloc(be, "scratch", in->bytes, &scratch));
    enum err e = direct_recon(be, m, in, &scratch, out);
    be->ops->release(be, &scratch);
    return e;
}

static void check_single(struct golden *g, struct run *run)
{
    for (int o = 0; o < OPERATIONS; o++) {
        int64_t in_size = o == FORWARD ? g->voxels : g->samples;
        int64_t out_size = operations[o].gives_volume ? g->voxels : g->samples;
        const float *from = o == FORWARD ? g->volume : o == HESSIAN ? g->weights : g->sinogram;
        float *blank = floats(out_size);
        struct buffer in = rig_push(&run->rig, from, in_size);
        struct buffer out = rig_push(&run->rig, blank, out_size);
        assert_ok(call(run->rig.be, g, (enum operation)o, &in, &out));
        run->rig.be->ops->release(run->rig.be, &in);
        float *result = rig_pull(&run->rig, &out, out_size);
        compare(g, (enum operation)o, result, &run->single);
        free(blank);
        free(result);
    }
}

static void check_mbir(struct golden *g, struct run *run)
{
    float *golden = case_wanted(g->name) ? load(g, name_of(g, "mbir_recon").text, 1, 0) : NULL;
    if (!golden)
        return;
    float *blank = floats(g->voxels);
    struct buffer y = rig_push(&run->rig, g->sinogram, g->samples);
    struct buffer w = rig_push(&run->rig, g->weights, g->samples);
    struct buffer x = rig_push(&run->rig, blank, g->voxels);
    struct mbir_report report;
    struct mbir_options options = {.max_iterations = ITERATIONS, .seed = SEED, .weights = &w};
    assert_ok(mbir_recon(run->rig.be, &g->model, &y, &options, &x, &report));
    mbir_report_free(&report);
    run->rig.be->ops->release(run->rig.be, &y);
    run->rig.be->ops->release(run->rig.be, &w);
    float *result = rig_pull(&run->rig, &x, g->voxels);
    worst_note(&run->mbir, g->name, distance(result, golden, g->voxels));
    mem_free(golden);
    free(blank);
    free(result);
}

static void check_backend(struct golden *g, void *context)
{
    check_single(g, context);
    check_mbir(g, context);
}

static void back_ends_equal_mbirjax(void **state)
{
    (void)state;
    for (int b = 0; harness_backend(b); b++) {
        struct run run = {.single = {.what = "one operator against MBIRJAX", .limit = 1e-5},
                          .mbir = {.what = "MBIR, 3 iterations, against MBIRJAX", .limit = 1e-4}};
        assert_ok(
            backend_open(harness_backend(b), &(struct backend_options){.threads = 1}, &run.rig.be));
        for_each_golden(check_backend, &run);
        backend_close(run.rig.be);
        worst_check(&run.single);
        worst_check(&run.mbir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_equal_mbirjax),
        cmocka_unit_test(mbir_twin_equals_mbirjax),
        cmocka_unit_test(back_ends_equal_mbirjax),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
