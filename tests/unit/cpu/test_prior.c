/* links: tp_cpu */
/* The priors of VCD on the CPU, once per instruction set (TOMOPROF_ISA counts at its first use, so
 * each set has a process): MBIRJAX's numbers, a float64 twin of operators' formula, edges. */

#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/vcd.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

struct problem {
    struct volume v;
    struct regularisation r;
    float *x;
};

static struct buffer wrap(void *p, int64_t floats)
{
    return (struct buffer){PLACE_HOST, 0, (size_t)floats * sizeof(float), p};
}

static void run(const struct problem *p, const struct pixel_set *pixels, int threads,
                const float *target, float *g, float *h)
{
    struct backend be = {.threads = threads};
    struct buffer x = wrap(p->x, volume_voxels(&p->v));
    struct buffer t = wrap((void *)target, volume_voxels(&p->v));
    struct buffer gb = wrap(g, pixels->count * p->v.slices), hb = gb;
    struct prior prior = {&p->r, target ? &t : NULL};
    hb.ptr = h;
    assert_ok(cpu_prior_terms(&be, &p->v, &prior, pixels, &x, &gb, &hb));
    assert_true(be.declared.flops > 0);
}

static struct problem problem(int64_t rows, int64_t cols, int64_t slices)
{
    struct problem p = {{rows, cols, slices, 1, 1, 1, 0, ROR_NONE, 0},
                        {.sigma_x = 0.05, .p = 2, .q = 1.2, .T = 1, .neighbour_weights = {1, 1, 1}},
                        NULL};
    p.x = malloc((size_t)volume_voxels(&p.v) * sizeof *p.x);
    for (int i = 0; i < volume_voxels(&p.v); i++)
        p.x[i] = (float)((i * 37 + 11) % 101) / 101;
    return p;
}

static const struct pixel_set nine = {NULL, 9, 0};

/* MBIRJAX 0.7.3 on x[i] = ((37 i + 11) mod 101)/101, 3 x 3 x 3. float32 there: 1e-5. Boundaries
 * dominate the curvature of p < 2, because w(0) does. */
static void test_mbirjax_general(void **state)
{
    (void)state;
    static const double gradient[27] = {
        -0.252742946,  -0.156892926, 0.138123542,  -0.187182203,  -0.0913321599, 0.380621552,
        -0.121621482,  0.176251382,  -0.308881491, -0.161410779,  0.335628569,   -0.370899945,
        -0.0958499759, 0.401189208,  -0.305339247, -0.0302893184, 0.466750026,   -0.0406120643,
        0.131944254,   -0.375417799, 0.12162146,   0.197504953,   -0.3098571,    0.187182248,
        0.263065726,   -0.244296342, 0.252742946};
    static const double curvature[27] = {
        1531.46643, 1021.64972, 1531.31238, 1022.05023, 512.233459, 1021.3576,  1531.46643,
        1021.5556,  1530.83386, 1021.69556, 511.630615, 1021.44739, 512.279358, 2.2144084,
        512.031189, 1021.69556, 511.630646, 1021.6015,  1531.37231, 1021.40155, 1531.46643,
        1021.95612, 511.985321, 1022.05023, 1531.37231, 1021.40155, 1531.46643};
    struct problem p = problem(3, 3, 3);
    p.r = (struct regularisation){
        .sigma_x = 0.6449, .p = 1.5488, .q = 0.9051, .T = 1.1028, .neighbour_weights = {1, 1, 1}};
    float g[27], h[27];
    run(&p, &nine, 1, NULL, g, h);
    for (int i = 0; i < 27; i++) {
        assert_near(g[i], gradient[i], 1e-5);
        assert_near((double)h[i] / curvature[i], 1, 1e-5);
    }
    free(p.x);
}

