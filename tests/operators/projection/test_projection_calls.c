/* links: tp_operators */
/* The arguments of forward and back: lists of pixels, packed arrays, the order of sinograms,
 * weights and ones, and what work a call declares. */
#include "tests/operators/harness.h"

/* A third of the pixels inside, shuffled, the first of them twice; `indices` is malloc'ed. */
static struct pixel_set some_pixels(const struct rig *r, int packed)
{
    int64_t count = r->inside_count / 3;
    int32_t *list = calloc((size_t)count + 2, sizeof *list);
    assert_non_null(list);
    for (int64_t q = 0; q < count; q++)
        list[q] = r->inside[(q * 3 + 1) % r->inside_count];
    for (int64_t q = count - 1; q > 0; q--) {
        int64_t j = q * 7919 % (q + 1);
        int32_t t = list[q];
        list[q] = list[j];
        list[j] = t;
    }
    if (count > 0)
        list[count++] = list[0];
    return (struct pixel_set){.indices = list, .count = count, .packed = packed};
}

/* Packed cylinders of a list, and the volume that holds their sum (a repeated pixel adds up). */
static void cylinders_of(const struct rig *r, struct pixel_set pixels, float **packed,
                         float **volume)
{
    int64_t slices = r->model.volume.slices;
    *packed = random_floats(5, -1, 1, pixels.count * slices);
    *volume = floats(r->voxels);
    for (int64_t o = 0; o < pixels.count * slices; o++)
        (*volume)[pixels.indices[o / slices] * slices + o % slices] += (*packed)[o];
}

/* | a - b | / | b | */
static double distance(const float *a, const float *b, int64_t n)
{
    double *wide = widen(b, n), result = relative_l2(a, wide, n);
    free(wide);
    return result;
}

static void check_packed_forward(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *packed, *volume;
    struct pixel_set list = some_pixels(r, 1);
    cylinders_of(r, list, &packed, &volume);
    float *sparse = rig_forward(r, list, packed, SINO_CHANNELS_FASTEST);
    float *dense = rig_forward(r, rig_inside(r), volume, SINO_CHANNELS_FASTEST);
    worst_note(context, r->name, distance(sparse, dense, r->samples));
    free((void *)list.indices);
    free(packed);
    free(volume);
    free(sparse);
    free(dense);
}

static void packed_forward_equals_dense(void **state)
{
    (void)state;
    struct worst w = {.what = "packed forward against dense", .limit = 2e-6};
    for_each_case(check_packed_forward, &w);
    worst_check(&w);
}

static void check_packed_back(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    int64_t slices = r->model.volume.slices;
    struct pixel_set list = some_pixels(r, 1);
    float *y = random_floats(6, 0, 1, r->samples), *expected = floats(list.count * slices);
    float *dense = rig_back(r, rig_inside(r), y, NULL, SINO_CHANNELS_FASTEST, 1, NULL);
    for (int64_t o = 0; o < list.count * slices; o++)
        expected[o] = dense[list.indices[o / slices] * slices + o % slices];
    float *noise = random_floats(7, 1, 2, list.count * slices); /* must be overwritten */
    float *sparse = rig_back(r, list, y, NULL, SINO_CHANNELS_FASTEST, 1, noise);
    worst_note(context, r->name, distance(sparse, expected, list.count * slices));
    free((void *)list.indices);
    free(y);
    free(expected);
    free(dense);
    free(noise);
    free(sparse);
}

static void packed_back_equals_dense(void **state)
{
    (void)state;
    struct worst w = {.what = "packed back against dense", .limit = 2e-6};
    for_each_case(check_packed_back, &w);
    worst_check(&w);
}

