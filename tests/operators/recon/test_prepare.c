/* links: tp_operators */
/* Steps on views on every back end against float64 twins at odd sizes, and against what published
 * programs made of the same views (tests/data/prepare). */
#include <complex.h>
#include <stdio.h>

#include "host/backend/prepare.h"
#include "base/memory.h"
#include "host/store/format/npy.h"
#include "tests/operators/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The result of one back end, malloc'ed. */
static float *apply(const char *backend, const struct prepare_step *s, const float *frames,
                    const float *x)
{
    struct rig r = {0};
    const int64_t n = prepare_samples(s->out);
    assert_ok(backend_open(backend, &(struct backend_options){.threads = 2}, &r.be));
    float *noise = random_floats(9, 5, 6, n); /* must be overwritten */
    struct buffer in = rig_push(&r, x, prepare_samples(s->in)), f = {0};
    struct buffer out = rig_push(&r, noise, n);
    if (frames)
        f = rig_push(&r, frames, 3 * s->in[1] * s->in[2]);
    assert_ok(r.be->ops->prepare_step(r.be, s, frames ? &f : NULL, &in, &out));
    assert_near(r.be->declared.bytes_min, prepare_step_bytes(s), 0);
    assert_int_equal(r.be->ops->prepare_step(r.be, s, frames ? &f : NULL, &in, &in), ERR_INTERNAL);
    r.be->ops->release(r.be, &in);
    if (frames)
        r.be->ops->release(r.be, &f);
    float *found = rig_pull(&r, &out, n);
    free(noise);
    backend_close(r.be);
    return found;
}

static double at(const struct prepare_step *s, const float *x, int64_t v, int64_t r, int64_t c)
{
    return (double)x[(v * s->in[1] + r) * s->in[2] + c];
}

