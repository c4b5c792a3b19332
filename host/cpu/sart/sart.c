/* SART. Slices are computed beside each other; of one slice alone, the blocks of rays of a view: every other
 * block at a time, for neighbours share pixels. In a block two rays that are apart are taken at a time. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mark/mark.h"
#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/sart/sart.h"
#include "host/cpu/sart/sart_rays.h"

/* Rays that are 1 apart share pixels up to a distance of 2 sqrt(2), so the halves of a block hold more
 * than three rays each. */
#define BLOCK 16
#define HALF  (BLOCK / 2)

/* Threads share a view from 1024 channels on, 6 ms of work between its three barriers: on a busy machine
 * each of them waits for a thread that waits for a CPU. Below, a slice is one thread's. */
#define VIEW_ELEMENTS(pixels) ((pixels) / 4)
/* Place and weights of a point take 10, the sums 16, the correction 9. */
#define POINT_FLOPS 35

/* Equiripple Hamming window. */
#define HAMMING_BETA 0.46164

struct sart_work {
    const struct sart_plan *p;
    struct sart_loops loops;
    size_t real; /* bytes of a number */
    int64_t size, radius;
    double center;
    char *windows; /* that of rays of 2 n + 1 points begins at n * n - 1 */
    char *made;    /* [n]: 1 where a ray has that window */
    int slices;    /* that are computed beside each other, each by `team` threads */
    int team;
    char *planes, *rooms; /* one for each slice; one for each thread */
    size_t plane_bytes, room_bytes;
};

/* Results of each operation are rounded to the type of the arrays, as if it were done in it. */
static double sart_rounded(const struct sart_work *w, double x)
{
    return w->p->wide ? x : (double)(float)x;
}

static void number_put(const struct sart_work *w, char *to, int64_t at, double x)
{
    if (w->p->wide)
        ((double *)(void *)to)[at] = x;
    else
        ((float *)(void *)to)[at] = (float)x;
}

