/* Parallel projection of few slices by lines (lines.h). Forward: a task owns views; back: a task
 * owns neighbouring lines. So nobody else writes what a task writes, sums have one order, and no
 * result depends on the number of threads. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/checks.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/parallel/lines.h"

#define LINES       8 /* of a band: 16 KiB of L1 at 512 pixels */
#define FEWEST      4 /* a quarter of the pixels, else their list is faster */
#define VIEWS_TASK  8
#define MOST_VOXELS (1 << 24) /* of the volume's copy: 64 MiB */
#define MOST_ROWS   (1 << 22) /* of the views of a pass: 16 MiB */

enum { ROWS, COLUMNS, AXES }; /* lines are rows of pixels, or columns */

/* Lines of one axis. In a copy, line l and slice k are `stride` floats from LINE_PAD before pixel 0
 * on, at (l * slices + k) * stride. */
struct line_axis {
    int64_t lines, length, stride;
    struct line_range *pixels; /* [lines] from the first of the set to the last */
};

/* The axis along which positions grow faster, and the position of pixel 0 of line 0. Where they
 * fall along a line, channels are counted from the other end. */
struct line_view {
    int axis, flipped;
    double first, along, across;
};

struct line_plan {
    const struct projector *p;
    const struct pixel_set *pixels;
    const struct line_kernels *kernels;
    int threads;
    int64_t slices, row; /* row: floats of a row of channels, padded */
    double whole;        /* sum of a pixel's entries in one view */
    struct line_axis axis[AXES];
    struct line_view *views;
    uint8_t *listed; /* [pixels] */
    /* Per thread: where `blocks` blocks of intervals start, and what the call needs besides. */
    int64_t blocks, own;
    float *scratch, *shared;
    void *memory;
};

static struct line_view line_view_of(const struct projector *p, int64_t view)
{
    const struct view_geometry *g = &p->views[view];
    const struct volume *v = &p->volume;
    const double cell = p->scan.delta_channel, last = (double)(p->scan.channels - 1);
    const double col = g->cos * v->delta / cell, row = -g->sin * volume_delta_row(v) / cell;
    struct line_view at = {.axis = fabs(row) > fabs(col) ? COLUMNS : ROWS};
    at.first = p->scan.channel_offset / cell + 0.5 * last - 0.5 * col * (double)(v->cols - 1) -
               0.5 * row * (double)(v->rows - 1);
    at.along = at.axis == ROWS ? col : row;
    at.across = at.axis == ROWS ? row : col;
    at.flipped = at.along < 0;
    if (at.flipped) {
        at.first = last - at.first;
        at.along = -at.along;
        at.across = -at.across;
    }
    return at;
}

static int64_t line_stride(int64_t length)
{
    return round_up(length, 16) + 2 * LINE_PAD;
}

/* Returns the floats of a slice of the volume as lines. */
static int64_t line_slice_floats(const struct volume *v)
{
    return int_max(v->rows * line_stride(v->cols), v->cols * line_stride(v->rows));
}

static int64_t line_whole_slices(const struct volume *v)
{
    return v->whole_slices ? v->whole_slices : v->slices;
}

int lines_fit(const struct projector *p, const struct pixel_set *pixels, int power)
{
    const struct volume *v = &p->volume;
    const int64_t slices = line_whole_slices(v);
    if (slices >= LINES_SLICES || p->taps != 2 || power != 1 || pixels->packed ||
        pixels->count < volume_pixels(v) / FEWEST || !ISA_PICK(line_kernels)->fast ||
        slices * line_slice_floats(v) > MOST_VOXELS || !pixels_ascend(pixels))
        return 0;
    for (int64_t view = 0; view < p->scan.views; view++)
        if (line_view_of(p, view).along * NARROW < 1)
            return 0;
    return 1;
}

/* A pixel's line, and its place on it. */
struct line_place {
    int64_t line, at;
};

static struct line_place line_place_of(const struct line_plan *plan, int axis, int64_t pixel)
{
    const int64_t cols = plan->p->volume.cols, row = pixel / cols, col = pixel - row * cols;
    return axis == ROWS ? (struct line_place){row, col} : (struct line_place){col, row};
}

static int64_t line_pixel(const struct line_plan *plan, int axis, int64_t line, int64_t at)
{
    const int64_t cols = plan->p->volume.cols;
    return axis == ROWS ? line * cols + at : at * cols + line;
}