static int64_t mirrored(int64_t i, int64_t n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double outlier(const struct prepare_step *s, const float *x, int64_t v, int64_t r, int64_t c)
{
    double near[49], m, here = at(s, x, v, r, c);
    int n = 0;
    for (int i = -s->size / 2; i <= s->size / 2; i++)
        for (int k = -s->size / 2; k <= s->size / 2; k++) {
            near[n] = at(s, x, v, mirrored(r + i, s->in[1]), mirrored(c + k, s->in[2]));
            n += isfinite(near[n]) ? 1 : 0;
        }
    qsort(near, (size_t)n, sizeof *near, ascending);
    m = n ? near[n / 2] : here;
    const int bright = s->sides & SIDE_BRIGHT && here > m + s->threshold * fabs(m);
    const int dark = s->sides & SIDE_DARK && here < m - s->threshold * fabs(m);
    return bright || dark || !isfinite(here) ? m : here;
}

static double side(const struct prepare_step *s, const float *x, int64_t v, int64_t r,
                   int64_t first, int64_t count)
{
    double sum = 0, n = 0;
    for (int64_t i = 0; i < s->in[1]; i++)
        for (int64_t c = first; c < first + count; c++)
            if (s->whole_view || i == r) {
                sum += at(s, x, v, i, c);
                n++;
            }
    return sum / n;
}

static double air(const struct prepare_step *s, const float *x, int64_t v, int64_t r, int64_t c)
{
    const double a = side(s, x, v, r, 0, s->left);
    const double b = side(s, x, v, r, s->in[2] - s->right, s->right);
    const double from = 0.5 * (double)(s->left - 1);
    const double to = (double)s->in[2] - 1 - 0.5 * (double)(s->right - 1);
    const double share = to > from ? ((double)c - from) / (to - from) : 0;
    const double line = !s->left ? b : !s->right ? a : a + share * (b - a);
    return at(s, x, v, r, c) / line;
}

static double between(const struct prepare_step *s, const float *x, int64_t v, double r, double c)
{
    r = fmax(0, fmin(r, (double)(s->in[1] - 1)));
    c = fmax(0, fmin(c, (double)(s->in[2] - 1)));
    double sum = 0;
    for (int64_t i = 0; i < s->in[1]; i++)
        for (int64_t k = 0; k < s->in[2]; k++)
            sum += fmax(0, 1 - fabs(r - (double)i)) * fmax(0, 1 - fabs(c - (double)k)) *
                   at(s, x, v, i, k);
    return sum;
}

static double joined(const struct prepare_step *s, const float *x, int64_t v, int64_t r, int64_t c)
{
    const double last = (double)(s->in[2] - 1), place = (double)c - ((double)s->in[2] - s->overlap);
    const int64_t other = v + s->out[0];
    const double a = s->end > 0 ? between(s, x, v, (double)r, (double)c)
                                : between(s, x, other, (double)r, last - (double)c);
    const double b = s->end > 0 ? between(s, x, other, (double)r, last - place)
                                : between(s, x, v, (double)r, place);
    const double share = s->overlap > 1 ? fmax(0, fmin(1, place / (s->overlap - 1))) : 0.5;
    return place <= -1 ? a : (double)c > last ? b : a + share * (b - a);
}

/* Returns one sample of a whole turn, the second half of which is the first, mirrored about the
 * centre. */
static double turned(const struct prepare_step *s, const float *x, double center, int64_t v,
                     int64_t c)
{
    const int64_t views = s->in[0], n = s->in[2];
    const double where = 2 * center - (double)c, t = where - floor(where);
    double y[4];
    if (v < views)
        return at(s, x, v, 0, c);
    if (where < 0 || where > (double)(n - 1))
        return at(s, x, 2 * views - 1 - v, 0, c);
    for (int k = 0; k < 4; k++)
        y[k] =
            at(s, x, v - views, 0, (int64_t)fmax(0, fmin((double)(n - 1), floor(where) + k - 1)));
    return y[1] + 0.5 * t * (y[2] - y[0]) + t * t * (y[0] - 2.5 * y[1] + 2 * y[2] - 0.5 * y[3]) +
           t * t * t * (1.5 * (y[1] - y[2]) + 0.5 * (y[3] - y[0]));
}

/* The spectrum by its definition: mean magnitude beside the wedge of an object half as wide. */
static double symmetry(const struct prepare_step *s, const float *x, int64_t trial)
{
    const int64_t height = 2 * s->in[0], n = s->in[2];
    const double center = s->first_center + (double)trial * s->center_step;
    const double drop = fmin(20, floor(0.05 * (double)height));
    double _Complex *line = calloc((size_t)height, sizeof *line);
    double sum = 0;
    for (int64_t c = 2; c <= n / 2; c++) {
        for (int64_t v = 0; v < height; v++) {
            line[v] = 0;
            for (int64_t i = 0; i < n; i++)
                line[v] +=
                    turned(s, x, center, v, i) * cexp(-2i * M_PI * (double)(c * i % n) / (double)n);
        }
        for (int64_t k = -(height - 1) / 2; k <= height / 2; k++) {
            const double along =
                fabs((double)k) * (double)(height - 1) / (double)height / (2 * M_PI);
            double _Complex z = 0;
            if (fabs((double)k) <= drop || (double)c > ceil(along / 0.25))
                continue;
            for (int64_t v = 0; v < height; v++)
                z += line[v] * cexp(-2i * M_PI * (double)(k * v % height) / (double)height);
            sum += cabs(z);
        }
    }
    free(line);
    return sum / (double)(height * n);
}

static double twin(const struct prepare_step *s, const float *frames, const float *x, int64_t v,
                   int64_t r, int64_t c)
{
    const int64_t i = r * s->in[2] + c, frame = s->in[1] * s->in[2];
    const double here =
        s->kind == PREPARE_JOIN || s->kind == PREPARE_SYMMETRY ? 0 : at(s, x, v, r, c);
    double sum = 0;
    switch (s->kind) {
    case PREPARE_OUTLIERS:
        return outlier(s, x, v, r, c);
    case PREPARE_FLAT: {
        const double t = s->drift_first + s->drift_step * (double)v, dark = (double)frames[i];
        const double before = (double)frames[frame + i];
        const double white = before + t * ((double)frames[2 * frame + i] - before);
        return fabs(here - dark) / fabs(white - dark);
    }
    case PREPARE_AIR:
        return air(s, x, v, r, c);
    case PREPARE_LOG:
        return -log(fmax(s->low, fmin(s->high, here)));
    case PREPARE_POLYNOMIAL:
        for (int k = 0; k < PREPARE_COEFFICIENTS; k++)
            sum += s->coefficient[k] * pow(here, k + 1);
        return sum;
    case PREPARE_TILT: {
        const double ym = 0.5 * (double)(s->in[1] - 1), xm = 0.5 * (double)(s->in[2] - 1);
        const double p = (double)c - xm, q = (double)r - ym;
        return between(s, x, v, ym + p * s->sine + q * s->cosine, xm + p * s->cosine - q * s->sine);
    }
    case PREPARE_SYMMETRY:
        return symmetry(s, x, c);
    default:
        return joined(s, x, v, r, c);
    }
}

static void compare(const char *what, const struct prepare_step *s, const float *frames,
                    const float *x, double share)
{
    const int64_t *n = s->out, total = prepare_samples(n);
    double *expected = doubles(total), most = 0;
    for (int64_t i = 0; i < total; i++) {
        expected[i] = twin(s, frames, x, i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
        most = isfinite(expected[i]) ? fmax(most, fabs(expected[i])) : most;
    }
    for (int b = 0; harness_backend(b); b++) {
        float *found = apply(harness_backend(b), s, frames, x);
        for (int64_t i = 0; i < total; i++) {
            const double apart = fabs((double)found[i] - expected[i]);
            if (isfinite(expected[i]) ? !(apart <= share * most) : !isnan(found[i]))
                fail_msg("%s on %s: sample %lld is %.9g, not %.9g", what, harness_backend(b),
                         (long long)i, (double)found[i], expected[i]);
        }
        free(found);
    }
    free(expected);
}

static const int64_t sizes[][3] = {{1, 1, 1},  {2, 3, 5},  {4, 1, 17},
                                   {6, 13, 1}, {4, 9, 33}, {2, 20, 70}};

static struct prepare_step step_of(enum prepare_kind kind, const int64_t size[3])
{
    struct prepare_step s = {.kind = kind};
    memcpy(s.in, size, sizeof s.in);
    memcpy(s.out, size, sizeof s.out);
    return s;
}

static void outliers_become_the_local_median(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int size = 3; size <= PREPARE_WINDOW; size += 2)
            for (int sides = 1; sides <= 3; sides++) {
                struct prepare_step s = step_of(PREPARE_OUTLIERS, sizes[i]);
                const int64_t n = prepare_samples(s.in);
                float *x = random_floats(i + 1, 90, 110, n);
                s.size = size;
                s.sides = sides;
                s.threshold = 0.3;
                for (int64_t k = 0; k < n; k += 11)
                    x[k] = k % 2 ? 1000.0f : 1.0f;
                if (n > 20)
                    x[7] = NAN;
                compare("outliers", &s, NULL, x, 0);
                free(x);
            }
}

static void flat_fields_are_interpolated_in_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct prepare_step s = step_of(PREPARE_FLAT, sizes[i]);
        const int64_t pixels = s.in[1] * s.in[2];
        float *x = random_floats(i, 100, 900, prepare_samples(s.in));
        float *frames = random_floats(i + 50, 1000, 1300, 3 * pixels);
        for (int64_t k = 0; k < pixels; k++)
            frames[k] /= 50;
        if (pixels > 4) /* a dead pixel: no transmission follows from it */
            frames[3] = frames[pixels + 3] = frames[2 * pixels + 3];
        s.drift_step = 1 / (double)s.in[0];
        s.drift_first = 0.5 * s.drift_step;
        compare("flat fields", &s, frames, x, 1e-4);
        free(frames);
        free(x);
    }
}

