/* How well trial centres close a turn (N. Vo, M. Drakopoulos, R. Atwood and C. Reinhard, 2014):
 * half a turn and its mirror image, moved by the trial, make a whole turn, whose spectrum is empty
 * outside of a double wedge. The mean magnitude there is least at the true centre. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/base/memory.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/prepare/prepare.h"

#define OBJECT 0.5 /* of the detector's width: what the wedge is for */

struct turn {
    const struct prepare_step *step;
    const float *y;          /* (views, channels) */
    int64_t views, channels; /* of half a turn */
    struct fft *along_channels, *along_views;
    float *half; /* the given half, transformed along channels */
};

/* What a thread works in. */
struct trial {
    float *line, *spectrum, *rows; /* of one row; of all rows of the other half */
};

static void transform(const struct turn *t, const float *row, struct trial *w, float *to)
{
    for (int64_t c = 0; c < t->channels; c++) {
        w->line[2 * c] = row[c];
        w->line[2 * c + 1] = 0;
    }
    fft_forward(t->along_channels, w->line, w->spectrum);
    memcpy(to, w->spectrum, (size_t)t->channels * 2 * sizeof *to);
}

/* Keys' cubic between four samples. */
static double cubic(const float *x, int64_t n, double at)
{
    const int64_t below = (int64_t)floor(at);
    const double t = at - (double)below;
    double y[4];
    for (int k = 0; k < 4; k++) {
        int64_t i = below - 1 + k;
        i = i < 0 ? 0 : i < n ? i : n - 1;
        y[k] = (double)x[i];
    }
    const double a = -0.5 * y[0] + 1.5 * y[1] - 1.5 * y[2] + 0.5 * y[3];
    const double b = y[0] - 2.5 * y[1] + 2 * y[2] - 0.5 * y[3];
    return ((a * t + b) * t + 0.5 * (y[2] - y[0])) * t + y[1];
}

/* Row v of the other half: view v mirrored about the centre; what lies beside the detector there is
 * taken from the view of the same place in reverse order. */
static void other_half(const struct turn *t, double center, int64_t v, float *row)
{
    const int64_t n = t->channels;
    const float *y = t->y + v * n, *gap = t->y + (t->views - 1 - v) * n;
    for (int64_t c = 0; c < n; c++) {
        const double at = 2 * center - (double)c;
        row[c] = at >= 0 && at <= (double)(n - 1) ? (float)cubic(y, n, at) : gap[c];
    }
}

/* Channels of the mask at frequency k along the views, from 1 on: |frequency| <= the result. */
static int64_t wedge(const struct turn *t, int64_t k)
{
    const double height = 2 * (double)t->views, radius = 0.5 * OBJECT * (double)t->channels;
    const double drop = fmin(20, floor(0.05 * height)), along = (double)k;
    const double step = (height - 1) / (height * 2 * M_PI);
    return along <= drop ? 0 : (int64_t)ceil(along * step / radius * (double)t->channels);
}

/* Mean magnitude outside the double wedge; frequencies +-1 and 0 along channels are left out. */
static double score(const struct turn *t, double center, struct trial *w, float *row)
{
    const int64_t n = t->channels, height = 2 * t->views;
    double sum = 0;
    for (int64_t v = 0; v < t->views; v++) {
        other_half(t, center, v, row);
        transform(t, row, w, w->rows + v * n * 2);
    }
    for (int64_t c = 2; c <= n / 2; c++) {
        for (int64_t v = 0; v < height; v++) {
            const float *from =
                v < t->views ? t->half + (v * n + c) * 2 : w->rows + ((v - t->views) * n + c) * 2;
            w->line[2 * v] = from[0];
            w->line[2 * v + 1] = from[1];
        }
        fft_forward(t->along_views, w->line, w->spectrum);
        for (int64_t k = 0; k < height; k++)
            if (wedge(t, 2 * k <= height ? k : height - k) >= c)
                sum += hypot((double)w->spectrum[2 * k], (double)w->spectrum[2 * k + 1]);
    }
    return sum / (double)(n * height);
}

static int64_t whole(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

static enum err score_all(struct turn *t, int team, float *out)
{
    const struct prepare_step *s = t->step;
    const int64_t n = t->channels, height = 2 * t->views, longer = n > height ? n : height;
    const int64_t own = 2 * whole(2 * longer) + whole(n) + whole(2 * n * t->views);
    void *memory;
    TRY(mem_alloc("trial centres", (size_t)(own * (team + 1)) * sizeof(float), &memory));
    t->half = (float *)memory + own * team;
    float *first = memory;
    struct trial w = {first, first + whole(2 * longer), NULL};
    for (int64_t v = 0; v < t->views; v++)
        transform(t, t->y + v * n, &w, t->half + v * n * 2);
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (int64_t i = 0; i < s->out[2]; i++) {
        float *mine = (float *)memory + own * omp_get_thread_num();
        struct trial mine_w = {mine, mine + whole(2 * longer),
                               mine + 2 * whole(2 * longer) + whole(n)};
        out[i] = (float)score(t, s->first_center + (double)i * s->center_step, &mine_w,
                              mine + 2 * whole(2 * longer));
    }
    mem_free(memory);
    return ERR_OK;
}

enum err prepare_symmetry(const struct prepare_step *s, int team, const float *in, float *out)
{
    struct turn t = {.step = s, .y = in, .views = s->in[0], .channels = s->in[2]};
    FAIL_IF(s->in[1] != 1, ERR_INTERNAL, "trial centres on %lld detector rows",
            (long long)s->in[1]);
    enum err e = fft_create(t.channels, &t.along_channels);
    if (!e)
        e = fft_create(2 * t.views, &t.along_views);
    if (!e)
        e = score_all(&t, team, out);
    fft_free(t.along_channels);
    fft_free(t.along_views);
    return e;
}