/* A list without `packed` addresses a volume array; no list means all pixels. */
static void check_lists(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *x = random_floats(8, -1, 1, r->voxels), *y = random_floats(6, 0, 1, r->samples);
    int32_t *all = calloc((size_t)r->pixels, sizeof *all);
    assert_non_null(all);
    for (int64_t p = 0; p < r->pixels; p++)
        all[p] = (int32_t)p;
    struct pixel_set listed = {.indices = all, .count = r->pixels};
    struct pixel_set implied = {.count = r->pixels};
    float *Ax = rig_forward(r, listed, x, SINO_CHANNELS_FASTEST);
    float *Ax_implied = rig_forward(r, implied, x, SINO_CHANNELS_FASTEST);
    float *Aty = rig_back(r, listed, y, NULL, SINO_CHANNELS_FASTEST, 1, NULL);
    float *Aty_implied = rig_back(r, implied, y, NULL, SINO_CHANNELS_FASTEST, 1, NULL);
    worst_note(context, r->name, distance(Ax_implied, Ax, r->samples));
    worst_note(context, r->name, distance(Aty_implied, Aty, r->voxels));
    free(x);
    free(y);
    free(all);
    free(Ax);
    free(Ax_implied);
    free(Aty);
    free(Aty_implied);
}

static void no_list_means_all_pixels(void **state)
{
    (void)state;
    struct worst w = {.what = "no list against a list of all pixels", .limit = 2e-6};
    for_each_case(check_lists, &w);
    worst_check(&w);
}

static void check_empty(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    for (int packed = 0; packed < 2; packed++) {
        static const int32_t none[1];
        struct pixel_set empty = {.indices = none, .packed = packed};
        float *x = floats(r->voxels);
        float *y = rig_forward(r, empty, x, SINO_CHANNELS_FASTEST);
        for (int64_t i = 0; i < r->samples; i++)
            *(int *)context += y[i] != 0;
        float *back = rig_back(r, empty, y, NULL, SINO_CHANNELS_FASTEST, 1, x);
        free(x);
        free(y);
        free(back);
    }
}

static void empty_list_projects_to_zeros(void **state)
{
    (void)state;
    int wrong = 0;
    for_each_case(check_empty, &wrong);
    assert_int_equal(wrong, 0);
}

/* (V, Mr, Nc) -> (V, Nc, Mr) */
static float *rows_fastest(const struct rig *r, const float *y)
{
    const struct scan *s = &r->model.scan;
    float *out = floats(r->samples);
    for (int64_t i = 0; i < r->samples; i++) {
        int64_t n = i % s->channels, m = i / s->channels % s->rows, v = i / (s->channels * s->rows);
        out[(v * s->channels + n) * s->rows + m] = y[i];
    }
    return out;
}

static void assert_same_bits(const struct rig *r, const char *what, const float *a, const float *b,
                             int64_t n)
{
    if (memcmp(a, b, (size_t)n * sizeof *a) != 0)
        fail_msg("%s: %s differs", r->name, what);
}

