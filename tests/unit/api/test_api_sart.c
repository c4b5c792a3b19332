/* links: tp_api */
/* tomoprof_sart: what it takes and refuses. operators/test_sart compares results with a slow twin. */
#include <math.h>

#include "tests/unit/api/api_case.h"

enum { VIEWS = 3, ROWS = 2, CHANNELS = 12 };

struct sart_arrays {
    struct api_case a;
    double y[VIEWS * ROWS * CHANNELS], x[CHANNELS * CHANNELS * ROWS], angles[VIEWS];
    tomoprof_array ay, ax;
    tomoprof_sart_options o;
};

static void arrays_open(struct sart_arrays *s)
{
    *s = (struct sart_arrays){.o = TOMOPROF_SART_OPTIONS};
    api_open(&s->a, "par_plain_odd");
    for (int i = 0; i < VIEWS * ROWS * CHANNELS; i++)
        s->y[i] = 1 + i % 7;
    for (int v = 0; v < VIEWS; v++)
        s->angles[v] = v;
    s->ay = (tomoprof_array)TOMOPROF_ARRAY(s->y, TOMOPROF_FLOAT64, VIEWS, ROWS, CHANNELS);
    s->ax = (tomoprof_array)TOMOPROF_ARRAY(s->x, TOMOPROF_FLOAT64, CHANNELS, CHANNELS, ROWS);
}

#define sart_fails(s, part)                                                                        \
    api_fails(&(s)->a, TOMOPROF_BAD_ARGUMENT, part,                                                \
              tomoprof_sart((s)->a.c, &(s)->ay, (s)->angles, &(s)->o, &(s)->ax))

/* Two passes at once are one pass after the other, from the volume that is written. */
static void initial_is_where_it_begins(void **state)
{
    (void)state;
    static const int64_t twice[] = {0, 1, 2, 0, 1, 2};
    struct sart_arrays s;
    double first[CHANNELS * CHANNELS * ROWS];
    arrays_open(&s);
    memset(s.x, 0x7f, sizeof s.x);
    api_ok(&s.a, tomoprof_sart(s.a.c, &s.ay, s.angles, NULL, &s.ax));
    assert_true(s.x[(CHANNELS / 2 * CHANNELS + CHANNELS / 2) * ROWS] > 0 && s.x[0] == 0);
    s.o.initial = &s.ax;
    api_ok(&s.a, tomoprof_sart(s.a.c, &s.ay, s.angles, &s.o, &s.ax));
    memcpy(first, s.x, sizeof first);
    s.o.initial = NULL;
    s.o.order = twice;
    s.o.order_count = 6;
    api_ok(&s.a, tomoprof_sart(s.a.c, &s.ay, s.angles, &s.o, &s.ax));
    assert_memory_equal(first, s.x, sizeof first);
    api_close(&s.a);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    const double backwards[] = {2, 1}, nothing[] = {0, NAN, 0};
    const int64_t order[] = {0, 3};
    struct sart_arrays s;
    arrays_open(&s);
    s.o.clip = backwards;
    sart_fails(&s, "clip is 2 to 1");
    s.o.clip = NULL;
    s.o.shifts = nothing;
    sart_fails(&s, "shifts[1] is nan");
    s.o.shifts = NULL;
    s.o.order_count = 2;
    sart_fails(&s, "order_count=2");
    s.o.order = order;
    sart_fails(&s, "order[1] is 3; expected 0 to 2");
    s.o.order_count = 1;
    s.o.relaxation = INFINITY;
    sart_fails(&s, "relaxation=inf");
    s.o.relaxation = 1;
    s.angles[2] = -INFINITY;
    sart_fails(&s, "angles[2] is -inf");
    s.angles[2] = 0;
    s.ax.shape[1] = CHANNELS - 1;
    sart_fails(&s, "expected (12, 12, 2), that of the result");
    s.ax.shape[1] = CHANNELS;
    s.ax.type = TOMOPROF_FLOAT32;
    sart_fails(&s, "x has the type float32; expected float64");
    s.ay.type = TOMOPROF_INT16;
    sart_fails(&s, "TOMOPROF_FLOAT32 or TOMOPROF_FLOAT64");
    s.ay.type = s.ax.type = TOMOPROF_FLOAT64;
    s.ay.shape[2] = 40000;
    sart_fails(&s, "y has 40000 channels; expected at most 32767");
    s.ay.shape[2] = CHANNELS;
    api_fails(&s.a, TOMOPROF_BAD_ARGUMENT, "angles is NULL",
              tomoprof_sart(s.a.c, &s.ay, NULL, &s.o, &s.ax));
    api_fails(&s.a, TOMOPROF_BAD_ARGUMENT, "y is NULL",
              tomoprof_sart(s.a.c, NULL, s.angles, &s.o, &s.ax));
    for (int i = 0; i < CHANNELS * CHANNELS * ROWS; i++)
        assert_true(s.x[i] == 0);
    api_ok(&s.a, tomoprof_sart(s.a.c, &s.ay, s.angles, &s.o, &s.ax));
    api_close(&s.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(initial_is_where_it_begins),
                                       cmocka_unit_test(wrong_arguments_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