/* Marks the set's pixels, and finds how far they reach on every line. */
static void line_mark(struct line_plan *plan)
{
    for (int i = 0; i < AXES; i++)
        for (int64_t l = 0; l < plan->axis[i].lines; l++)
            plan->axis[i].pixels[l] = (struct line_range){(int32_t)plan->axis[i].length, 0};
    for (int64_t q = 0; q < plan->pixels->count; q++) {
        const int64_t pixel = plan->pixels->indices ? plan->pixels->indices[q] : q;
        plan->listed[pixel] = 1;
        for (int i = 0; i < AXES; i++) {
            const struct line_place place = line_place_of(plan, i, pixel);
            struct line_range *r = &plan->axis[i].pixels[place.line];
            const int32_t n = (int32_t)place.at;
            r->low = n < r->low ? n : r->low;
            r->high = n + 1 > r->high ? n + 1 : r->high;
        }
    }
}

/* shared, own: floats that the call needs once, and per thread. */
static enum err line_plan_make(struct backend *be, const struct projector *p,
                               const struct pixel_set *pixels, int64_t shared, int64_t own,
                               struct line_plan *out)
{
    const struct volume *v = &p->volume;
    struct line_plan plan = {
        .p = p,
        .pixels = pixels,
        .kernels = ISA_PICK(line_kernels),
        .threads = cpu_projection_team(be, &p->scan, v, pixels->count),
        .slices = v->slices,
        .row = line_stride(p->scan.channels),
        .whole = v->delta * volume_delta_row(v) / p->scan.delta_channel,
        .axis = {{v->rows, v->cols, line_stride(v->cols), NULL},
                 {v->cols, v->rows, line_stride(v->rows), NULL}},
    };
    const int64_t longest = int_max(p->scan.channels, int_max(v->rows, v->cols));
    plan.blocks = round_up(longest / 4 + 16, 16);
    plan.own = round_up(2 * plan.blocks + own, 16);
    const int64_t floats = shared + plan.threads * plan.own;
    const size_t views = (size_t)p->scan.views * sizeof *plan.views;
    const size_t ranges = (size_t)(v->rows + v->cols) * sizeof(struct line_range);
    TRY(mem_alloc_zero("lines of pixels",
                       (size_t)floats * sizeof(float) + views + ranges + (size_t)volume_pixels(v),
                       &plan.memory));
    plan.shared = plan.memory;
    plan.scratch = plan.shared + shared;
    plan.views = (struct line_view *)(void *)(plan.shared + floats);
    plan.axis[ROWS].pixels = (struct line_range *)(void *)(plan.views + p->scan.views);
    plan.axis[COLUMNS].pixels = plan.axis[ROWS].pixels + v->rows;
    plan.listed = (uint8_t *)(plan.axis[COLUMNS].pixels + v->cols);
    for (int64_t view = 0; view < p->scan.views; view++)
        plan.views[view] = line_view_of(p, view);
    line_mark(&plan);
    *out = plan;
    return ERR_OK;
}

/* Returns what the calling thread has for the call. */
static float *line_own(const struct line_plan *plan)
{
    return plan->scratch + omp_get_thread_num() * plan->own + 2 * plan->blocks;
}

/* A sample in memory: floats from one channel, and one slice, to the next. */
struct line_order {
    int64_t channel, slice;
};

static struct line_order line_order_of(const struct line_plan *plan, enum sino_order order)
{
    const struct scan *s = &plan->p->scan;
    return order == SINO_ROWS_FASTEST ? (struct line_order){s->rows, 1}
                                      : (struct line_order){1, s->channels};
}

static float *line_plane(const struct line_plan *plan, struct sinogram y, int64_t view)
{
    const int64_t plane = plan->p->scan.rows * plan->p->scan.channels;
    return y.data && y.data->ptr ? (float *)y.data->ptr + view * plane : NULL;
}

/* Returns a pass over the band of lines from `first` on. */
static struct line_pass line_pass_of(const struct line_plan *plan, int axis, int64_t first)
{
    const struct line_axis *a = &plan->axis[axis];
    float *blocks = line_own(plan) - 2 * plan->blocks;
    return (struct line_pass){.lines = int_min(LINES, a->lines - first),
                              .pixels = a->pixels + first,
                              .channels = (int32_t)plan->p->scan.channels,
                              .slices = (int)plan->slices,
                              .fraction = blocks,
                              .cell = (int32_t *)(void *)(blocks + plan->blocks)};
}

