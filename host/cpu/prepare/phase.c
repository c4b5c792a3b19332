/* Paganin's phase retrieval of single views: a low-pass in the plane of frequencies. Two views
 * travel as the real and the imaginary part of one, since the filter is real and even. */
#include <math.h>
#include <omp.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/prepare/prepare.h"

struct phase_plan {
    const struct prepare_step *step;
    struct fft *along_rows, *along_channels;
    int64_t rows, channels, margin; /* of the continued view */
};

static int64_t phase_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Both views with their edges repeated; without a second the imaginary part is 0. */
static void continue_views(const struct phase_plan *p, const float *a, const float *b, float *z)
{
    const int64_t *n = p->step->in;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->channels; c++) {
            const int64_t at =
                phase_clamp(r - p->margin, n[1]) * n[2] + phase_clamp(c - p->margin, n[2]);
            z[2 * (r * p->channels + c)] = a[at];
            z[2 * (r * p->channels + c) + 1] = b ? b[at] : 0;
        }
}

static void transform_rows(const struct phase_plan *p, int forward, float *z, float *line)
{
    for (int64_t r = 0; r < p->rows; r++) {
        float *row = z + 2 * r * p->channels;
        for (int64_t i = 0; i < 2 * p->channels; i++)
            line[i] = row[i];
        float *to = line + (2 * p->channels + 15) / 16 * 16;
        (forward ? fft_forward : fft_inverse)(p->along_channels, line, to);
        for (int64_t i = 0; i < 2 * p->channels; i++)
            row[i] = to[i];
    }
}

static double phase_frequency(int64_t k, int64_t n)
{
    return (double)(2 * k <= n ? k : n - k) / (double)n;
}

/* Columns go there, through the filter, and back. */
static void filter_columns(const struct phase_plan *p, float *z, float *line)
{
    const int64_t n = p->rows, step = 2 * p->channels;
    float *to = line + (2 * n + 15) / 16 * 16;
    const double scale = (double)(p->rows * p->channels);
    for (int64_t c = 0; c < p->channels; c++) {
        const double u = phase_frequency(c, p->channels);
        for (int64_t r = 0; r < n; r++) {
            line[2 * r] = z[r * step + 2 * c];
            line[2 * r + 1] = z[r * step + 2 * c + 1];
        }
        fft_forward(p->along_rows, line, to);
        for (int64_t r = 0; r < n; r++) {
            const double v = phase_frequency(r, n);
            const float factor = (float)(1 / (scale * (1 + p->step->ratio * (u * u + v * v))));
            to[2 * r] *= factor;
            to[2 * r + 1] *= factor;
        }
        fft_inverse(p->along_rows, to, line);
        for (int64_t r = 0; r < n; r++) {
            z[r * step + 2 * c] = line[2 * r];
            z[r * step + 2 * c + 1] = line[2 * r + 1];
        }
    }
}

static void phase_store(const struct phase_plan *p, const float *z, int part, float *out)
{
    const int64_t *n = p->step->in;
    for (int64_t r = 0; r < n[1]; r++)
        for (int64_t c = 0; c < n[2]; c++)
            out[r * n[2] + c] = z[2 * ((r + p->margin) * p->channels + c + p->margin) + part];
}

static enum err filter_views(struct backend *be, const struct phase_plan *p, int team,
                             const float *in, float *out)
{
    const int64_t longer = p->rows > p->channels ? p->rows : p->channels;
    const int64_t pixels = p->step->in[1] * p->step->in[2], views = p->step->in[0];
    const int64_t floats = (2 * p->rows * p->channels + 15) / 16 * 16;
    const int64_t own = floats + 2 * ((2 * longer + 15) / 16 * 16);
    void *memory;
    TRY(mem_alloc("phase retrieval", (size_t)(own * team) * sizeof(float), &memory));
    struct course way = {be, (views + 1) / 2, 0};
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t v = 0; v < views; v += 2) {
        if (!course_next(&way))
            continue;
        float *z = (float *)memory + omp_get_thread_num() * own, *line = z + floats;
        continue_views(p, in + v * pixels, v + 1 < views ? in + (v + 1) * pixels : NULL, z);
        transform_rows(p, 1, z, line);
        filter_columns(p, z, line);
        transform_rows(p, 0, z, line);
        phase_store(p, z, 0, out + v * pixels);
        if (v + 1 < views)
            phase_store(p, z, 1, out + (v + 1) * pixels);
    }
    mem_free(memory);
    return ERR_OK;
}

enum err prepare_phase_views(struct backend *be, const struct prepare_step *s, int team,
                             const float *in, float *out)
{
    struct phase_plan p = {.step = s, .margin = prepare_phase_margin(s)};
    p.rows = prepare_phase_length(s, s->in[1]);
    p.channels = prepare_phase_length(s, s->in[2]);
    enum err e = fft_create(p.rows, &p.along_rows);
    if (!e)
        e = fft_create(p.channels, &p.along_channels);
    if (!e)
        e = filter_views(be, &p, team, in, out);
    fft_free(p.along_rows);
    fft_free(p.along_channels);
    return e;
}
