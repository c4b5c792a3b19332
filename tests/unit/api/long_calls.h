/* Calls of tomoprof.h that may last, in a table: each on the arrays of a long_case. */
#ifndef TP_TESTS_UNIT_API_LONG_CALLS_H
#define TP_TESTS_UNIT_API_LONG_CALLS_H

#include "tests/unit/api/api_case.h"

enum long_result { TO_VOLUME, TO_SINOGRAM };

/* All arrays of a call; the result as no call left it. */
struct long_case {
    struct api_case a;
    float *x, *y, *out;
    tomoprof_array ax, ay, to;
    size_t bytes;
};
typedef tomoprof_status long_call(struct long_case *l, const char *name);

#define LONG_CALL(word, computed)                                                                  \
    static inline tomoprof_status call_##word(struct long_case *l, const char *name)               \
    {                                                                                              \
        (void)name;                                                                                \
        return computed;                                                                           \
    }
#define OF_CASE  l->a.c, l->a.m
#define RECON(i) (&(tomoprof_recon_options){sizeof(tomoprof_recon_options), .iterations = i})

LONG_CALL(forward, tomoprof_forward_project(OF_CASE, &l->ax, &l->to))
LONG_CALL(back, tomoprof_back_project(OF_CASE, &l->ay, &l->to))
LONG_CALL(hessian, tomoprof_hessian_diagonal(OF_CASE, &l->ay, &l->to))
LONG_CALL(filter, tomoprof_direct_filter(OF_CASE, &l->ay, &l->to))
LONG_CALL(direct, tomoprof_direct_recon(OF_CASE, (tomoprof_direct)(*name - '0'), &l->ay, &l->to))
LONG_CALL(median, tomoprof_median_filter3d(l->a.c, &l->ax, &l->to))
LONG_CALL(sart, tomoprof_sart(l->a.c, &l->ay, (double[512]){0}, NULL, &l->to))
LONG_CALL(step, tomoprof_step(l->a.c, name, NULL, &l->ay, NULL, &l->to))
LONG_CALL(phantom, tomoprof_phantom(OF_CASE, "shepp-logan", *name == 'x' ? &l->to : NULL,
                                    *name == 'x' ? NULL : &l->to))
LONG_CALL(noise, tomoprof_add_noise(l->a.c, &l->ay, 0.1, 5, &l->to))

/* These tell their progress in iterations, or not at all. */
LONG_CALL(recon, tomoprof_recon(OF_CASE, &l->ay, RECON(1), &l->to, NULL))
LONG_CALL(prox,
          tomoprof_recon(OF_CASE, &l->ay,
                         &(tomoprof_recon_options){sizeof(tomoprof_recon_options), .iterations = 1,
                                                   .prox = &l->ax, .weights = &l->ay},
                         &l->to, NULL))
LONG_CALL(denoise, tomoprof_denoise(l->a.c, NULL, &l->ax, atof(name), RECON(2), &l->to, NULL))
LONG_CALL(weights, tomoprof_gen_weights(l->a.c, name, &l->ay, &l->to))
LONG_CALL(metal, tomoprof_gen_weights_mar(OF_CASE, &l->ay, *name ? &l->ax : NULL, 1, 3, &l->to))
LONG_CALL(sigmas, tomoprof_auto_regularise(OF_CASE, &l->ay, &l->ay, (double[1]){0}, (double[1]){0},
                                           (double[1]){0}))
LONG_CALL(partition,
          tomoprof_partition(OF_CASE, name, 1, (int64_t[1]){64}, (int64_t[1]){0}, NULL, 0))
LONG_CALL(center, tomoprof_find_center(OF_CASE, name, &l->ay, (double[1]){0}, NULL))
LONG_CALL(volume_step, tomoprof_step(l->a.c, name, NULL, &l->ax, NULL, &l->to))

static inline tomoprof_status call_resample(struct long_case *l, const char *name)
{
    char shape[100];
    const int n = (int)l->a.volume[0];
    snprintf(shape, sizeof shape, "shape=%d,%d,%d", n, n, (int)l->a.volume[2]);
    return tomoprof_step(l->a.c, name, shape, &l->ax, NULL, &l->to);
}

struct long_row {
    const char *geometry, *name;
    long_call *call;
    enum long_result to;
};

static inline void long_open(struct long_case *l, const struct long_row *row, int n, int threads)
{
    api_open_size(&l->a, row->geometry, n, threads);
    const int64_t *shape = row->to == TO_VOLUME ? l->a.volume : l->a.sinogram;
    l->x = api_floats(l->a.volume);
    l->y = api_floats(l->a.sinogram);
    l->out = api_floats(shape);
    l->bytes = (size_t)api_count(shape) * sizeof(float);
    l->ax = api_array(l->x, l->a.volume);
    l->ay = api_array(l->y, l->a.sinogram);
    l->to = api_array(l->out, shape);
    api_ok(&l->a, tomoprof_phantom(l->a.c, l->a.m, "two-ellipsoids", &l->ax, &l->ay));
}

static inline void long_close(struct long_case *l)
{
    free(l->x);
    free(l->y);
    free(l->out);
    api_close(&l->a);
}

#endif
