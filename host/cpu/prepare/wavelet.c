/* Removal of stripes by wavelets and Fourier transforms (B. Muench, P. Trtik, F. Marone and M.
 * Stampanoni, 2009): a stripe is in the coefficients that are detail along channels and smooth
 * along views, and there in the lowest frequencies along views. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/backend/course.h"
#include "host/backend/prepare_math.h"
#include "base/memory.h"
#include "host/cpu/prepare/prepare.h"

#define FREQUENCIES PREPARE_FREQUENCIES

/* Memory that a thread works in: one detector row, [views][channels] of a level. */
struct wavelet_planes {
    float *smooth[PREPARE_LEVELS + 1];    /* level 0: the continued array */
    float *detail[PREPARE_LEVELS + 1][3]; /* along channels; along views; along both */
    float *low, *high;                    /* channels halved, views not yet */
    double *table; /* cosines and sines of one level, then the frequencies' amplitudes */
};

static int64_t plane_floats(const struct prepare_levels *l, int levels)
{
    int64_t n = l->views[0] * l->channels[0];
    for (int i = 1; i <= levels; i++)
        n += 4 * l->views[i] * l->channels[i];
    return n + 2 * l->views[0] * (l->channels[1] + 1);
}

static void plane_places(const struct prepare_levels *l, int levels, float *at,
                         struct wavelet_planes *p)
{
    p->smooth[0] = at;
    at += l->views[0] * l->channels[0];
    for (int i = 1; i <= levels; i++) {
        const int64_t n = l->views[i] * l->channels[i];
        p->smooth[i] = at;
        for (int k = 0; k < 3; k++)
            p->detail[i][k] = at + (k + 1) * n;
        at += 4 * n;
    }
    p->low = at;
    p->high = at + l->views[0] * (l->channels[1] + 1);
}

/* Views go on with the mean of all views, channels with the edge. */
static void continue_row(const struct prepare_step *s, const struct prepare_levels *l,
                         const float *in, float *out)
{
    const int64_t margin = s->margin, stride = s->in[1] * s->in[2];
    for (int64_t c = 0; c < l->channels[0]; c++) {
        const int64_t at = c < margin ? 0 : c - margin < s->in[2] ? c - margin : s->in[2] - 1;
        double sum = 0;
        for (int64_t v = 0; v < s->in[0]; v++)
            sum += (double)(out[(v + margin) * l->channels[0] + c] = in[v * stride + at]);
        const float mean = (float)(sum / (double)s->in[0]);
        for (int64_t v = 0; v < margin; v++)
            out[v * l->channels[0] + c] = out[(v + margin + s->in[0]) * l->channels[0] + c] = mean;
    }
}

static void wavelet_analyse(const struct prepare_levels *l, int level, const float *low, int taps,
                            struct wavelet_planes *p)
{
    const int64_t n = l->channels[level], views = l->views[level - 1];
    for (int64_t v = 0; v < views; v++)
        for (int64_t c = 0; c < n; c++)
            prepare_analysed(p->smooth[level - 1] + v * l->channels[level - 1],
                             l->channels[level - 1], 1, low, taps, c, p->low + v * n + c,
                             p->high + v * n + c);
    for (int64_t v = 0; v < l->views[level]; v++)
        for (int64_t c = 0; c < n; c++) {
            prepare_analysed(p->low + c, views, n, low, taps, v, p->smooth[level] + v * n + c,
                             p->detail[level][1] + v * n + c);
            prepare_analysed(p->high + c, views, n, low, taps, v, p->detail[level][0] + v * n + c,
                             p->detail[level][2] + v * n + c);
        }
}

