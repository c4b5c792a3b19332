/* links: tp_api */
/* Steps of tomoprof.h by their names. */
#include <math.h>

#include "tests/unit/api/api_case.h"

static void volume_steps_follow_their_settings(void **state)
{
    (void)state;
    struct api_case a;
    const int64_t n[3] = {2, 3, 4};
    int64_t shape[3];
    tomoprof_type type;
    float in[24], out[24];
    uint8_t bytes[24];
    api_open(&a, "par_plain_odd");
    for (int i = 0; i < 24; i++)
        in[i] = (float)(i % 5);
    const tomoprof_array from = api_array(in, n);
    tomoprof_array to = api_array(out, n);
    api_ok(&a, tomoprof_step(a.c, "volume_flip", "axes=0,2", &from, NULL, &to));
    for (int i = 0; i < 24; i++)
        assert_true(out[i] == in[(1 - i / 12) * 12 + i % 12 / 4 * 4 + 3 - i % 4]);
    api_ok(&a, tomoprof_step_shape(a.c, "volume_rot90", "axes=0,1 k=1", &from, shape, &type));
    assert_true(shape[0] == 3 && shape[1] == 2 && shape[2] == 4 && type == TOMOPROF_FLOAT32);
    api_ok(&a, tomoprof_step(a.c, "volume_rescale", "min=0 max=200", &from, NULL, &to));
    assert_near(out[4], 200, 1e-3);

    api_ok(&a, tomoprof_step_shape(a.c, "volume_cast", "dtype=u8", &from, shape, &type));
    assert_int_equal(type, TOMOPROF_UINT8);
    to = api_array(bytes, n);
    to.type = TOMOPROF_UINT8;
    api_ok(&a, tomoprof_step(a.c, "volume_cast", "dtype=u8", &from, NULL, &to));
    for (int i = 0; i < 24; i++)
        assert_int_equal(bytes[i], i % 5);
    to = api_array(out, n);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "`min=low`: a finite number",
              tomoprof_step(a.c, "volume_rescale", "min=low", &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "out has the type float32; expected uint8",
              tomoprof_step(a.c, "volume_cast", "dtype=u8", &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "takes no `colour`",
              tomoprof_step(a.c, "volume_flip", "colour=red", &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "out has the shape (2, 3, 4); expected (3, 2, 4)",
              tomoprof_step(a.c, "volume_rot90", NULL, &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "no such step",
              tomoprof_step(a.c, "volume_save_nii", NULL, &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "no such step",
              tomoprof_step(a.c, NULL, NULL, &from, NULL, &to));
    api_close(&a);
}

static void view_steps_work_on_any_type(void **state)
{
    (void)state;
    struct api_case a;
    const int64_t n[3] = {4, 1, 3}, pixels[3] = {3, 1, 3};
    uint16_t counts[12];
    float out[12], frames[9] = {10, 10, 10, 110, 210, 310, 110, 210, 310};
    int64_t shape[3];
    tomoprof_type type;
    api_open(&a, "par_plain_odd");
    for (int i = 0; i < 12; i++)
        counts[i] = (uint16_t)(10 + 50 * (1 + i % 3));
    tomoprof_array from = api_array(counts, n), to = api_array(out, n),
                   with = api_array(frames, pixels);
    from.type = TOMOPROF_UINT16;
    api_ok(&a, tomoprof_step(a.c, "correct_flat_field", NULL, &from, &with, &to));
    for (int i = 0; i < 12; i++)
        assert_near(out[i], 0.5, 1e-6);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "frames is NULL",
              tomoprof_step(a.c, "correct_flat_field", NULL, &from, NULL, &to));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "frames is not read",
              tomoprof_step(a.c, "minus_log", NULL, &from, &with, &to));
    with.shape[0] = 2;
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "frames has the shape (2, 1, 3)",
              tomoprof_step(a.c, "correct_flat_field", NULL, &from, &with, &to));
    api_ok(&a, tomoprof_step(a.c, "minus_log", NULL, &from, NULL, &to));
    assert_near(out[0], -log(60), 1e-4);
    api_ok(&a,
           tomoprof_step_shape(a.c, "join_half_turns", "overlap=1 end=last", &from, shape, &type));
    assert_true(shape[0] == 2 && shape[1] == 1 && shape[2] == 5);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "type is NULL",
              tomoprof_step_shape(a.c, "minus_log", NULL, &from, shape, NULL));
    api_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volume_steps_follow_their_settings),
        cmocka_unit_test(view_steps_work_on_any_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
