/* links: tp_operators */
/* The diagonal of A' W A: against its twin, and voxel by voxel against the norm of the column that
 * forward projection of a unit voxel gives. */
#include "host/recon/recon.h"
#include "tests/operators/harness.h"
#include "tests/operators/twin.h"

static float *hessian_of(struct rig *r, const float *w)
{
    float *blank = floats(r->voxels);
    struct buffer out = rig_push(r, blank, r->voxels), weights = {0};
    if (w)
        weights = rig_push(r, w, r->samples);
    assert_ok(hessian_diagonal(r->be, &r->model, w ? &weights : NULL, &out));
    if (w)
        r->be->ops->release(r->be, &weights);
    free(blank);
    return rig_pull(r, &out, r->voxels);
}

/* All pixels, those outside the region of reconstruction too; with weights and without. */
static void check_twin(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *w = random_floats(3, .5, 1.5, r->samples);
    double *w64 = widen(w, r->samples);
    for (int weighted = 0; weighted < 2; weighted++) {
        float *found = hessian_of(r, weighted ? w : NULL);
        double *expected = doubles(r->voxels);
        twin_back(&r->model, NULL, r->pixels, NULL, weighted ? w64 : NULL, 2, expected);
        worst_note(context, r->name, relative_l2(found, expected, r->voxels));
        free(found);
        free(expected);
    }
    free(w);
    free(w64);
}

static void hessian_equals_its_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "Hessian diagonal against its twin", .limit = 1e-5};
    for_each_case(check_twin, &w);
    worst_check(&w);
}

/* sum A[., voxel]^2 w */
static double column_norm(struct rig *r, int64_t voxel, const float *w)
{
    int64_t slices = r->model.volume.slices;
    const int32_t pixel = (int32_t)(voxel / slices);
    float *unit = floats(slices);
    unit[voxel % slices] = 1;
    float *column = rig_forward(r, (struct pixel_set){&pixel, 1, 1}, unit, SINO_CHANNELS_FASTEST);
    double sum = 0;
    for (int64_t i = 0; i < r->samples; i++)
        sum += (double)column[i] * (double)column[i] * (double)w[i];
    free(unit);
    free(column);
    return sum;
}

/* Picks the 8 corners, the middle, and voxels in between. */
static int64_t sample_voxel(const struct rig *r, int n)
{
    const struct volume *v = &r->model.volume;
    int64_t i = n & 1 ? v->rows - 1 : 0, j = n & 2 ? v->cols - 1 : 0, k = n & 4 ? v->slices - 1 : 0;
    if (n == 8)
        i = v->rows / 2, j = v->cols / 2, k = v->slices / 2;
    else if (n > 8)
        return (int64_t)n * 7919 % r->voxels;
    return (i * v->cols + j) * v->slices + k;
}

static void check_columns(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    /* Clipped tap windows of MBIRJAX: the Hessian belongs to A', the columns are those of A. */
    if (!twin_is_adjoint(&r->model, NULL, r->pixels))
        return;
    float *w = random_floats(3, .5, 1.5, r->samples), *hessian = hessian_of(r, w), largest = 0;
    for (int64_t i = 0; i < r->voxels; i++)
        largest = fmaxf(largest, hessian[i]);
    for (int n = 0; n < 16; n++) {
        int64_t voxel = sample_voxel(r, n);
        double error = fabs((double)hessian[voxel] - column_norm(r, voxel, w));
        worst_note(context, r->name, largest > 0 ? error / (double)largest : error);
    }
    free(w);
    free(hessian);
}

static void hessian_is_the_norm_of_columns(void **state)
{
    (void)state;
    struct worst w = {.what = "Hessian against column norms", .limit = 1e-5};
    for_each_case(check_columns, &w);
    assert_true(w.seen > 16 * (cases_wanted() - 8)); /* few cases have clipped corners */
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hessian_equals_its_twin),
        cmocka_unit_test(hessian_is_the_norm_of_columns),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