/* The same volume with p = 2, unequal neighbour weights. */
static void test_mbirjax_default(void **state)
{
    (void)state;
    static const double gradient[27] = {
        -6.50699568, -5.32662201, 0.864161491, -3.40911865, -2.22874498, 12.9565344,  -0.311241508,
        3.40610123,  -9.48195553, -4.27825212, 4.44950199,  -9.4648819,  -1.18037271, 7.54737759,
        -6.36700583, 1.91750419,  10.645257,   1.74128366,  0.48746112,  -8.41651154, 0.311239958,
        3.58533812,  -5.31863403, 3.40911913,  6.68321705,  -2.22075629, 6.50699615};
    static const double curvature[27] = {
        242.013306, 216.664093, 238.466888, 159.016602, 133.667404, 130.726227, 242.013306,
        215.582886, 216.188126, 192.374115, 162.397263, 187.74646,  109.377426, 79.4005661,
        104.749779, 192.37413,  162.397247, 191.292908, 240.932098, 212.036453, 242.013306,
        157.935394, 129.039749, 159.016617, 240.932083, 212.036438, 242.013321};
    struct problem p = problem(3, 3, 3);
    p.r.neighbour_weights[1] = 2;
    p.r.neighbour_weights[2] = 0.5;
    float g[27], h[27];
    run(&p, &nine, 1, NULL, g, h);
    for (int i = 0; i < 27; i++) {
        assert_near(g[i], gradient[i], 1e-5 * 13);
        assert_near((double)h[i] / curvature[i], 1, 1e-5);
    }
    free(p.x);
}

static double weight(const struct regularisation *r, double difference)
{
    double a = fmax(fabs(difference), r->T * r->sigma_x * 0x1p-23), t = a / (r->T * r->sigma_x);
    double e = pow(t, r->q - r->p);
    return pow(a, r->p - 2) / pow(r->sigma_x, r->p) * e * (r->q / r->p + e) / ((1 + e) * (1 + e));
}

