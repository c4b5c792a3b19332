/* Every ray of the ideal detector meets the real one in a point, where the view is interpolated:
 * both see it from the same source. The value of a ray stays what it is. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/scan/poses.h"
#include "host/store/format/npy.h"

#define TILT_MOST 45 /* degrees */

/* A view's source and detector in the frame of its new angle. */
struct pose {
    double channel[3], row[3], normal[3]; /* of the detector: along channels, rows, and away */
    double shift[2], source[2];           /* along channels and rows */
    double turn_cos, turn_sin;            /* of the angle that a shifted source adds */
    double slope;                         /* of a ray, per ALU on the ideal detector */
    double detector; /* distance from the source's side to the detector; 0: parallel */
};

static double radians_of(float degrees)
{
    return (double)degrees * M_PI / 180;
}

/* Leans a direction (channels, rows, away from the source) by pitch, then by yaw. */
static void pose_lean(const float *row, double *v)
{
    const double pitch = radians_of(row[POSE_PITCH]), yaw = radians_of(row[POSE_YAW]);
    const double up = cos(pitch) * v[1] - sin(pitch) * v[2];
    const double away = sin(pitch) * v[1] + cos(pitch) * v[2];
    const double along = cos(yaw) * v[0] - sin(yaw) * away;
    v[2] = sin(yaw) * v[0] + cos(yaw) * away;
    v[0] = along;
    v[1] = up;
}

static struct pose pose_of(const struct scan *s, const float *row)
{
    const double c = cos(radians_of(row[POSE_ROTATION])), t = sin(radians_of(row[POSE_ROTATION]));
    struct pose p = {.channel = {c, t}, .row = {-t, c}, .normal = {0, 0, 1}, .turn_cos = 1};
    pose_lean(row, p.channel);
    pose_lean(row, p.row);
    pose_lean(row, p.normal);
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

static double vector_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Finds where the ray through (u, v) of the ideal detector meets the real one, in its coordinates;
 * 0 where they are parallel or the detector lies behind the source. */
static int ray_meet(const struct pose *p, double u, double v, double at[2])
{
    double from[3] = {u, v, 0}, way[3] = {0, 0, 1};
    if (p->detector > 0) {
        const double along = u * p->slope;
        way[0] = p->turn_cos * along - p->turn_sin;
        way[1] = v * p->slope;
        way[2] = p->turn_cos + p->turn_sin * along;
        from[0] = p->source[0];
        from[1] = p->source[1];
        from[2] = -p->detector;
    }
    from[0] -= p->shift[0];
    from[1] -= p->shift[1];
    const double towards = vector_dot(p->normal, way), before = -vector_dot(p->normal, from);
    if (towards <= 0 || (p->detector > 0 && before <= 0))
        return 0;
    for (int i = 0; i < 3; i++)
        from[i] += before / towards * way[i];
    at[0] = vector_dot(p->channel, from);
    at[1] = vector_dot(p->row, from);
    return 1;
}

/* Interpolates bilinearly; 0 beside the detector. */
static float view_sample(const struct scan *s, const float *view, double channel, double row)
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
            const double u = ((double)c - middle_channel) * s->delta_channel - s->channel_offset;
            const double v = ((double)r - middle_row) * s->delta_row - s->row_offset;
            double at[2];
            out[r * s->channels + c] =
                !ray_meet(p, u, v, at)
                    ? 0
                    : view_sample(s, view,
                                  (at[0] + s->channel_offset) / s->delta_channel + middle_channel,
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

/* (views, POSE_COLUMNS), mem_alloc; a table without tilts gets zeros there. */
static enum err poses_read_table(const char *path, int64_t views, float **out)
{
    static const char *const names[] = {"views", "columns"};
    int64_t shape[2] = {views, -1};
    float *given;
    void *table = NULL;
    enum err e = ERR_OK;
    if (npy_read(path, 2, shape, names, 1, &given))
        return err_prefix(ERR_INPUT, "`poses`");
    if (shape[1] != POSE_PITCH && shape[1] != POSE_COLUMNS)
        e = FAIL(ERR_INPUT,
                 "`poses=%s`: has %lld columns; %d are accepted, or %d with tilts: see "
                 "docs/howto/scans.md",
                 path, (long long)shape[1], POSE_PITCH, POSE_COLUMNS);
    if (!e)
        e = mem_alloc("poses", (size_t)(views * POSE_COLUMNS) * sizeof(float), &table);
    for (int64_t i = 0; !e && i < views * POSE_COLUMNS; i++) {
        const int64_t column = i % POSE_COLUMNS;
        ((float *)table)[i] = column < shape[1] ? given[i / POSE_COLUMNS * shape[1] + column] : 0;
    }
    mem_free(given);
    *out = table;
    return e;
}

static enum err check_table(const char *path, const struct scan *s, const float *table)
{
    const int moves = s->beam == BEAM_CONE && isfinite(s->source_detector);
    FAIL_IF(
        s->moves, ERR_USAGE,
        "`poses` is for parallel and cone beams: a translation or multi-axis scan has its moves "
        "in the geometry file");
    FAIL_IF(s->curved, ERR_USAGE, "`poses` is for flat detectors, and this one is curved");
    for (int64_t i = 0; i < s->views; i++) {
        const float *row = table + i * POSE_COLUMNS;
        const double x = (double)row[POSE_SOURCE_CHANNEL], z = (double)row[POSE_SOURCE_ROW];
        FAIL_IF(!moves && (x != 0 || z != 0), ERR_INPUT,
                "`poses=%s`: view %lld moves the source by (%g, %g); parallel rays have none: "
                "write 0 there",
                path, (long long)i, x, z);
        FAIL_IF(moves && fabs(x) > 0.1 * s->source_iso, ERR_INPUT,
                "`poses=%s`: view %lld moves the source by %g along the channels; a tenth of "
                "source_iso_dist, %g, is accepted: give the rest as its angle",
                path, (long long)i, x, 0.1 * s->source_iso);
        const double pitch = (double)row[POSE_PITCH], yaw = (double)row[POSE_YAW];
        FAIL_IF(fmax(fabs(pitch), fabs(yaw)) > TILT_MOST, ERR_INPUT,
                "`poses=%s`: view %lld tilts the detector by (%g, %g) degrees; at most %d are "
                "accepted: check the columns and their unit",
                path, (long long)i, pitch, yaw, TILT_MOST);
    }
    return ERR_OK;
}

enum err scan_apply_poses(const char *path, struct ct_model *model, float **sinogram)
{
    struct scan *s = &model->scan;
    float *table;
    void *ideal = NULL;
    enum err e = ERR_OK;
    TRY(poses_read_table(path, s->views, &table));
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