/* The same numbers are computed, only stored elsewhere: same bits. */
static void check_orders(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *x = random_floats(8, -1, 1, r->voxels), *y = random_floats(6, 0, 1, r->samples);
    float *w = random_floats(9, .5, 1.5, r->samples);
    float *y_rows = rows_fastest(r, y), *w_rows = rows_fastest(r, w);
    float *Ax = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    float *Ax_rows = rig_forward(r, rig_inside(r), x, SINO_ROWS_FASTEST);
    float *moved = rows_fastest(r, Ax);
    assert_same_bits(r, "forward with rows fastest", moved, Ax_rows, r->samples);
    float *Aty = rig_back(r, rig_inside(r), y, w, SINO_CHANNELS_FASTEST, 1, NULL);
    float *Aty_rows = rig_back(r, rig_inside(r), y_rows, w_rows, SINO_ROWS_FASTEST, 1, NULL);
    assert_same_bits(r, "back with rows fastest", Aty, Aty_rows, r->voxels);
    (*(int *)context)++;
    float *const all[] = {x, y, w, y_rows, w_rows, Ax, Ax_rows, moved, Aty, Aty_rows};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void orders_of_sinograms_agree(void **state)
{
    (void)state;
    int count = 0;
    for_each_case(check_orders, &count);
    assert_true(count >= cases_wanted());
}

static void check_reorder(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *y = random_floats(6, 0, 1, r->samples), *expected = rows_fastest(r, y);
    struct buffer in = rig_push(r, y, r->samples), out = rig_push(r, y, r->samples);
    struct sinogram channels = {&in, SINO_CHANNELS_FASTEST}, rows = {&out, SINO_ROWS_FASTEST};
    assert_ok(r->be->ops->sino_reorder(r->be, &r->model.scan, channels, rows));
    assert_ok(r->be->ops->zero(r->be, &in));
    assert_ok(r->be->ops->sino_reorder(r->be, &r->model.scan, rows, channels));
    float *there = rig_pull(r, &out, r->samples), *back = rig_pull(r, &in, r->samples);
    assert_same_bits(r, "reordered sinogram", there, expected, r->samples);
    assert_same_bits(r, "sinogram reordered twice", back, y, r->samples);
    (*(int *)context)++;
    free(y);
    free(expected);
    free(there);
    free(back);
}

static void reordering_moves_every_sample(void **state)
{
    (void)state;
    int count = 0;
    for_each_case(check_reorder, &count);
    assert_true(count >= cases_wanted());
}

/* Weights given to back = multiplied before; none = ones, for y and for w; both powers. */
static void check_weights(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *y = random_floats(6, 0, 1, r->samples), *w = random_floats(9, .5, 1.5, r->samples);
    float *ones = floats(r->samples), *wy = floats(r->samples);
    for (int64_t i = 0; i < r->samples; i++) {
        ones[i] = 1;
        wy[i] = w[i] * y[i];
    }
    const struct pixel_set inside = rig_inside(r);
    const enum sino_order order = SINO_CHANNELS_FASTEST;
    for (int power = 1; power <= 2; power++) {
        float *fused = rig_back(r, inside, y, w, order, power, NULL);
        float *before = rig_back(r, inside, wy, NULL, order, power, NULL);
        worst_note(context, r->name, distance(fused, before, r->voxels));
        float *only_w = rig_back(r, inside, NULL, w, order, power, NULL);
        float *w_times_1 = rig_back(r, inside, ones, w, order, power, NULL);
        assert_same_bits(r, "y NULL", only_w, w_times_1, r->voxels);
        float *none = rig_back(r, inside, NULL, NULL, order, power, NULL);
        float *all_ones = rig_back(r, inside, ones, ones, order, power, NULL);
        assert_same_bits(r, "y and w NULL", none, all_ones, r->voxels);
        float *const all[] = {fused, before, only_w, w_times_1, none, all_ones};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
    free(y);
    free(w);
    free(ones);
    free(wy);
}

static void weights_multiply_and_null_means_ones(void **state)
{
    (void)state;
    struct worst w = {.what = "fused weights against multiplied before", .limit = 1e-6};
    for_each_case(check_weights, &w);
    worst_check(&w);
}

/* At least the input and output cross memory, and as many operations as there are voxels. */
static void check_work(struct rig *r, const struct test_case *c, void *context)
{
    (void)c;
    float *x = floats(r->voxels);
    (void)backend_take_work(r->be);
    float *y = rig_forward(r, rig_inside(r), x, SINO_CHANNELS_FASTEST);
    struct work work = backend_take_work(r->be);
    int64_t values = r->samples + r->inside_count * r->model.volume.slices;
    assert_true(work.bytes_min >= 4.0 * (double)values);
    assert_true(work.flops >= (double)(r->inside_count * r->model.volume.slices));
    (*(int *)context)++;
    free(x);
    free(y);
}

static void forward_declares_its_work(void **state)
{
    (void)state;
    int count = 0;
    for_each_case(check_work, &count);
    assert_true(count >= cases_wanted());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_forward_equals_dense),
        cmocka_unit_test(packed_back_equals_dense),
        cmocka_unit_test(no_list_means_all_pixels),
        cmocka_unit_test(empty_list_projects_to_zeros),
        cmocka_unit_test(orders_of_sinograms_agree),
        cmocka_unit_test(reordering_moves_every_sample),
        cmocka_unit_test(weights_multiply_and_null_means_ones),
        cmocka_unit_test(forward_declares_its_work),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
