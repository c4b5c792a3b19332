/* Every ray of the ideal detector meets the real one in a point, where the view is interpolated:
 * both see it from the same source. The value of a ray stays what it is. */
#include <math.h>
#include <stdlib.h>

#include "host/base/memory.h"
#include "host/scan/poses.h"
#include "host/store/format/npy.h"

/* A view's source and detector in the frame of its new angle. */
struct pose {
    double cos, sin;            /* of the detector's rotation */
    double shift[2], source[2]; /* along channels and rows */
    double turn_cos, turn_sin;  /* of the angle that a shifted source adds */
    double slope;               /* of a ray, per ALU on the ideal detector */
    double detector;            /* distance from the source's side to the detector; 0: parallel */
};

static struct pose pose_of(const struct scan *s, const float *row)
{
    const double angle = (double)row[POSE_ROTATION] * M_PI / 180;
    struct pose p = {.cos = cos(angle), .sin = sin(angle), .turn_cos = 1};
    p.shift[0] = (double)row[POSE_CHANNEL_SHIFT];
    p.shift[1] = (double)row[POSE_ROW_SHIFT];
    if (s->beam == BEAM_CONE && isfinite(s->source_detector)) {
        p.source[0] = (double)row[POSE_SOURCE_CHANNEL];
        p.source[1] = (double)row[POSE_SOURCE_ROW];
        const double far = hypot(p.source[0], s->source_iso);
        p.turn_cos = s->source_iso / far;
        p.turn_sin = p.source[0] / far;
        /* The ideal source is a little nearer: equal magnification at the axis. */
        p.slope = s->source_iso / (s->source_detector * far);
        p.detector = s->source_detector;
    }
    return p;
}

/* Where the ray through (u, v) of the ideal detector meets the real one, in its coordinates. */
static void meet(const struct pose *p, double u, double v, double at[2])
{
    double x = u, z = v;
    if (p->detector > 0) {
        const double along = u * p->slope;
        const double way = p->detector / (p->turn_cos + p->turn_sin * along);
        x = p->source[0] + way * (p->turn_cos * along - p->turn_sin);
        z = p->source[1] + way * v * p->slope;
    }
    x -= p->shift[0];
    z -= p->shift[1];
    at[0] = p->cos * x + p->sin * z;
    at[1] = p->cos * z - p->sin * x;
}

/* Bilinear; 0 beside the detector. */
static float sample(const struct scan *s, const float *view, double channel, double row)
{
    const double c0 = floor(channel), r0 = floor(row);
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double r = r0 + i, c = c0 + j;
            if (r >= 0 && c >= 0 && r < (double)s->rows && c < (double)s->channels)
                sum += (1 - fabs(row - r)) * (1 - fabs(channel - c)) *
                       (double)view[(int64_t)r * s->channels + (int64_t)c];
        }
    return (float)sum;
}

static void sample_view(const struct scan *s, const struct pose *p, const float *view, float *out)
{
    const double middle_row = 0.5 * (double)(s->rows - 1);
    const double middle_channel = 0.5 * (double)(s->channels - 1);
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < s->channels; c++) {
            double at[2];
            meet(p, ((double)c - middle_channel) * s->delta_channel - s->channel_offset,
                 ((double)r - middle_row) * s->delta_row - s->row_offset, at);
            out[r * s->channels + c] =
                sample(s, view, (at[0] + s->channel_offset) / s->delta_channel + middle_channel,
                       (at[1] + s->row_offset) / s->delta_row + middle_row);
        }
}

/* The angles and heights at which an ideal source would be. */
static enum err move_source(const float *table, struct scan *s)
{
    float *angles = malloc((size_t)s->views * sizeof *angles);
    float *heights = malloc((size_t)s->views * sizeof *heights);
    if (!angles || !heights) {
        free(angles);
        free(heights);
        return FAIL(ERR_MEMORY, "no memory left for %lld angles", (long long)s->views);
    }
    for (int64_t i = 0; i < s->views; i++) {
        const struct pose p = pose_of(s, table + i * POSE_COLUMNS);
        angles[i] = (float)((double)s->angles[i] + atan2(p.turn_sin, p.turn_cos));
        heights[i] = (s->z_shifts ? s->z_shifts[i] : 0) + (float)p.source[1];
    }
    free((void *)s->angles);
    free((void *)s->z_shifts);
    s->angles = angles;
    s->z_shifts = heights;
    return ERR_OK;
}

static enum err check_table(const char *path, const struct scan *s, const float *table)
{
    const int moves = s->beam == BEAM_CONE && isfinite(s->source_detector);
    FAIL_IF(s->curved, ERR_USAGE, "--poses is for flat detectors, and this one is curved");
    for (int64_t i = 0; i < s->views; i++) {
        const float *row = table + i * POSE_COLUMNS;
        const double x = (double)row[POSE_SOURCE_CHANNEL], z = (double)row[POSE_SOURCE_ROW];
        FAIL_IF(!moves && (x != 0 || z != 0), ERR_INPUT,
                "--poses %s: view %lld moves the source by (%g, %g); parallel rays have none: "
                "write 0 there",
                path, (long long)i, x, z);
        FAIL_IF(moves && fabs(x) > 0.1 * s->source_iso, ERR_INPUT,
                "--poses %s: view %lld moves the source by %g along the channels; a tenth of "
                "source_iso_dist, %g, is accepted: give the rest as its angle",
                path, (long long)i, x, 0.1 * s->source_iso);
    }
    return ERR_OK;
}

enum err scan_apply_poses(const char *path, struct ct_model *model, float **sinogram)
{
    static const char *const names[] = {"views", "columns"};
    struct scan *s = &model->scan;
    int64_t shape[2] = {s->views, POSE_COLUMNS};
    float *table;
    void *ideal = NULL;
    enum err e = ERR_OK;
    if (npy_read(path, 2, shape, names, 1, &table))
        return err_prefix(ERR_INPUT, "--poses");
    TRY_OUT(check_table(path, s, table));
    TRY_OUT(
        mem_alloc("views of an ideal scanner", (size_t)scan_samples(s) * sizeof(float), &ideal));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < s->views; i++) {
        const struct pose p = pose_of(s, table + i * POSE_COLUMNS);
        const int64_t at = i * s->rows * s->channels;
        sample_view(s, &p, *sinogram + at, (float *)ideal + at);
    }
    mem_free(*sinogram);
    *sinogram = ideal;
    if (s->beam == BEAM_CONE && isfinite(s->source_detector))
        e = move_source(table, s);
out:
    mem_free(table);
    return e;
}