static void air_logarithm_and_polynomial_equal_their_twins(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        float *x = random_floats(i, 0.2, 1.5, prepare_samples(sizes[i]));
        struct prepare_step s = step_of(PREPARE_AIR, sizes[i]);
        const int64_t sides[][2] = {{1, 1}, {3, 0}, {0, 2}, {2, 4}};
        for (size_t k = 0; k < COUNT(sides); k++)
            for (s.whole_view = 0; s.whole_view < 2; s.whole_view++) {
                s.left = sides[k][0];
                s.right = sides[k][1];
                if (s.left + s.right <= s.in[2])
                    compare("air", &s, NULL, x, 2e-6);
            }
        s = step_of(PREPARE_LOG, sizes[i]);
        s.low = 0.4;
        s.high = 1;
        compare("logarithm", &s, NULL, x, 1e-6);
        s = step_of(PREPARE_POLYNOMIAL, sizes[i]);
        const double coefficient[PREPARE_COEFFICIENTS] = {1, 0.2, -0.3, 0.05, 0, 0.01};
        memcpy(s.coefficient, coefficient, sizeof coefficient);
        compare("polynomial", &s, NULL, x, 1e-6);
        free(x);
    }
}

static void tilted_and_joined_views_equal_their_twins(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        float *x = random_floats(i, -1, 1, prepare_samples(sizes[i]));
        for (double angle = -0.3; angle < 0.5; angle += 0.3) {
            struct prepare_step s = step_of(PREPARE_TILT, sizes[i]);
            s.cosine = cos(angle);
            s.sine = sin(angle);
            compare("tilt", &s, NULL, x, 2e-5);
        }
        const double overlaps[] = {1, 2, 3.25, 4.75};
        for (size_t k = 0; sizes[i][0] > 1 && k < COUNT(overlaps); k++) {
            struct prepare_step s = step_of(PREPARE_JOIN, sizes[i]);
            s.out[0] /= 2;
            s.overlap = overlaps[k];
            s.out[2] = (int64_t)floor(2 * (double)s.in[2] - s.overlap);
            for (s.end = -1; s.end < 2 && s.overlap <= (double)s.in[2]; s.end += 2)
                compare("join", &s, NULL, x, 2e-5);
        }
        free(x);
    }
}

