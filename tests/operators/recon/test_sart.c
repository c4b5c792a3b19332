/* links: tp_operators */
/* SART beside a slow twin in float64, point by point. pipe/test_instead compares with scikit-image. */
#include <math.h>

#include "host/cpu/common/threads.h"
#include "host/cpu/sart/sart.h"
#include "tests/operators/harness.h"

struct sart_case {
    const char *name;
    int64_t size, views, rows;
    double shift, low, high, relaxation;
};

static const struct sart_case sart_cases[] = {
    {"even", 32, 7, 1, 0, -INFINITY, INFINITY, .15},
    {"odd", 33, 9, 1, 0, -INFINITY, INFINITY, .15},
    {"blocks of rays", 67, 5, 1, 0, -INFINITY, INFINITY, .9},
    {"one view", 24, 1, 1, 0, -INFINITY, INFINITY, 1},
    {"shifts", 30, 8, 1, 1.3, -INFINITY, INFINITY, .15},
    {"beyond the circle", 18, 4, 1, 40, -INFINITY, INFINITY, .15},
    {"clipped", 29, 8, 1, .4, .1, .3, .5},
    {"rows", 20, 5, 3, .25, -1, 1, .15},
    {"size 4", 4, 3, 1, 0, -INFINITY, INFINITY, .15},
    {"size 2", 2, 3, 1, 0, -INFINITY, INFINITY, .15},
    {"size 1", 1, 2, 2, 0, .5, .6, .15},
};
#define SART_CASES (int)(sizeof sart_cases / sizeof *sart_cases)

/* Holds a scan in float64. */
struct sart_scan {
    const struct sart_case *c;
    double *y, *x, *angles, *shifts;
    int64_t *order;
};

static void scan_open(struct sart_scan *s, const struct sart_case *c)
{
    *s = (struct sart_scan){.c = c};
    float *y = random_floats(11, 0, 20, c->views * c->rows * c->size);
    float *x = random_floats(12, 0, 1, c->size * c->size * c->rows);
    s->y = widen(y, c->views * c->rows * c->size);
    s->x = widen(x, c->size * c->size * c->rows);
    s->angles = doubles(c->views);
    s->shifts = doubles(c->views);
    s->order = calloc((size_t)c->views, sizeof *s->order);
    assert_non_null(s->order);
    for (int64_t v = 0; v < c->views; v++) {
        s->angles[v] = (double)(float)(M_PI * (double)v / (double)c->views);
        s->shifts[v] = (double)(float)(c->shift * sin((double)v));
        s->order[v] = (v * 3 + 1) % c->views; /* not all, some twice */
    }
    free(y);
    free(x);
}

static void scan_close(struct sart_scan *s)
{
    free(s->y);
    free(s->x);
    free(s->angles);
    free(s->shifts);
    free(s->order);
}

/* ---- The twin ---- */

struct twin_point {
    int64_t i[4], j[4];
    double weight[4];
};

/* Bilinear weights of point k of 2 n + 1 on a ray; 0 for pixels that count for nothing. */
static struct twin_point twin_point(int64_t size, double angle, double t, double s, int64_t n,
                                    int64_t k)
{
    struct twin_point p;
    const double step = 2 * s / (double)(2 * n), along = s - (double)k * step;
    const double row = along * cos(angle) - t * sin(angle) + (double)(size / 2);
    const double column = along * sin(angle) + t * cos(angle) + (double)(size / 2);
    for (int q = 0; q < 4; q++) {
        p.i[q] = (int64_t)floor(row) + q / 2;
        p.j[q] = (int64_t)floor(column) + q % 2;
        const int inside = p.i[q] > 0 && p.i[q] < size && p.j[q] > 0 && p.j[q] < size;
        p.weight[q] =
            inside ? (1 - fabs(row - (double)p.i[q])) * (1 - fabs(column - (double)p.j[q])) * step
                   : 0;
        if (!inside)
            p.i[q] = p.j[q] = 0;
    }
    return p;
}

