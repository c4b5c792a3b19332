/* How well trial centres close a turn (N. Vo, M. Drakopoulos, R. Atwood and C. Reinhard, 2014):
 * half a turn and its mirror image, moved by the trial, make a whole turn, whose spectrum is empty
 * outside of a double wedge. The mean magnitude there is least at the true centre. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/backend/course.h"
#include "host/backend/symmetry_math.h"
#include "base/memory.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/prepare/prepare.h"

struct turn {
    const struct prepare_step *step;
    const float *y;          /* (views, channels) */
    int64_t views, channels; /* of half a turn */
    struct fft *along_channels, *along_views;
    float *half; /* the given half, transformed along channels */
};

/* Memory that a thread works in. */
struct trial {
    float *line, *spectrum, *rows; /* of one row; of all rows of the other half */
};

static void turn_transform(const struct turn *t, const float *row, struct trial *w, float *to)
{
    for (int64_t c = 0; c < t->channels; c++) {
        w->line[2 * c] = row[c];
        w->line[2 * c + 1] = 0;
    }
    fft_forward(t->along_channels, w->line, w->spectrum);
    memcpy(to, w->spectrum, (size_t)t->channels * 2 * sizeof *to);
}

/* Mean magnitude outside the double wedge; frequencies +-1 and 0 along channels are left out. */
static double turn_score(const struct turn *t, double center, struct trial *w, float *row)
{
    const int64_t n = t->channels, height = 2 * t->views;
    double sum = 0;
    for (int64_t v = 0; v < t->views; v++) {
        for (int64_t c = 0; c < n; c++)
            row[c] = prepare_mirrored(t->y, t->views, n, center, v, c);
        turn_transform(t, row, w, w->rows + v * n * 2);
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
            if (prepare_wedge(t->views, n, 2 * k <= height ? k : height - k) >= c)
                sum += hypot((double)w->spectrum[2 * k], (double)w->spectrum[2 * k + 1]);
    }
    return sum / (double)(n * height);
}

static int64_t round_up_16(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

static enum err score_all(struct backend *be, struct turn *t, int team, float *out)
{
    const struct prepare_step *s = t->step;
    const int64_t n = t->channels, height = 2 * t->views, longer = n > height ? n : height;
    const int64_t own =
        2 * round_up_16(2 * longer) + round_up_16(n) + round_up_16(2 * n * t->views);
    void *memory;
    TRY(mem_alloc("trial centres", (size_t)(own * (team + 1)) * sizeof(float), &memory));
    t->half = (float *)memory + own * team;
    float *first = memory;
    struct trial w = {first, first + round_up_16(2 * longer), NULL};
    for (int64_t v = 0; v < t->views; v++)
        turn_transform(t, t->y + v * n, &w, t->half + v * n * 2);
    struct course way = {be, s->out[2], 0};
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (int64_t i = 0; i < s->out[2]; i++) {
        if (!course_next(&way))
            continue;
        float *mine = (float *)memory + own * omp_get_thread_num();
        struct trial mine_w = {mine, mine + round_up_16(2 * longer),
                               mine + 2 * round_up_16(2 * longer) + round_up_16(n)};
        out[i] = (float)turn_score(t, s->first_center + (double)i * s->center_step, &mine_w,
                                   mine + 2 * round_up_16(2 * longer));
    }
    mem_free(memory);
    return ERR_OK;
}

enum err prepare_symmetry(struct backend *be, const struct prepare_step *s, int team,
                          const float *in, float *out)
{
    struct turn t = {.step = s, .y = in, .views = s->in[0], .channels = s->in[2]};
    FAIL_IF(s->in[1] != 1, ERR_INTERNAL, "trial centres on %lld detector rows",
            (long long)s->in[1]);
    enum err e = fft_create(t.channels, &t.along_channels);
    if (!e)
        e = fft_create(2 * t.views, &t.along_views);
    if (!e)
        e = score_all(be, &t, team, out);
    fft_free(t.along_channels);
    fft_free(t.along_views);
    return e;
}