/* Odd and even sizes; some of a trial's views lie beside the detector. */
static void trial_centres_equal_their_twin(void **state)
{
    static const int64_t turns[][3] = {{9, 1, 4}, {20, 1, 33}, {33, 1, 64}};
    (void)state;
    for (size_t i = 0; i < COUNT(turns); i++) {
        float *x = random_floats(40 + i, 0, 1, prepare_samples(turns[i]));
        struct prepare_step s = step_of(PREPARE_SYMMETRY, turns[i]);
        s.out[0] = s.out[1] = 1;
        s.out[2] = 7;
        s.center_step = 0.75;
        s.first_center = 0.5 * (double)turns[i][2] - 3.1;
        compare("symmetry", &s, NULL, x, 2e-6);
        free(x);
    }
}

/* An array of tests/data/prepare, and its shape. */
static float *data(const char *name, int64_t shape[3])
{
    static const char *const names[] = {"views", "rows", "channels"};
    char path[4200];
    float *x;
    snprintf(path, sizeof path, "%s/prepare/%s.npy", DATA_FOLDER, name);
    shape[0] = shape[1] = shape[2] = -1;
    assert_ok(npy_read(path, 3, shape, names, 1, &x));
    return x;
}

static void equals_published(const char *name, struct prepare_step s, double limit)
{
    char in[64], out[64];
    snprintf(in, sizeof in, "%s_in", name);
    snprintf(out, sizeof out, "%s_out", name);
    float *x = data(in, s.in), *expected = data(out, s.out);
    double *wide = widen(expected, prepare_samples(s.out));
    for (int b = 0; harness_backend(b); b++) {
        float *found = apply(harness_backend(b), &s, NULL, x);
        const double error = relative_l2(found, wide, prepare_samples(s.out));
        printf("  %s on %s: %.2g\n", name, harness_backend(b), error);
        if (!(error <= limit))
            fail_msg("%s on %s: %.3g from the published result", name, harness_backend(b), error);
        free(found);
    }
    free(wide);
    mem_free(x);
    mem_free(expected);
}

/* algotom 1.7.0 in float64: 2e-7 seen. */
static void published_programs_give_the_same(void **state)
{
    (void)state;
    equals_published("wavelet",
                     (struct prepare_step){.kind = PREPARE_WAVELET,
                                           .order = 5,
                                           .levels = 2,
                                           .damping = 2,
                                           .margin = prepare_wavelet_margin(101, 110)},
                     1e-6);
    equals_published("phase",
                     (struct prepare_step){.kind = PREPARE_PHASE,
                                           .ratio = prepare_phase_ratio(10, 20, 0.001, 100)},
                     1e-6);
    const double angle = 1.7 * M_PI / 180;
    equals_published(
        "tilt",
        (struct prepare_step){.kind = PREPARE_TILT, .cosine = cos(angle), .sine = sin(angle)},
        1e-6);
}

/* Views that are the same in all channels have nothing that is damped: every order and number of
 * levels gives them back. */
static void wavelets_compose_what_they_analysed(void **state)
{
    (void)state;
    const int64_t shapes[][3] = {{33, 2, 47}, {70, 3, 41}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int order = 1; order <= PREPARE_ORDERS; order++) {
            struct prepare_step s = step_of(PREPARE_WAVELET, shapes[i]);
            const int64_t n = prepare_samples(s.in);
            float *x = random_floats(i, -1, 1, n);
            s.order = order;
            s.levels = 1 + order % 3;
            s.damping = 3;
            s.margin = order % 4;
            for (int64_t k = 0; k < n; k++)
                x[k] = x[k / s.in[2] * s.in[2]];
            double *wide = widen(x, n);
            for (int b = 0; harness_backend(b); b++) {
                float *found = apply(harness_backend(b), &s, NULL, x);
                const double error = relative_l2(found, wide, n);
                if (!(error < 2e-6))
                    fail_msg("order %d on %s: %.3g", order, harness_backend(b), error);
                free(found);
            }
            free(wide);
            free(x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers_become_the_local_median),
        cmocka_unit_test(flat_fields_are_interpolated_in_time),
        cmocka_unit_test(air_logarithm_and_polynomial_equal_their_twins),
        cmocka_unit_test(tilted_and_joined_views_equal_their_twins),
        cmocka_unit_test(trial_centres_equal_their_twin),
        cmocka_unit_test(published_programs_give_the_same),
        cmocka_unit_test(wavelets_compose_what_they_analysed),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