/* Columns lose factor[k] of their frequency k: the few that are damped, without an FFT. */
static void damp_level(const struct prepare_step *s, const struct prepare_levels *l, int level,
                       struct wavelet_planes *p)
{
    const int64_t n = l->views[level], channels = l->channels[level];
    float factor[FREQUENCIES];
    const int count = prepare_damping(s->damping, n, FREQUENCIES, factor);
    double *re = p->table + 2 * n, *im = re + count * channels;
    for (int64_t v = 0; v < n; v++) {
        p->table[v] = cos(2 * M_PI * (double)v / (double)n);
        p->table[n + v] = sin(2 * M_PI * (double)v / (double)n);
    }
    memset(re, 0, (size_t)(2 * count * channels) * sizeof *re);
    for (int64_t v = 0; v < n; v++)
        for (int k = 0; k < count; k++) {
            const float *x = p->detail[level][0] + v * channels;
            const double cosine = p->table[k * v % n], sine = p->table[n + k * v % n];
            for (int64_t c = 0; c < channels; c++) {
                re[k * channels + c] += (double)x[c] * cosine;
                im[k * channels + c] += (double)x[c] * sine;
            }
        }
    for (int64_t v = 0; v < n; v++)
        for (int k = 0; k < count; k++) {
            float *x = p->detail[level][0] + v * channels;
            const double share = (k == 0 || 2 * k == n ? 1.0 : 2.0) * (double)factor[k] / (double)n;
            const double cosine = share * p->table[k * v % n];
            const double sine = share * p->table[n + k * v % n];
            for (int64_t c = 0; c < channels; c++)
                x[c] -= (float)(re[k * channels + c] * cosine + im[k * channels + c] * sine);
        }
}

static void wavelet_compose(const struct prepare_levels *l, int level, const float *low, int taps,
                            struct wavelet_planes *p)
{
    const int64_t n = l->channels[level], views = l->views[level - 1];
    for (int64_t v = 0; v < views; v++)
        for (int64_t c = 0; c < n; c++) {
            p->low[v * n + c] = prepare_composed(p->smooth[level] + c, p->detail[level][1] + c,
                                                 l->views[level], n, low, taps, v);
            p->high[v * n + c] = prepare_composed(p->detail[level][0] + c, p->detail[level][2] + c,
                                                  l->views[level], n, low, taps, v);
        }
    for (int64_t v = 0; v < views; v++)
        for (int64_t c = 0; c < l->channels[level - 1]; c++)
            p->smooth[level - 1][v * l->channels[level - 1] + c] =
                prepare_composed(p->low + v * n, p->high + v * n, n, 1, low, taps, c);
}

static void wavelet_filter_row(const struct prepare_step *s, const struct prepare_levels *l,
                               const float *in, struct wavelet_planes *p, float *out)
{
    const float *low = prepare_wavelet(s->order);
    const int64_t stride = s->in[1] * s->in[2];
    continue_row(s, l, in, p->smooth[0]);
    for (int i = 1; i <= s->levels; i++) {
        wavelet_analyse(l, i, low, 2 * s->order, p);
        damp_level(s, l, i, p);
    }
    for (int i = s->levels; i > 0; i--)
        wavelet_compose(l, i, low, 2 * s->order, p);
    for (int64_t v = 0; v < s->in[0]; v++)
        memcpy(out + v * stride, p->smooth[0] + (v + s->margin) * l->channels[0] + s->margin,
               (size_t)s->in[2] * sizeof *out);
}

enum err prepare_wavelet_rows(struct backend *be, const struct prepare_step *s, int team,
                              const float *in, float *out)
{
    const struct prepare_levels l = prepare_levels_of(s);
    const int64_t rows = s->in[1];
    team = rows < team ? (int)rows : team;
    const size_t table =
        (2 * (size_t)l.views[0] + 2 * FREQUENCIES * (size_t)(l.channels[1] + 1) + 8) / 8 * 64;
    const size_t own = table + (size_t)(plane_floats(&l, s->levels) + 16) / 16 * 64;
    void *memory;
    TRY(mem_alloc("removal of stripes", own * (size_t)team, &memory));
    struct course way = {be, rows, 0};
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        char *mine = (char *)memory + (size_t)omp_get_thread_num() * own;
        struct wavelet_planes p = {.table = (void *)mine};
        if (!course_next(&way))
            continue;
        plane_places(&l, s->levels, (float *)(void *)(mine + table), &p);
        wavelet_filter_row(s, &l, in + row * s->in[2], &p, out + row * s->in[2]);
    }
    mem_free(memory);
    return ERR_OK;
}