/* Copies the set's pixels of a line, times their weight. */
static void line_copy(const struct line_plan *plan, int axis, int64_t line, const float *x)
{
    const struct line_axis *a = &plan->axis[axis];
    const float whole = (float)plan->whole;
    float *to = plan->shared + line * plan->slices * a->stride;
    memset(to, 0, (size_t)(plan->slices * a->stride) * sizeof *to);
    to += LINE_PAD;
    for (int64_t i = a->pixels[line].low; i < a->pixels[line].high; i++) {
        const int64_t pixel = line_pixel(plan, axis, line, i);
        if (plan->listed[pixel])
            for (int64_t k = 0; k < plan->slices; k++)
                to[k * a->stride + i] = whole * x[pixel * plan->slices + k];
    }
}

/* Projects the views [first, end) that have this axis to `rows`, [view][slice]. */
static void line_forward_views(const struct line_plan *plan, int axis, int64_t first, int64_t end,
                               float *rows)
{
    const struct line_axis *a = &plan->axis[axis];
    memset(rows, 0, (size_t)((end - first) * plan->slices * plan->row) * sizeof *rows);
    for (int64_t line = 0; line < a->lines; line += LINES) {
        struct line_pass t = line_pass_of(plan, axis, line);
        t.source = plan->shared + line * plan->slices * a->stride + LINE_PAD;
        t.source_slice = a->stride;
        t.source_line = plan->slices * a->stride;
        t.out_slice = plan->row;
        for (int64_t v = first; v < end; v++) {
            const struct line_view *at = &plan->views[v];
            const double inverse = 1 / at->along, position = at->first + at->across * (double)line;
            if (at->axis != axis)
                continue;
            t.grid = (struct cell_grid){(-0.5 - position) * inverse, inverse, at->along, 0};
            t.step = -at->across * inverse;
            t.out = rows + (v - first) * plan->slices * plan->row + LINE_PAD;
            plan->kernels->forward(&t);
        }
    }
}

static void line_store_view(const struct line_plan *plan, int64_t view, const float *rows,
                            struct sinogram y)
{
    const int64_t channels = plan->p->scan.channels;
    const struct line_order order = line_order_of(plan, y.order);
    const int flipped = plan->views[view].flipped;
    float *plane = line_plane(plan, y, view);
    for (int64_t k = 0; k < plan->slices; k++) {
        const float *row = rows + k * plan->row + LINE_PAD;
        float *to = plane + k * order.slice;
        for (int64_t c = 0; c < channels; c++)
            to[c * order.channel] = row[flipped ? channels - 1 - c : c];
    }
}

enum err lines_forward(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    struct line_plan plan;
    const int64_t views = p->scan.views, slices = p->volume.slices;
    const int64_t most = int_max(1, int_min(VIEWS_TASK, views / (4 * be->threads)));
    TRY(line_plan_make(be, p, pixels, slices * line_slice_floats(&p->volume),
                       most * slices * line_stride(p->scan.channels), &plan));
    struct course way = {be, AXES * ((views + most - 1) / most), 0};
#pragma omp parallel num_threads(plan.threads)
    for (int axis = 0; axis < AXES; axis++) {
        float *rows = line_own(&plan);
#pragma omp for schedule(static)
        for (int64_t line = 0; line < plan.axis[axis].lines; line++)
            line_copy(&plan, axis, line, x);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < views; view += most) {
            const int64_t end = int_min(view + most, views);
            if (!course_next(&way))
                continue;
            line_forward_views(&plan, axis, view, end, rows);
            for (int64_t v = view; v < end; v++)
                if (plan.views[v].axis == axis)
                    line_store_view(&plan, v, rows + (v - view) * slices * plan.row, y);
        }
    }
    mem_free(plan.memory);
    return ERR_OK;
}

