/* links: tp_operators */
/* Forward and back projection against their twins, and against each other. */
#include "tests/operators/harness.h"
#include "tests/operators/twin.h"

/* Random volume and sinogram of a case: signs in x, positive y. */
static float *volume_of(const struct rig *r)
{
    return random_floats(1, -1, 1, r->voxels);
}

static float *sinogram_of(const struct rig *r)
{
    return random_floats(2, 0, 1, r->samples);
}

static float *weights_of(const struct rig *r)
{
    return random_floats(3, .5, 1.5, r->samples);
}

static void check_forward(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *x = volume_of(r), *y = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    double *x64 = widen(x, r->voxels), *expected = doubles(r->samples);
    twin_forward(&r->model, r->inside, r->inside_count, x64, expected);
    worst_note(context, r->name, relative_l2(y, expected, r->samples));
    free(x);
    free(y);
    free(x64);
    free(expected);
}

static void forward_equals_its_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "forward against its twin", .limit = 1e-5};
    for_each_case(check_forward, &w);
    worst_check(&w);
}

/* Sets x to 0 inside the region of reconstruction. */
static void clear_inside(const struct rig *r, float *x)
{
    int64_t slices = r->model.volume.slices;
    for (int64_t q = 0; q < r->inside_count; q++)
        memset(x + r->inside[q] * slices, 0, (size_t)slices * sizeof *x);
}

/* Pixels outside the region keep the bits that they had; they are then set to 0 in x. */
static void check_outside(const struct rig *r, float *x, const float *before)
{
    float *outside = floats(r->voxels), *kept = floats(r->voxels);
    memcpy(outside, x, (size_t)r->voxels * sizeof *x);
    memcpy(kept, before, (size_t)r->voxels * sizeof *x);
    clear_inside(r, outside);
    clear_inside(r, kept);
    assert_memory_equal(outside, kept, (size_t)r->voxels * sizeof *x);
    for (int64_t i = 0; i < r->voxels; i++)
        x[i] -= outside[i];
    free(outside);
    free(kept);
}

/* Both powers, with weights. */
static void check_back(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *y = sinogram_of(r), *w = weights_of(r), *before = volume_of(r);
    double *y64 = widen(y, r->samples), *w64 = widen(w, r->samples);
    for (int power = 1; power <= 2; power++) {
        float *x = rig_back(r, rig_inside(r), y, w, SINO_CHANNELS_FASTEST, power, before);
        double *expected = doubles(r->voxels);
        twin_back(&r->model, r->inside, r->inside_count, y64, w64, power, expected);
        check_outside(r, x, before);
        worst_note(context, r->name, relative_l2(x, expected, r->voxels));
        free(x);
        free(expected);
    }
    free(y);
    free(w);
    free(before);
    free(y64);
    free(w64);
}

static void back_equals_its_twin(void **state)
{
    (void)state;
    struct worst w = {.what = "back against its twin", .limit = 1e-5};
    for_each_case(check_back, &w);
    worst_check(&w);
}

/* (<Ax, y> - <x, A'y>) / (|Ax| |y|) of float64 arrays; 0 when nothing is projected. */
static double defect(const double *Ax, const double *y, int64_t samples, const double *x,
                     const double *Aty, int64_t voxels)
{
    double scale = sqrt(dot64(Ax, Ax, samples) * dot64(y, y, samples));
    return scale > 0 ? (dot64(Ax, y, samples) - dot64(x, Aty, voxels)) / scale : 0;
}

static double twin_defect(const struct rig *r, const double *x, const double *y)
{
    double *Ax = doubles(r->samples), *Aty = doubles(r->voxels);
    twin_forward(&r->model, r->inside, r->inside_count, x, Ax);
    twin_back(&r->model, r->inside, r->inside_count, y, NULL, 1, Aty);
    double result = defect(Ax, y, r->samples, x, Aty, r->voxels);
    free(Ax);
    free(Aty);
    return result;
}

/* MBIRJAX's tap windows may clip: forward and back are then not adjoint, and must not be so by the
 * same amount. x > 0: a random sign would hide the lost entries. */
static void check_adjoint(struct rig *r, const struct test_case *c, void *context)
{
    float *x = random_floats(4, 0, 1, r->voxels), *y = sinogram_of(r);
    float *Ax = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    float *Aty = rig_back(r, rig_inside(r), y, NULL, SINO_CHANNELS_FASTEST, 1, NULL);
    double *x64 = widen(x, r->voxels), *y64 = widen(y, r->samples);
    double *Ax64 = widen(Ax, r->samples), *Aty64 = widen(Aty, r->voxels);
    double found = defect(Ax64, y64, r->samples, x64, Aty64, r->voxels), expected = 0;
    assert_int_equal(twin_is_adjoint(&r->model, r->inside, r->inside_count), !c->clips);
    if (c->clips) {
        expected = twin_defect(r, x64, y64);
        print_message("%s: clipped tap windows, defect %.3g, of the twin %.3g\n", r->name, found,
                      expected);
        assert_true(fabs(expected) > 1e-5); /* else the case shows nothing */
    }
    worst_note(context, r->name, fabs(found - expected));
    free(x);
    free(y);
    free(Ax);
    free(Aty);
    free(x64);
    free(y64);
    free(Ax64);
    free(Aty64);
}

static void back_is_the_transpose_of_forward(void **state)
{
    (void)state;
    struct worst w = {.what = "<Ax, y> - <x, A'y>", .limit = 1e-6};
    for_each_case(check_adjoint, &w);
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_equals_its_twin),
        cmocka_unit_test(back_equals_its_twin),
        cmocka_unit_test(back_is_the_transpose_of_forward),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
