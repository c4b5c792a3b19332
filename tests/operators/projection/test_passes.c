/* links: tp_operators */
/* The two passes of VCD over the error sinogram, which never store a projection, against forward
 * and back projection: each sample is counted, and moved, once. */
#include "tests/operators/harness.h"

#define ALPHA .7

struct pass {
    struct pixel_set pixels;  /* every third one inside, packed */
    float *delta, *e, *w, *d; /* d = A delta */
    struct buffer on_delta, on_e, on_w;
};

static void open_pass(struct rig *r, struct pass *p)
{
    const int64_t slices = r->model.volume.slices, count = (r->inside_count + 2) / 3;
    int32_t *list = calloc((size_t)count + 1, sizeof *list);
    assert_non_null(list);
    for (int64_t q = 0; q < count; q++)
        list[q] = r->inside[3 * q];
    p->pixels = (struct pixel_set){.indices = list, .count = count, .packed = 1};
    p->delta = random_floats(1, -1, 1, count * slices);
    p->e = random_floats(2, -1, 1, r->samples);
    p->w = random_floats(3, .5, 1.5, r->samples);
    p->d = rig_forward(r, p->pixels, p->delta, SINO_ROWS_FASTEST);
    p->on_delta = rig_push(r, p->delta, count * slices);
    p->on_e = rig_push(r, p->e, r->samples);
    p->on_w = rig_push(r, p->w, r->samples);
}

static void close_pass(struct rig *r, struct pass *p)
{
    r->be->ops->release(r->be, &p->on_delta);
    r->be->ops->release(r->be, &p->on_w);
    free((void *)p->pixels.indices);
    free(p->delta);
    free(p->e);
    free(p->w);
    free(p->d);
}

static double relative(double found, double expected, double scale)
{
    return scale > 0 ? fabs(found - expected) / scale : fabs(found - expected);
}

static void check_sums(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    struct pass p;
    struct vcd_sums sums;
    double linear = 0, quadratic = 0, ee = 0;
    open_pass(r, &p);
    for (int64_t i = 0; i < r->samples; i++) {
        const double wd = (double)p.w[i] * (double)p.d[i];
        linear += wd * (double)p.e[i];
        quadratic += wd * (double)p.d[i];
        ee += (double)p.w[i] * (double)p.e[i] * (double)p.e[i];
    }
    assert_ok(r->be->ops->forward_dots(r->be, r->projector, &p.pixels, &p.on_delta, &p.on_e,
                                       &p.on_w, &sums));
    worst_note(context, r->name, relative(sums.quadratic, quadratic, quadratic));
    worst_note(context, r->name, relative(sums.linear, linear, sqrt(quadratic * ee)));
    r->be->ops->release(r->be, &p.on_e);
    close_pass(r, &p);
}

static void sums_are_those_of_the_projection(void **state)
{
    (void)state;
    struct worst w = {.what = "sums of a pass against the projection's", .limit = 1e-6};
    for_each_case(check_sums, &w);
    worst_check(&w);
}

static void check_update(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    struct pass p;
    open_pass(r, &p);
    const struct pixel_set inside = rig_inside(r);
    const struct vcd_move move = {p.pixels, &p.on_delta, ALPHA};
    float *zeros = floats(r->voxels);
    struct buffer x = rig_push(r, zeros, r->voxels);
    assert_ok(r->be->ops->update_back(r->be, r->projector, &move, &p.on_e, &p.on_w, &inside, &x));
    float *e = rig_pull(r, &p.on_e, r->samples), *back = rig_pull(r, &x, r->voxels);
    double *moved = doubles(r->samples);
    for (int64_t i = 0; i < r->samples; i++)
        moved[i] = (double)p.e[i] - ALPHA * (double)p.d[i];
    worst_note(context, r->name, relative_l2(e, moved, r->samples));
    float *alone = rig_back(r, inside, e, p.w, SINO_ROWS_FASTEST, 1, NULL);
    double *expected = widen(alone, r->voxels);
    worst_note(context, r->name, relative_l2(back, expected, r->voxels));
    free(zeros);
    free(e);
    free(back);
    free(moved);
    free(alone);
    free(expected);
    close_pass(r, &p);
}

static void an_update_moves_every_sample_once(void **state)
{
    (void)state;
    struct worst w = {.what = "error and gradient of a pass against projections", .limit = 1e-6};
    for_each_case(check_update, &w);
    worst_check(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_projection),
        cmocka_unit_test(an_update_moves_every_sample_once),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