/* Copies a view's samples, times w and a pixel's weight, to padded rows. */
static void line_load_view(const struct line_plan *plan, int64_t view, struct sinogram y,
                           struct sinogram w, float *rows)
{
    const struct line_view *at = &plan->views[view];
    const int64_t channels = plan->p->scan.channels;
    const struct line_order order = line_order_of(plan, y.order);
    const struct line_order weights = line_order_of(plan, w.order);
    const float scale = (float)(plan->whole / at->along);
    const float *plane = line_plane(plan, y, view), *weight = line_plane(plan, w, view);
    for (int64_t k = 0; k < plan->slices; k++) {
        float *row = rows + k * plan->row + LINE_PAD;
        for (int64_t c = 0; c < channels; c++) {
            float value = plane ? plane[k * order.slice + c * order.channel] : 1;
            if (weight)
                value *= weight[k * weights.slice + c * weights.channel];
            row[at->flipped ? channels - 1 - c : c] = scale * value;
        }
    }
}

/* Views whose rows are there. */
struct line_views {
    int64_t first, end;
};

/* Sums of a band of lines, [line][slice], over the views that have this axis. */
static void line_back_band(const struct line_plan *plan, struct line_views views, int axis,
                           int64_t line, float *sums)
{
    const struct line_axis *a = &plan->axis[axis];
    struct line_pass t = line_pass_of(plan, axis, line);
    t.source_slice = plan->row;
    t.out = sums + LINE_PAD;
    t.out_slice = a->stride;
    t.out_line = plan->slices * a->stride;
    memset(sums, 0, (size_t)(t.lines * t.out_line) * sizeof *sums);
    for (int64_t v = views.first; v < views.end; v++) {
        const struct line_view *at = &plan->views[v];
        const double position = at->first + at->across * (double)line;
        if (at->axis != axis)
            continue;
        t.grid = (struct cell_grid){position - 0.5 * at->along, at->along, 1 / at->along, 0};
        t.step = at->across;
        t.source = plan->shared + (v - views.first) * plan->slices * plan->row + LINE_PAD;
        plan->kernels->back(&t);
    }
}

/* Adds a band's sums to the set's pixels, or sets them. */
static void line_add_band(const struct line_plan *plan, int axis, int64_t first, int set,
                          const float *sums, float *x)
{
    const struct line_axis *a = &plan->axis[axis];
    const int64_t lines = int_min(LINES, a->lines - first);
    for (int64_t l = 0; l < lines; l++, sums += plan->slices * a->stride)
        for (int64_t i = a->pixels[first + l].low; i < a->pixels[first + l].high; i++) {
            const int64_t pixel = line_pixel(plan, axis, first + l, i);
            float *to = x + pixel * plan->slices;
            for (int64_t k = 0; plan->listed[pixel] && k < plan->slices; k++) {
                const float sum = sums[k * a->stride + LINE_PAD + i];
                to[k] = set ? sum : to[k] + sum;
            }
        }
}

enum err lines_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                    struct sinogram y, struct sinogram w, float *x)
{
    struct line_plan plan;
    const int64_t views = p->scan.views, slices = p->volume.slices;
    const int64_t row = slices * line_stride(p->scan.channels);
    /* Passes end at the same views in every part of a volume: they round differently. */
    const int64_t fit = MOST_ROWS / (line_whole_slices(&p->volume) * line_stride(p->scan.channels));
    const int64_t most = int_max(1, int_min(views, fit));
    const int64_t band = LINES * slices * line_stride(int_max(p->volume.rows, p->volume.cols));
    TRY(line_plan_make(be, p, pixels, most * row, band, &plan));
    const int64_t bands =
        (p->volume.rows + LINES - 1) / LINES + (p->volume.cols + LINES - 1) / LINES;
    struct course way = {be, (views + most - 1) / most * bands, 0};
#pragma omp parallel num_threads(plan.threads)
    for (int64_t view = 0; view < views; view += most) {
        const struct line_views now = {view, int_min(view + most, views)};
        float *sums = line_own(&plan);
#pragma omp for schedule(static)
        for (int64_t v = now.first; v < now.end; v++)
            line_load_view(&plan, v, y, w, plan.shared + (v - view) * row);
        for (int axis = 0; axis < AXES; axis++) {
#pragma omp for schedule(dynamic, 1)
            for (int64_t line = 0; line < plan.axis[axis].lines; line += LINES)
                if (course_next(&way)) {
                    line_back_band(&plan, now, axis, line, sums);
                    line_add_band(&plan, axis, line, view == 0 && axis == ROWS, sums, x);
                }
        }
    }
    mem_free(plan.memory);
    return ERR_OK;
}
