/* Phantoms by all threads, row by row of the volume and view by view; noise in one thread, whose
 * numbers follow each other. */
#include "host/recon/synthetic.h"

#include "host/backend/course.h"

#define NOISE_STEP ((int64_t)1 << 18) /* samples, even: noise is made in pairs */

enum err synthetic_phantom(struct backend *be, enum phantom kind, const struct ct_model *m,
                           float *x, float *y)
{
    const struct volume *v = &m->volume;
    const struct scan *s = &m->scan;
    const int64_t rows = x ? v->rows : 0, views = y ? s->views : 0;
    struct ellipsoid e[PHANTOM_MAX];
    const int n = phantom_ellipsoids(kind, v, e);
    struct course way = {be, rows + views, 0};
#pragma omp parallel for num_threads(be->threads) schedule(dynamic)
    for (int64_t i = 0; i < rows + views; i++) {
        if (!course_next(&way))
            continue;
        if (i < rows)
            phantom_fill_row(e, n, v, i, x + i * v->cols * v->slices);
        else
            phantom_project_view(e, n, s, i - rows, y + (i - rows) * s->rows * s->channels);
    }
    return ERR_OK;
}

enum err synthetic_noise(struct backend *be, double relative, uint32_t seed, float *y, int64_t n)
{
    struct noise noise = noise_begin(y, n, relative, seed);
    struct course way = {be, (n + NOISE_STEP - 1) / NOISE_STEP, 0};
    for (int64_t at = 0; at < n && course_next(&way); at += NOISE_STEP)
        noise_next(&noise, y + at, n - at < NOISE_STEP ? n - at : NOISE_STEP);
    return ERR_OK;
}
