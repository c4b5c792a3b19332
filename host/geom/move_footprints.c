/* Footprints of translation and multi-axis scans: what windows.c needs, also in the
 * library of CUDA, which has nothing else of this folder. */
#include <math.h>

#include "host/geom/moves.h"

void moves_depth(const struct scan *s, double *least, double *most)
{
    *least = *most = s->views ? (double)s->moves[0].y : 0;
    for (int64_t i = 1; i < s->views; i++) {
        *least = fmin(*least, (double)s->moves[i].y);
        *most = fmax(*most, (double)s->moves[i].y);
    }
}

double moves_rows_per_slice(const struct scan *s, const struct volume *v, int64_t view)
{
    return volume_delta_slice(v) * cos((double)s->moves[view].elevation) / s->delta_row;
}

/* The longest of the voxel's three edges on the detector, as MBIRJAX has it. */
double moves_rows_per_voxel(const struct scan *s, const struct volume *v, int64_t view)
{
    const double angle = (double)s->angles[view];
    const double rise = fabs(sin((double)s->moves[view].elevation));
    const double x = rise * fabs(sin(angle)) * v->delta;
    const double y = rise * fabs(cos(angle)) * volume_delta_row(v);
    return fmax(moves_rows_per_slice(s, v, view), fmax(x, y) / s->delta_row);
}