/* Gradient, curvature and the sum of the gradient's magnitudes at one voxel. */
static void twin(const struct problem *p, int64_t i, int64_t j, int64_t k, double out[3])
{
    static const int step[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                   {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    const double *w = p->r.neighbour_weights, sum = 2 * (w[0] + w[1] + w[2]);
    const int64_t C = p->v.cols, S = p->v.slices;
    const double own = (double)p->x[(i * C + j) * S + k];
    out[0] = out[1] = out[2] = 0;
    for (int n = 0; n < 6; n++) {
        int64_t a = i + step[n][0], b = j + step[n][1], c = k + step[n][2];
        int inside = a >= 0 && a < p->v.rows && b >= 0 && b < C && c >= 0 && c < S;
        double difference = inside ? own - (double)p->x[(a * C + b) * S + c] : 0;
        double term = w[n / 2] / sum * weight(&p->r, difference);
        out[0] += term * difference;
        out[1] += term;
        out[2] += fabs(term * difference);
    }
}

/* Largest relative errors over a volume whose differences span 1e-9 to 1e9 sigma_x. */
static void compare(struct problem *p)
{
    const int64_t S = p->v.slices, pixels = volume_pixels(&p->v);
    unsigned seed = 1;
    for (int64_t i = 0; i < volume_voxels(&p->v); i++) {
        double size = pow(10, 18 * (double)(rand_r(&seed) % 1000) / 1000 - 9);
        p->x[i] = (float)(p->r.sigma_x * size * (rand_r(&seed) % 2 ? 1 : -1));
    }
    p->x[0] = p->x[volume_voxels(&p->v) - 1] = 0;
    float *g = malloc((size_t)(pixels * S) * sizeof *g), *h = malloc((size_t)(pixels * S) * 4);
    const struct pixel_set all = {NULL, pixels, 0};
    run(p, &all, 2, NULL, g, h);
    for (int64_t n = 0; n < pixels; n++)
        for (int64_t k = 0; k < S; k++) {
            double expected[3];
            twin(p, n / p->v.cols, n % p->v.cols, k, expected);
            assert_near((double)g[n * S + k], expected[0], 1e-6 * expected[2]);
            assert_near((double)h[n * S + k], expected[1], 1e-6 * expected[1]);
        }
    free(g);
    free(h);
    free(p->x);
}

static void test_twin(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{5, 7, 33}, {3, 4, 1},  {1, 1, 16}, {2, 3, 17},
                                        {1, 5, 2},  {4, 1, 48}, {3, 3, 15}};
    static const double shape[][3] = {{2, 1.2, 1}, {2, 1, 0.3},   {1.5488, 0.9051, 1.1028},
                                      {2, 2, 1},   {1.1, 1.9, 2}, {2, 0.5, 10}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t f = 0; f < sizeof shape / sizeof *shape; f++) {
            struct problem p = problem(shapes[s][0], shapes[s][1], shapes[s][2]);
            p.r.p = shape[f][0];
            p.r.q = shape[f][1];
            p.r.T = shape[f][2];
            p.r.sigma_x = 0.0123;
            p.r.neighbour_weights[2] = 3;
            compare(&p);
        }
}

/* A subset in any order gives the same bits as those pixels of the whole, at any thread count. */
static void test_subsets_and_threads(void **state)
{
    (void)state;
    static const int32_t some[] = {34, 0, 17, 6, 17, 33};
    const int64_t S = 19;
    struct problem p = problem(5, 7, S);
    float *all = malloc((size_t)(2 * 35 * S) * sizeof *all), *part = malloc(2 * 6 * 19 * 4);
    float *again = malloc((size_t)(2 * 35 * S) * sizeof *again);
    const struct pixel_set whole = {NULL, 35, 0}, subset = {some, 6, 1};
    run(&p, &whole, 1, NULL, all, all + 35 * S);
    for (int threads = 2; threads <= 7; threads += 5) {
        run(&p, &whole, threads, NULL, again, again + 35 * S);
        assert_memory_equal(all, again, (size_t)(2 * 35 * S) * sizeof *all);
        run(&p, &subset, threads, NULL, part, part + 6 * S);
        for (int q = 0; q < 6; q++) {
            assert_memory_equal(part + q * S, all + some[q] * S, (size_t)S * 4);
            assert_memory_equal(part + (6 + q) * S, all + (35 + some[q]) * S, (size_t)S * 4);
        }
    }
    free(all);
    free(again);
    free(part);
    free(p.x);
}

static void test_proximal(void **state)
{
    (void)state;
    static const int32_t some[] = {8, 3};
    struct problem p = problem(3, 3, 3);
    float target[27], g[6], h[6];
    for (int i = 0; i < 27; i++)
        target[i] = 0.25f;
    p.r.sigma_prox = 0.5;
    const struct pixel_set subset = {some, 2, 1};
    run(&p, &subset, 2, target, g, h);
    for (int i = 0; i < 6; i++) {
        assert_near(g[i], 4 * (p.x[some[i / 3] * 3 + i % 3] - 0.25f), 1e-6);
        assert_near(h[i], 4, 0);
    }
    free(p.x);
}

static void test_bad_parameters(void **state)
{
    (void)state;
    struct problem p = problem(3, 3, 3);
    float out[54];
    struct backend be = {.threads = 1};
    struct buffer x = wrap(p.x, 27), g = wrap(out, 27), h = wrap(out + 27, 27);
    struct prior prior = {&p.r, NULL};
    p.r.p = 9;
    assert_error(cpu_prior_terms(&be, &p.v, &prior, &nine, &x, &g, &h), ERR_INPUT, "p 9, q 1.2");
    p.r.p = 2;
    p.r.sigma_x = 0;
    assert_error(cpu_prior_terms(&be, &p.v, &prior, &nine, &x, &g, &h), ERR_INPUT, "sigma_x 0");
    p.r.sigma_prox = -1;
    prior.prox_target = &x;
    assert_error(cpu_prior_terms(&be, &p.v, &prior, &nine, &x, &g, &h), ERR_INPUT, "sigma_prox -1");
    free(p.x);
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbirjax_general),
        cmocka_unit_test(test_mbirjax_default),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_subsets_and_threads),
        cmocka_unit_test(test_proximal),
        cmocka_unit_test(test_bad_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    cpu_team_least = 1; /* small work goes in teams, too */
    return for_each_isa(all_tests);
}
