/* Finds the orbits of a scan and of a set of pixels. */
#include <math.h>
#include <stdlib.h>

#include "host/cpu/cone/orbit.h"

/* How far, in rows, the members of an orbit may lie apart because their angles are rounded. In
 * float32 a row near 1000 is known within 6e-5, the root mean square here is 20 times below the most. */
#define ROWS_APART 3e-4
#define ANGLE_OFF  1e-5 /* the most, in radians */

/* Overlaps of larger grids have kernels of their own. A set of pixels may have the corners that the
 * region of reconstruction leaves out. */
static int orbit_widths_fit(const struct projector *p)
{
    struct volume unmasked = p->volume;
    double least, most;
    unmasked.ror = ROR_NONE;
    rows_per_slice(&p->scan, &unmasked, &least, &most);
    return most <= NARROW && least * NARROW >= 1;
}

/* Returns 1 for a view that only turns. */
static int orbit_view_turns(const struct view_geometry *g)
{
    return g->x == 0 && g->y == 0 && g->upright == 1 && g->rise == 0 && g->stretch == 1 &&
           g->spread == 0 && g->z_shift == 0;
}

/* Returns how far apart the angles of an orbit's members may be from whole turns. */
static double orbit_angle_tolerance(const struct projector *p)
{
    const struct scan *s = &p->scan;
    struct volume unmasked = p->volume;
    double least, most;
    unmasked.ror = ROR_NONE;
    magnification_range(s, &unmasked, &least, &most);
    const double reach = s->source_detector * (1 / p->magnification - 1 / most);
    const double rows = 0.5 * (double)s->rows + fabs(s->row_offset / s->delta_row);
    const double apart = rows * most * reach / s->source_detector; /* rows by radian */
    return apart * ANGLE_OFF > ROWS_APART ? ROWS_APART / apart : ANGLE_OFF;
}

/* Returns 1 where view v + m * (views / members) is view v turned by m * angle, for all of them. */
static int orbit_views_turn(const struct projector *p, int members, double angle, double tolerance)
{
    const int64_t views = p->scan.views / members;
    if (p->scan.views % members)
        return 0;
    for (int64_t v = 0; v < p->scan.views; v++) {
        const struct view_geometry *first = &p->views[v % views], *g = &p->views[v];
        const double turn = (double)(v / views) * angle;
        const double c = first->cos * cos(turn) - first->sin * sin(turn);
        const double s = first->sin * cos(turn) + first->cos * sin(turn);
        if (!orbit_view_turns(g) || hypot(g->cos - c, g->sin - s) > tolerance)
            return 0;
    }
    return 1;
}

/* Chooses the most members; quarter turns need a square. */
void orbits_of_views(const struct projector *p, struct orbits *o)
{
    static const struct {
        int members, turns, backward;
    } kinds[] = {{4, 4, 0}, {4, 4, 1}, {2, 4, 0}, {2, 4, 1}, {2, 2, 0}};
    const struct volume *v = &p->volume;
    const int square = v->rows == v->cols && volume_delta_row(v) == v->delta;
    const double tolerance = orbit_angle_tolerance(p);
    *o = (struct orbits){0};
    if (p->z_stride || !orbit_widths_fit(p))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !o->members; i++) {
        const double angle = (kinds[i].backward ? -2 : 2) * M_PI / kinds[i].turns;
        if ((kinds[i].turns == 4 && !square) ||
            !orbit_views_turn(p, kinds[i].members, angle, tolerance))
            continue;
        o->members = kinds[i].members;
        o->turns = kinds[i].turns;
        o->backward = kinds[i].backward;
        o->views = p->scan.views / o->members;
    }
}

static int64_t orbit_turn_pixel(const struct projector *p, const struct orbits *o, int64_t pixel)
{
    const int64_t cols = p->volume.cols, row = pixel / cols, col = pixel - row * cols;
    if (o->turns == 2)
        return p->volume.rows * cols - 1 - pixel;
    return o->backward ? col * cols + (cols - 1 - row) : (cols - 1 - col) * cols + row;
}

/* Returns 1 for one pixel of each orbit, the centre's aside. */
static int orbit_is_first(const struct projector *p, const struct orbits *o, int64_t pixel)
{
    const int64_t cols = p->volume.cols, row = pixel / cols, col = pixel - row * cols;
    if (o->turns == 2)
        return pixel < p->volume.rows * cols / 2;
    return 2 * row < cols && 2 * col < cols - 1;
}

