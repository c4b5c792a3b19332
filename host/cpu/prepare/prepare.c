/* Steps on views: sizes are checked and work is declared here; those of one pass are computed. */
#include "host/backend/checks.h"
#include "host/backend/course.h"
#include "host/backend/prepare_math.h"
#include "base/memory.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/prepare/prepare.h"
#include "base/mark/mark.h"

/* A loop for each kind, so that none asks for the kind at every sample. */
#define ROW_OF(name, kind)                                                                         \
    static void name(const struct prepare_job *j, int64_t v, int64_t r, float *to)                 \
    {                                                                                              \
        for (int64_t c = 0; c < j->out_channels; c++)                                              \
            to[c] = prepare_sample(kind, j, v, r, c);                                              \
    }
ROW_OF(outlier_row, PREPARE_OUTLIERS)
ROW_OF(flat_row, PREPARE_FLAT)
ROW_OF(air_row, PREPARE_AIR)
ROW_OF(log_row, PREPARE_LOG)
ROW_OF(polynomial_row, PREPARE_POLYNOMIAL)
ROW_OF(tilt_row, PREPARE_TILT)
ROW_OF(join_row, PREPARE_JOIN)

static void (*const row_of[])(const struct prepare_job *, int64_t, int64_t, float *) = {
    [PREPARE_OUTLIERS] = outlier_row,
    [PREPARE_FLAT] = flat_row,
    [PREPARE_AIR] = air_row,
    [PREPARE_LOG] = log_row,
    [PREPARE_POLYNOMIAL] = polynomial_row,
    [PREPARE_TILT] = tilt_row,
    [PREPARE_JOIN] = join_row,
};

static double air_mean(const struct prepare_step *s, const float *view, int64_t row_first,
                       int64_t row_end, int64_t first, int64_t count)
{
    double sum = 0, n = 0;
    for (int64_t r = row_first; r < row_end; r++)
        for (int64_t c = first; c < first + count; c++) {
            const float x = view[r * s->in[2] + c];
            sum += isfinite(x) ? (double)x : 0;
            n += isfinite(x);
        }
    return sum / n;
}

/* The means of the air left and right; where one side has none, the other's. */
static void air_line(const struct prepare_step *s, int team, const float *in, float *line)
{
    const int64_t rows = s->whole_view ? 1 : s->in[1], spans = s->whole_view ? s->in[1] : 1;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t i = 0; i < s->in[0] * rows; i++) {
        const float *view = in + i / rows * s->in[1] * s->in[2];
        const int64_t row = i % rows;
        const double left = air_mean(s, view, row, row + spans, 0, s->left);
        const double right = air_mean(s, view, row, row + spans, s->in[2] - s->right, s->right);
        line[2 * i] = (float)(s->left ? left : right);
        line[2 * i + 1] = (float)(s->right ? right : left);
    }
}

static enum err prepare_one_pass(struct backend *be, const struct prepare_step *s, int team,
                                 const float *in, const float *frames, float *out)
{
    void *line = NULL;
    if (s->kind == PREPARE_AIR) {
        TRY(mem_alloc("means of air", (size_t)(s->in[0] * s->in[1]) * 2 * sizeof(float), &line));
        air_line(s, team, in, line);
    }
    const struct prepare_job j = prepare_job_of(s, in, frames, line);
    struct course way = {be, s->out[0] * s->out[1], 0};
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t i = 0; i < s->out[0] * s->out[1]; i++)
        if (course_next(&way))
            row_of[s->kind](&j, i / s->out[1], i % s->out[1], out + i * s->out[2]);
    mem_free(line);
    return ERR_OK;
}

static enum err prepare_compute(struct backend *be, const struct prepare_step *s, int team,
                                const float *in, const float *frames, float *out)
{
    switch (s->kind) {
    case PREPARE_WAVELET:
        return prepare_wavelet_rows(be, s, team, in, out);
    case PREPARE_PHASE:
        return prepare_phase_views(be, s, team, in, out);
    case PREPARE_SYMMETRY:
        return prepare_symmetry(be, s, team, in, out);
    default:
        return prepare_one_pass(be, s, team, in, frames, out);
    }
}

enum err cpu_prepare_step(struct backend *be, const struct prepare_step *step,
                          const struct buffer *frames, const struct buffer *in, struct buffer *out)
{
    const int64_t from = prepare_samples(step->in), to = prepare_samples(step->out);
    const size_t read = (size_t)from * sizeof(float), written = (size_t)to * sizeof(float);
    TRY(backend_check_buffers("a step on views", read, written, in, out));
    TRY(prepare_check_frames(step, frames));
    if (to == 0)
        return ERR_OK;
    mark_push("prepare_step", written);
    const enum err e = prepare_compute(be, step, cpu_team(be, from > to ? from : to), in->ptr,
                                       frames ? frames->ptr : NULL, out->ptr);
    mark_pop();
    backend_declare(be, prepare_step_flops(step), prepare_step_bytes(step),
                    prepare_step_bytes(step));
    return e;
}
