/* links: tp_api pthread */
/* How much work a call does between two looks at the wish to end: each call that may last. One
 * thread, so that a look is of all the work. TP_LOOKS=256: prints the CPU time between two looks
 * instead, of that size; times do not decide about pass or fail. */
#include <time.h>

#include "host/api/api.h"
#include "tests/unit/api/long_calls.h"

#define P "parallel"
#define C "cone"
static const struct {
    struct long_row row;
    int least; /* looks of a call, where its work is not declared; 0: a few ms at 256 */
} rows[] = {{{P, "", call_forward, TO_SINOGRAM}, 1},
            {{P, "", call_back, TO_VOLUME}, 1},
            {{P, "", call_hessian, TO_VOLUME}, 1},
            {{P, "", call_filter, TO_SINOGRAM}, 1},
            {{P, "0", call_direct, TO_VOLUME}, 1},
            {{P, "2", call_direct, TO_VOLUME}, 1},
            {{P, "", call_recon, TO_VOLUME}, 1},
            {{P, "", call_prox, TO_VOLUME}, 1},
            {{P, "0.05", call_denoise, TO_VOLUME}, 1},
            {{P, "0", call_denoise, TO_VOLUME}, 128},
            {{P, "", call_median, TO_VOLUME}, 1},
            {{P, "", call_sart, TO_VOLUME}, 1},
            {{P, "remove_outliers", call_step, TO_SINOGRAM}, 1},
            {{P, "normalise_air", call_step, TO_SINOGRAM}, 1},
            {{P, "retrieve_phase", call_step, TO_SINOGRAM}, 1},
            {{P, "minus_log", call_step, TO_SINOGRAM}, 1},
            {{P, "correct_hardening", call_step, TO_SINOGRAM}, 1},
            {{P, "correct_tilt", call_step, TO_SINOGRAM}, 1},
            {{P, "remove_stripes_wavelet", call_step, TO_SINOGRAM}, 1},
            {{P, "remove_stripes_sorting", call_step, TO_SINOGRAM}, 1},
            {{P, "volume_z_norm", call_volume_step, TO_VOLUME}, 1},
            {{P, "volume_rescale", call_volume_step, TO_VOLUME}, 1},
            {{P, "volume_flip_all", call_volume_step, TO_VOLUME}, 1},
            {{P, "volume_resample_linear", call_resample, TO_VOLUME}, 1},
            {{P, "volume_resample_nearest", call_resample, TO_VOLUME}, 1},
            {{P, "x", call_phantom, TO_VOLUME}, 128},
            {{P, "y", call_phantom, TO_SINOGRAM}, 128},
            {{P, "", call_noise, TO_SINOGRAM}, 8},
            {{P, "transmission", call_weights, TO_SINOGRAM}, 1},
            {{P, "", call_metal, TO_SINOGRAM}, 64},
            {{P, "", call_sigmas, TO_SINOGRAM}, 128},
            {{P, "random", call_partition, TO_VOLUME}, 0},
            {{P, "grid", call_partition, TO_VOLUME}, 0},
            {{P, "blue_noise", call_partition, TO_VOLUME}, 0},
            {{P, "registration", call_center, TO_VOLUME}, 0},
            {{P, "entropy", call_center, TO_VOLUME}, 1},
            {{P, "symmetry", call_center, TO_VOLUME}, 1},
            {{C, "", call_forward, TO_SINOGRAM}, 1},
            {{C, "", call_back, TO_VOLUME}, 1},
            {{C, "", call_hessian, TO_VOLUME}, 1},
            {{C, "", call_filter, TO_SINOGRAM}, 1},
            {{C, "0", call_direct, TO_VOLUME}, 1},
            {{C, "1", call_direct, TO_VOLUME}, 1},
            {{C, "", call_recon, TO_VOLUME}, 1},
            {{C, "", call_prox, TO_VOLUME}, 1},
            {{C, "x", call_metal, TO_SINOGRAM}, 64},
            {{C, "", call_sigmas, TO_SINOGRAM}, 128}};
#define ROWS (int)(sizeof rows / sizeof *rows)

struct looks {
    const struct backend *be;
    int64_t count, since;  /* looks; those since the work was declared last */
    double declared, most; /* work; the most of an operation for each of its looks */
    double last, longest;  /* CPU seconds */
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Operations declare their work when they have done it. */
static void looks_measure(struct looks *s)
{
    const double all = s->be->declared.flops + s->be->declared.bytes_min, now = cpu_now();
    if (all > s->declared)
        s->most = fmax(s->most, (all - s->declared) / (double)(s->since + 1));
    if (all > s->declared)
        s->since = 0;
    s->declared = all;
    s->longest = fmax(s->longest, now - s->last);
    s->last = now;
}

static void looks_take(void *looker)
{
    struct looks *s = looker;
    looks_measure(s);
    s->count++;
    s->since++;
}

static struct looks looks_of(const struct long_row *row, int n)
{
    struct long_case l;
    long_open(&l, row, n, 1);
    struct backend *be = l.a.c->be;
    struct looks s = {.be = be};
    be->look = looks_take;
    be->looker = &s;
    be->declared = (struct work){0};
    const double began = s.last = cpu_now();
    api_ok(&l.a, row->call(&l, row->name));
    looks_measure(&s);
    s.last -= began;
    long_close(&l);
    return s;
}

#define SIZE      128
#define WORK_MOST 2.5e7 /* operations and bytes: some 5 ms */

static void looks_are_as_many_as_the_work(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct long_row *row = &rows[i].row;
        const struct looks s = looks_of(row, SIZE);
        if (s.most > WORK_MOST || s.count < rows[i].least)
            fail_msg("row %d (%s %s): %lld looks, %.3g of work between two", i, row->geometry,
                     row->name, (long long)s.count, s.most);
    }
}

static void looks_print(int n)
{
    printf("| row | n | looks | work of a look | longest, ms | all, ms |\n");
    for (int i = 0; i < ROWS; i++) {
        const struct looks s = looks_of(&rows[i].row, n);
        printf("| %d %s %s | %d | %lld | %.2g | %.1f | %.0f |\n", i, rows[i].row.geometry,
               rows[i].row.name, n, (long long)s.count, s.most, 1e3 * s.longest, 1e3 * s.last);
        fflush(stdout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(looks_are_as_many_as_the_work)};
    if (getenv("TP_LOOKS")) {
        looks_print(atoi(getenv("TP_LOOKS")));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