static void twin_ray(const struct sart_scan *s, int64_t view, int64_t row, int64_t channel,
                     double *update)
{
    const int64_t size = s->c->size, rows = s->c->rows;
    const double radius = fmax((double)(size / 2 - 1), 0);
    const double t = (double)channel + s->shifts[view] - (double)(size / 2);
    const double half = sqrt(fmax(radius * radius - t * t, 0));
    const int64_t n = (int64_t)ceil(2 * half);
    double sum = 0, norm = 0;
    for (int64_t k = 0; n && k <= 2 * n; k++) {
        const struct twin_point p = twin_point(size, s->angles[view], t, half, n, k);
        for (int q = 0; q < 4; q++) {
            sum += p.weight[q] * s->x[(p.i[q] * size + p.j[q]) * rows + row];
            norm += p.weight[q] * p.weight[q];
        }
    }
    const double sample = s->y[(view * rows + row) * size + channel];
    const double miss = norm > 0 ? (sample - sum) / norm : 0;
    for (int64_t k = 0; n && k <= 2 * n; k++) {
        const struct twin_point p = twin_point(size, s->angles[view], t, half, n, k);
        const double window =
            1 - 0.46164 - 0.46164 * cos(2 * M_PI * (double)k / (double)(2 * n - 1));
        for (int q = 0; q < 4; q++)
            update[p.i[q] * size + p.j[q]] += miss * p.weight[q] * window;
    }
}

static void twin_run(struct sart_scan *s)
{
    const struct sart_case *c = s->c;
    double *update = doubles(c->size * c->size);
    for (int64_t step = 0; step < c->views; step++)
        for (int64_t row = 0; row < c->rows; row++) {
            memset(update, 0, (size_t)(c->size * c->size) * sizeof *update);
            for (int64_t channel = 0; channel < c->size; channel++)
                twin_ray(s, s->order[step], row, channel, update);
            for (int64_t i = 0; i < c->size * c->size; i++) {
                double *x = &s->x[i * c->rows + row];
                *x = fmin(fmax(*x + c->relaxation * update[i], c->low), c->high);
            }
        }
    free(update);
}

/* ---- Ours ---- */

/* x of a scan by `threads` threads: float64, or float32 widened. */
static double *sart_run(const struct sart_scan *s, int wide, int threads)
{
    const struct sart_case *c = s->c;
    const int64_t samples = c->views * c->rows * c->size, voxels = c->size * c->size * c->rows;
    const struct backend_options o = {.threads = threads};
    const struct sart_plan p = {c->views, c->rows,       c->size, s->angles, s->shifts, s->order,
                                c->views, c->relaxation, c->low,  c->high,   wide};
    struct backend *be;
    double *out = doubles(voxels);
    assert_ok(backend_open("cpu", &o, &be));
    if (wide) {
        memcpy(out, s->x, (size_t)voxels * sizeof *out);
        assert_ok(cpu_sart(be, &p, s->y, out));
    } else {
        float *y = floats(samples), *x = floats(voxels);
        for (int64_t i = 0; i < samples; i++)
            y[i] = (float)s->y[i];
        for (int64_t i = 0; i < voxels; i++)
            x[i] = (float)s->x[i];
        assert_ok(cpu_sart(be, &p, y, x));
        for (int64_t i = 0; i < voxels; i++)
            out[i] = (double)x[i];
        free(y);
        free(x);
    }
    be->ops->close(be);
    return out;
}

static double sart_distance(const double *a, const double *b, int64_t n)
{
    double error = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        error += (a[i] - b[i]) * (a[i] - b[i]);
        all += b[i] * b[i];
    }
    return sqrt(error / (all > 0 ? all : 1));
}

static void both_types_equal_the_twin(void **state)
{
    (void)state;
    struct worst wide = {"float64 beside the twin", 1e-13, 0, "", 0, 0};
    struct worst narrow = {"float32 beside the twin", 1e-5, 0, "", 0, 0};
    for (int i = 0; i < SART_CASES; i++) {
        struct sart_scan s;
        scan_open(&s, &sart_cases[i]);
        const int64_t voxels = s.c->size * s.c->size * s.c->rows;
        double *x64 = sart_run(&s, 1, 2), *x32 = sart_run(&s, 0, 2);
        twin_run(&s);
        worst_note(&wide, s.c->name, sart_distance(x64, s.x, voxels));
        worst_note(&narrow, s.c->name, sart_distance(x32, s.x, voxels));
        free(x64);
        free(x32);
        scan_close(&s);
    }
    worst_check(&wide);
    worst_check(&narrow);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    const int64_t least = cpu_team_least;
    cpu_team_least = 1;
    for (int i = 0; i < SART_CASES; i++)
        for (int wide = 0; wide < 2; wide++) {
            struct sart_scan s;
            scan_open(&s, &sart_cases[i]);
            const size_t bytes = (size_t)(s.c->size * s.c->size * s.c->rows) * sizeof(double);
            double *one = sart_run(&s, wide, 1), *three = sart_run(&s, wide, 3);
            assert_memory_equal(one, three, bytes);
            free(one);
            free(three);
            scan_close(&s);
        }
    cpu_team_least = least;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_types_equal_the_twin),
                                       cmocka_unit_test(threads_change_no_bit)};
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