/* Marks the pixels of the set; returns 0 where one is listed twice. */
static int orbit_mark(const struct pixel_set *pixels, uint8_t *marks)
{
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t pixel = pixels->indices ? pixels->indices[q] : q;
        if (marks[pixel])
            return 0;
        marks[pixel] = 1;
    }
    return 1;
}

/* Lists one pixel of each whole orbit, then the pixels of the others. Returns how many orbits there
 * are. */
static int64_t orbit_list(const struct projector *p, const struct orbits *o, int64_t pixels,
                          uint8_t *marks, int32_t *indices, int64_t *rest)
{
    int64_t n = 0;
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        int64_t at = pixel;
        int whole = marks[pixel] && orbit_is_first(p, o, pixel);
        for (int t = 1; t < o->turns && whole; t++)
            whole = marks[at = orbit_turn_pixel(p, o, at)];
        if (!whole)
            continue;
        indices[n++] = (int32_t)pixel;
        for (int t = 0; t < o->turns; t++, at = orbit_turn_pixel(p, o, at))
            marks[at] = 0;
    }
    *rest = n;
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        if (marks[pixel])
            indices[(*rest)++] = (int32_t)pixel;
    *rest -= n;
    return n;
}

int64_t orbits_of_list(const struct projector *p, const struct orbits *o, const int32_t *indices,
                       int64_t count, int32_t *place, int32_t *first)
{
    int64_t n = 0;
    for (int64_t q = 0; q < count; q++)
        place[indices[q]] = (int32_t)q;
    for (int64_t q = 0; q < count; q++) {
        const int64_t turned = orbit_turn_pixel(p, o, indices[q]), at = place[turned];
        if (place[indices[q]] != q || at >= count || indices[at] != turned)
            return -1; /* listed twice, or a turn leads out of the list */
        if (orbit_is_first(p, o, indices[q]))
            first[n++] = indices[q];
    }
    return n * o->turns == count ? n : -1;
}

#define SIDE 8 /* of a group: 64 pixels of 4 turns by 512 slices are 512 KiB of L2 */

enum err orbits_create(const struct projector *p, const struct pixel_set *pixels,
                       struct orbits *out)
{
    const int64_t all = volume_pixels(&p->volume);
    enum err e = ERR_OK;
    int64_t rest = 0;
    *out = (struct orbits){0};
    if ((pixels->packed && pixels->indices) || pixels->count < BATCH)
        return ERR_OK;
    orbits_of_views(p, out);
    if (!out->members)
        return ERR_OK;
    uint8_t *marks = calloc((size_t)all, 1);
    out->indices = malloc((size_t)pixels->count * sizeof *out->indices);
    if (!marks || !out->indices) {
        e = FAIL(ERR_MEMORY, "no memory for the orbits of %lld pixels", (long long)all);
        goto out;
    }
    const int64_t n =
        orbit_mark(pixels, marks) ? orbit_list(p, out, all, marks, out->indices, &rest) : 0;
    if (2 * rest >= n * out->turns) { /* a set of its own shape */
        out->members = 0;
        goto out;
    }
    out->rest = (struct pixel_set){out->indices + n, rest, 0};
    const struct pixel_set first = {out->indices, n, 0};
    e = pixel_groups_create(p, &first, SIDE, SIDE, &out->groups);
out:
    free(marks);
    out->members = e ? 0 : out->members; /* its groups are freed */
    if (!out->members)
        orbits_free(out);
    return e;
}

void orbits_free(struct orbits *o)
{
    if (o->members)
        pixel_groups_free(&o->groups);
    free(o->indices);
    *o = (struct orbits){0};
}

void orbit_turn_batch(const struct projector *p, const struct orbits *o,
                      const struct pixel_batch *from, struct pixel_batch *to)
{
    const int64_t slices = p->volume.slices;
    to->n = from->n;
    for (int q = 0; q < from->n; q++) {
        const double x = from->x[q], y = from->y[q];
        to->x[q] = o->turns == 2 ? -x : o->backward ? -y : y;
        to->y[q] = o->turns == 2 ? -y : o->backward ? x : -x;
        to->cylinder[q] = orbit_turn_pixel(p, o, from->cylinder[q] / slices) * slices;
    }
}
