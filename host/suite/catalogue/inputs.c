/* Phantoms and noisy sinograms in the arrays of an operation. */
#include <math.h>

#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/inputs.h"

#define NOISE 0.01 /* standard deviation over the largest value: the published set-up */

void phantom_volume(const struct ct_model *m, float *out)
{
    struct ellipsoid e[PHANTOM_MAX];
    int n = phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &m->volume, e);
    phantom_fill(e, n, &m->volume, out);
}

void phantom_sinogram(const struct ct_model *m, float *out)
{
    struct ellipsoid e[PHANTOM_MAX];
    int n = phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &m->volume, e);
    phantom_project(e, n, &m->scan, out);
}

enum err prepare_volume(struct run_state *s)
{
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_VOLUME, shape);
    TRY(state_host_array(&s->in, "volume", shape));
    phantom_volume(&s->model, s->in.host);
    return state_upload(s, &s->in, shape);
}

enum err prepare_noisy_volume(struct run_state *s)
{
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_VOLUME, shape);
    TRY(state_host_array(&s->in, "volume", shape));
    phantom_volume(&s->model, s->in.host);
    noise_add(s->in.host, volume_voxels(&s->model.volume), NOISE, s->seed);
    return state_upload(s, &s->in, shape);
}

enum err prepare_sinogram(struct run_state *s)
{
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_SINOGRAM, shape);
    TRY(state_host_array(&s->in, "sinogram", shape));
    phantom_sinogram(&s->model, s->in.host);
    noise_add(s->in.host, scan_samples(&s->model.scan), NOISE, s->seed);
    return state_upload(s, &s->in, shape);
}