static double number_get(const struct sart_work *w, const void *from, int64_t at)
{
    return w->p->wide ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

/* Returns half the length of a ray in the circle. */
static double ray_half_length(const struct sart_work *w, int64_t channel, double shift, double *t)
{
    const double radius = (double)w->radius, square = radius * radius;
    *t = sart_rounded(w, sart_rounded(w, (double)channel + sart_rounded(w, shift)) - w->center);
    const double off = sart_rounded(w, *t * *t);
    return square >= off ? sart_rounded(w, sqrt(sart_rounded(w, square - off))) : 0;
}

/* Returns half of the number of its intervals, which are at most half a pixel long. */
static int64_t ray_half_points(double half_length)
{
    return (int64_t)ceil(2 * half_length);
}

struct sart_view {
    const char *samples; /* the first of its detector row */
    double cosine, sine, shift;
};

static struct sart_ray ray_of(const struct sart_work *w, const struct sart_view *v, int64_t channel)
{
    double t;
    const double s = ray_half_length(w, channel, v->shift, &t);
    const int64_t n = ray_half_points(s);
    if (n == 0 || channel >= w->size)
        return (struct sart_ray){0};
    const double step = sart_rounded(w, 2 * s / (double)(2 * n));
    return (struct sart_ray){.x = sart_rounded(w, s * v->cosine - t * v->sine),
                             .y = sart_rounded(w, s * v->sine + t * v->cosine),
                             .dx = sart_rounded(w, -step * v->cosine),
                             .dy = sart_rounded(w, -step * v->sine),
                             .step = step,
                             .value = number_get(w, v->samples, channel),
                             .window = w->windows + (size_t)(n * n - 1) * w->real,
                             .points = 2 * n + 1};
}

/* ---- Windows ---- */

/* Its period is one interval less than the ray has, as in scikit-image. */
static void window_fill(const struct sart_work *w, int64_t n)
{
    const double beta = sart_rounded(w, HAMMING_BETA), rest = sart_rounded(w, 1 - beta);
    char *to = w->windows + (size_t)(n * n - 1) * w->real;
    for (int64_t k = 0; k <= 2 * n; k++)
        number_put(w, to, k, rest - beta * cos(2 * M_PI * (double)k / (double)(2 * n - 1)));
}

/* Without shifts all views have the same rays. */
static void windows_make(const struct sart_work *w)
{
    const struct sart_plan *p = w->p;
    const int64_t views = p->shifts ? p->steps : 1;
    for (int64_t v = 0; v < views; v++)
        for (int64_t channel = 0; channel < p->channels; channel++) {
            double t;
            const double shift = p->shifts ? p->shifts[p->order[v]] : 0;
            w->made[ray_half_points(ray_half_length(w, channel, shift, &t))] = 1;
        }
#pragma omp parallel for num_threads(w->slices * w->team) schedule(dynamic)
    for (int64_t n = 1; n <= 2 * w->radius; n++)
        if (w->made[n])
            window_fill(w, n);
}

/* ---- One view ---- */

static void block_correct(const struct sart_work *w, const struct sart_plane *plane,
                          const struct sart_view *v, int64_t block, const struct sart_room *room)
{
    const int64_t first = block * BLOCK;
    for (int64_t c = first; c < first + HALF && c < w->size; c++) {
        const struct sart_ray pair[2] = {ray_of(w, v, c), ray_of(w, v, c + HALF)};
        if (pair[0].points + pair[1].points)
            w->loops.correct(plane, pair, room);
    }
}

static struct sart_room room_of(const struct sart_work *w, int thread)
{
    char *at = w->rooms + (size_t)thread * w->room_bytes;
    const size_t points = (size_t)(4 * w->radius + 1), weights = 4 * points * w->real;
    return (struct sart_room){
        {at, at + weights},
        {(int32_t *)(void *)(at + 2 * weights), (int32_t *)(void *)(at + 2 * weights) + points}};
}

/* slice: which of those beside each other. */
static void view_correct(const struct sart_work *w, int slice, const struct sart_plane *plane,
                         const struct sart_view *v)
{
    const struct sart_plan *p = w->p;
    const int64_t blocks = (w->size + BLOCK - 1) / BLOCK, inner = w->size - 1;
#pragma omp parallel num_threads(w->team)
    {
        const struct sart_room room = room_of(w, slice * w->team + omp_get_thread_num());
        for (int64_t odd = 0; odd < 2; odd++) {
#pragma omp for schedule(static, 1)
            for (int64_t b = odd; b < blocks; b += 2)
                block_correct(w, plane, v, b, &room);
        }
#pragma omp for schedule(static)
        for (int64_t i = 1; i <= inner; i++) {
            const size_t at = (size_t)(i * plane->pitch + 1) * w->real;
            w->loops.apply((char *)plane->image + at, (char *)plane->update + at, inner,
                           p->relaxation, p->low, p->high);
        }
    }
}

/* ---- Slices ---- */

static struct sart_plane plane_of(const struct sart_work *w, int slice)
{
    char *at = w->planes + 2 * (size_t)slice * w->plane_bytes;
    return (struct sart_plane){at, at + w->plane_bytes, w->size + 1, w->center};
}

/* Row 0 and column 0 of an image get no corrections, and are nothing to a ray: they stay zero here. */
static void plane_move(const struct sart_work *w, const struct sart_plane *plane, char *x,
                       int64_t row, int back)
{
    for (int64_t i = 1; i < w->size; i++)
        for (int64_t j = 1; j < w->size; j++) {
            char *at = x + (size_t)((i * w->size + j) * w->p->rows + row) * w->real;
            char *inner = (char *)plane->image + (size_t)(i * plane->pitch + j) * w->real;
            memcpy(back ? at : inner, back ? inner : at, w->real);
        }
}

static void edge_clip(const struct sart_work *w, char *x, int64_t row)
{
    for (int64_t i = 0; i < 2 * w->size; i++) {
        const int64_t pixel = i < w->size ? i : (i - w->size) * w->size;
        const int64_t at = pixel * w->p->rows + row;
        number_put(w, x, at, fmin(fmax(number_get(w, x, at), w->p->low), w->p->high));
    }
}

static void slice_correct(const struct sart_work *w, int slice, int64_t row, const char *y, char *x,
                          struct course *way)
{
    const struct sart_plan *p = w->p;
    const struct sart_plane plane = plane_of(w, slice);
    plane_move(w, &plane, x, row, 0);
    for (int64_t s = 0; s < p->steps && course_next(way); s++) {
        const int64_t view = p->order[s];
        const double angle = sart_rounded(w, p->angles[view]);
        const size_t first = (size_t)((view * p->rows + row) * p->channels);
        const struct sart_view v = {y + first * w->real, cos(angle), sin(angle),
                                    p->shifts ? p->shifts[view] : 0};
        view_correct(w, slice, &plane, &v);
    }
    plane_move(w, &plane, x, row, 1);
    if (p->steps > 0)
        edge_clip(w, x, row);
}

static enum err work_open(struct sart_work *w)
{
    const int64_t windows = (2 * w->radius + 1) * (2 * w->radius + 1);
    const size_t points = (size_t)(4 * w->radius + 1);
    w->room_bytes = 2 * points * (4 * w->real + sizeof(int32_t));
    w->room_bytes = (w->room_bytes + 127) / 128 * 128; /* threads share no line of the cache */
    w->plane_bytes = (size_t)((w->size + 1) * (w->size + 1)) * w->real;
    TRY(mem_alloc_zero("images and corrections of SART", 2 * (size_t)w->slices * w->plane_bytes,
                       (void **)&w->planes));
    TRY(mem_alloc("windows of SART", (size_t)windows * w->real, (void **)&w->windows));
    TRY(mem_alloc_zero("windows of SART", (size_t)(2 * w->radius + 1), (void **)&w->made));
    return mem_alloc("points of SART", (size_t)(w->slices * w->team) * w->room_bytes,
                     (void **)&w->rooms);
}

static void work_close(struct sart_work *w)
{
    mem_free(w->planes);
    mem_free(w->windows);
    mem_free(w->made);
    mem_free(w->rooms);
}

enum err cpu_sart(struct backend *be, const struct sart_plan *p, const void *y, void *x)
{
    const int64_t size = p->channels, steps = p->steps * p->rows;
    struct sart_work w = {.p = p,
                          .loops = p->wide ? ISA_PICK(sart_kernels)->wide
                                           : ISA_PICK(sart_kernels)->narrow,
                          .real = p->wide ? sizeof(double) : sizeof(float),
                          .size = size,
                          .radius = size > 3 ? size / 2 - 1 : 0,
                          .center = (double)(size / 2),
                          .slices = p->rows < be->threads ? (int)p->rows : be->threads,
                          .team = p->rows > 1 ? 1 : cpu_team(be, VIEW_ELEMENTS(size * size))};
    struct course way = {be, steps, 0};
    mark_push("sart", (size_t)(steps * size) * w.real);
    enum err e = work_open(&w);
    if (!e)
        windows_make(&w);
    const int64_t rows = e ? 0 : p->rows;
#pragma omp parallel for num_threads(w.slices) schedule(dynamic)
    for (int64_t row = 0; row < rows; row++)
        slice_correct(&w, omp_get_thread_num(), row, y, x, &way);
    work_close(&w);
    mark_pop();
    const double points = 2 * M_PI * (double)(w.radius * w.radius) * (double)steps;
    backend_declare(be, POINT_FLOPS * points, (double)w.real * (double)((steps + 2 * size) * size),
                    (double)w.real * 12 * points);
    return e;
}
