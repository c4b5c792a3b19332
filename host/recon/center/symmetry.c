/* Trial centres of the middle row by the symmetry of its sinogram: coarse on fewer channels, then
 * fine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/recon/center/center.h"

#define COARSE_CHANNELS 640
#define COARSE_VIEWS    900
#define TRIALS_MOST     2048

/* A sinogram of one row, (views, channels). */
struct row {
    int64_t views, channels;
    float *y; /* mem_alloc */
};

static int64_t index_reflected(int64_t i, int64_t n)
{
    const int64_t turn = ((i % (2 * n)) + 2 * n) % (2 * n);
    return turn < n ? turn : 2 * n - 1 - turn;
}

/* Smooths a line by a Gaussian. */
static void line_smooth(const float *x, int64_t n, int64_t stride, double sigma, float *out)
{
    const int reach = (int)(4 * sigma + 0.5);
    double weight[64], total = 0;
    for (int k = -reach; k <= reach; k++)
        total += weight[k + reach] = exp(-0.5 * k * k / (sigma * sigma));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = -reach; k <= reach; k++)
            sum += weight[k + reach] * (double)x[index_reflected(i + k, n) * stride];
        out[i * stride] = (float)(sum / total);
    }
}

/* The middle row, smoothed, then its means over bins. */
static enum err make_row(const struct center_views *p, double along_views, double along_channels,
                         int64_t bin_views, int64_t bin_channels, struct row *out)
{
    const int64_t n = p->channels, row = p->rows / 2;
    void *block;
    *out = (struct row){p->views / bin_views, n / bin_channels, NULL};
    TRY(mem_alloc("a sinogram", (size_t)(2 * p->views * n) * sizeof(float), &block));
    float *a = block, *b = a + p->views * n;
    for (int64_t v = 0; v < p->views; v++)
        line_smooth(p->y + (v * p->rows + row) * n, n, 1, along_channels, b + v * n);
    for (int64_t c = 0; c < n; c++)
        line_smooth(b + c, p->views, n, along_views, a + c);
    for (int64_t v = 0; v < out->views; v++)
        for (int64_t c = 0; c < out->channels; c++) {
            double sum = 0;
            for (int64_t i = 0; i < bin_views; i++)
                for (int64_t k = 0; k < bin_channels; k++)
                    sum += (double)a[(v * bin_views + i) * n + c * bin_channels + k];
            b[v * out->channels + c] = (float)(sum / (double)(bin_views * bin_channels));
        }
    memcpy(a, b, (size_t)(out->views * out->channels) * sizeof *a);
    out->y = a;
    return ERR_OK;
}

/* Finds the trial with the lowest score. */
static enum err best_trial(struct backend *be, const struct row *r, double first, double step,
                           int64_t trials, double *best)
{
    const struct prepare_step s = {.kind = PREPARE_SYMMETRY,
                                   .in = {r->views, 1, r->channels},
                                   .out = {1, 1, trials},
                                   .first_center = first,
                                   .center_step = step};
    const size_t bytes = (size_t)(r->views * r->channels) * sizeof(float);
    float scores[TRIALS_MOST];
    struct buffer in = {0}, out = {0};
    enum err e;
    TRY_OUT(be->ops->upload(be, r->y, bytes, &in));
    TRY_OUT(be->ops->alloc(be, "scores", (size_t)trials * sizeof(float), &out));
    TRY_OUT(be->ops->prepare_step(be, &s, NULL, &in, &out));
    TRY_OUT(be->ops->download(be, &out, scores, out.bytes));
    const float *score = out.place == PLACE_HOST ? out.ptr : scores;
    int64_t least = 0;
    for (int64_t i = 1; i < trials; i++)
        if (score[i] < score[least])
            least = i;
    *best = first + (double)least * step;
    e = ERR_OK;
out:
    if (in.ptr)
        be->ops->release(be, &in);
    if (out.ptr)
        be->ops->release(be, &out);
    return e;
}

static enum err symmetry_coarse(struct backend *be, const struct center_views *p, double *center)
{
    const int64_t bin = p->channels > 1000 ? p->channels / COARSE_CHANNELS : 1;
    const int64_t bin_views = p->views > 1000 ? p->views / COARSE_VIEWS : 1;
    struct row r;
    TRY(make_row(p, 3, 1, bin_views, bin, &r));
    const int64_t half = r.channels / 8;
    const double first = floor(0.5 * (double)(r.channels - 1)) - (double)half;
    enum err e = best_trial(be, &r, first, 1, 2 * half + 1, center);
    mem_free(r.y);
    *center = *center * (double)bin + 0.5 * (double)(bin - 1);
    return e;
}

/* Half a turn in even steps, within a step. */
static enum err symmetry_check_turn(const struct center_views *p)
{
    const double covered = fabs((double)p->angles[p->views - 1] - (double)p->angles[0]);
    const double step = covered / (double)(p->views - 1);
    FAIL_IF(p->views < 16 || p->channels < 32, ERR_INPUT,
            "the symmetry of a sinogram needs at least 16 views and 32 channels; give `center`");
    FAIL_IF(
        fabs(covered + 0.5 * step - M_PI) > 1.6 * step, ERR_INPUT,
        "the symmetry of a sinogram needs views over half a turn, these cover %.1f degrees; use "
        "another method or give `center`",
        covered * 180 / M_PI);
    return ERR_OK;
}

enum err center_symmetry(struct backend *be, const struct center_views *p, double *center)
{
    struct row r;
    TRY(symmetry_check_turn(p));
    FAIL_IF(!be->ops->prepare_step, ERR_UNSUPPORTED, "%s has no trial centres", be->ops->name);
    TRY(symmetry_coarse(be, p, center));
    const int64_t reach = p->channels > 1000 ? p->channels / COARSE_CHANNELS + 4 : 4;
    TRY(make_row(p, 2, 2, 1, 1, &r));
    enum err e = best_trial(be, &r, *center - (double)reach, 0.25, 8 * reach + 1, center);
    mem_free(r.y);
    return e;
}
