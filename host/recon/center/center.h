/* Finds the rotation axis in the views themselves: line integrals of parallel beams on the host.
 * Centres are 0-based channels, real numbers. */
#ifndef TP_RECON_CENTER_CENTER_H
#define TP_RECON_CENTER_CENTER_H

#include "host/backend/backend.h"

struct center_views {
    int64_t views, rows, channels;
    const float *y;      /* (views, rows, channels) */
    const float *angles; /* radians */
};

/* The shift that best matches the view at theta with the mirrored view at theta + pi, refined below
 * one channel; `score` in [0, 1] says how sharp the match is. ERR_INPUT when no two views lie 180
 * degrees apart (within one step). */
enum err center_registration(const struct center_views *p, double *center, double *score);

/* The centre of trial slices whose histogram has the least entropy (Donath 2006), sought among the
 * middle quarter of the detector on the middle row. */
enum err center_entropy(struct backend *be, const struct center_views *p, double *center);

/* The centre that closes half a turn to a whole one (Vo 2014), on the middle row. ERR_UNSUPPORTED
 * where the back end has no trial centres; ERR_INPUT where the views are not half a turn. */
enum err center_symmetry(struct backend *be, const struct center_views *p, double *center);

/* By one of the three; `score` is NAN but for registration. */
enum center_method { CENTER_REGISTRATION = 1, CENTER_ENTROPY, CENTER_SYMMETRY };
#define CENTER_NAMES "registration|entropy|symmetry" /* from 1 on */
enum err center_find(struct backend *be, enum center_method how, const struct center_views *p,
                     double *center, double *score);

/* Slices of the middle row by FBP, one for each centre: (count, channels, channels). */
enum err center_slices(struct backend *be, const struct center_views *p, const double *centers,
                       int64_t count, float *out);

/* Finds, for a full turn with the axis near one end of the detector, how many channels both halves
 * see, and which end (prepare.h). `score` as above. */
enum err center_overlap(const struct center_views *p, double *overlap, int *end, double *score);

/* The angle (radians, at most 5 degrees) that PREPARE_TILT takes to make the axis upright: views
 * half a turn apart, turned by it, are mirror images about an upright line. */
enum err center_tilt(const struct center_views *p, double *angle);

#endif
