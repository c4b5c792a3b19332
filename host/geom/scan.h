/* Describes a scan and the volume to reconstruct: plain data shared by every back end (compiles as
 * C17 and as CUDA C++17). Lengths are in ALU (the user's length unit); angles in radians. Names and
 * signs follow MBIRJAX 0.7; formulas in comments are its geometry.
 *
 * Arrays, float32, C order:  sinogram and weights (views, rows, channels);  volume (rows, cols,
 * slices), slices fastest. A "cylinder" is one pixel (row i, column j; index i*cols + j) with all
 * its slices. */
#ifndef TP_GEOM_SCAN_H
#define TP_GEOM_SCAN_H

#include <math.h>
#include <stdint.h>

enum beam { BEAM_PARALLEL, BEAM_CONE };
enum ror {
    ROR_NONE,
    ROR_ELLIPSE
}; /* region of reconstruction: all pixels, or the inscribed ellipse */

/* A translation or a multi-axis scan adds this to an angle and a shift per view. */
struct view_move {
    float x, y;      /* translation: the object lies at x - this, y - this, and z - z_shifts */
    float elevation; /* multi-axis: of the rays out of the plane of rotation, radians */
};

struct scan {
    enum beam beam;
    int64_t views, rows, channels;
    double delta_row, delta_channel;    /* detector pitch */
    double row_offset, channel_offset;  /* ALU, added to v and u before dividing by the pitch */
    double source_detector, source_iso; /* cone: D and d, D >= d > 0; both may be INFINITY */
    int curved;                         /* cone: equiangular detector of radius D */
    const float *angles;                /* [views] */
    const float *z_shifts;              /* [views] helical shift per view, or NULL for zeros */
    /* [views] or NULL. Of a cone with distances: a translation scan, angles 0. Of a cone without
     * (both INFINITY): a multi-axis scan. */
    const struct view_move *moves;
};

struct volume {
    int64_t rows, cols, slices;
    double delta;                    /* column pitch */
    double row_aspect, slice_aspect; /* row pitch = row_aspect * delta, slice pitch likewise */
    double slice_offset;             /* z of the volume's centre (recon_slice_offset) */
    enum ror ror;
    int64_t whole_slices; /* of the volume that this is a part of (tile_model); 0: of none */
};

/* Regularisation of MBIR; sigma_* count only when `automatic` is 0. */
struct regularisation {
    int automatic;
    double sharpness, snr_db;
    double sigma_y, sigma_x, sigma_prox;
    double p, q, T;
    double neighbour_weights[3]; /* row, column, slice */
    int positivity;
    double max_overrelaxation;
};

/* A reconstruction problem. Owns angles, z_shifts and moves (malloc). */
struct ct_model {
    struct scan scan;
    struct volume volume;
    struct regularisation regularisation;
};

static inline double volume_delta_row(const struct volume *v)
{
    return v->row_aspect * v->delta;
}

static inline double volume_delta_slice(const struct volume *v)
{
    return v->slice_aspect * v->delta;
}

static inline int64_t volume_pixels(const struct volume *v)
{
    return v->rows * v->cols;
}

static inline int64_t volume_voxels(const struct volume *v)
{
    return v->rows * v->cols * v->slices;
}

static inline int64_t scan_samples(const struct scan *s)
{
    return s->views * s->rows * s->channels;
}

static inline int scan_is_translation(const struct scan *s)
{
    return s->moves && !isinf(s->source_detector);
}

static inline int scan_is_multiaxis(const struct scan *s)
{
    return s->moves && isinf(s->source_detector);
}

/* Turns about one axis, with the beam that it says: what FDK's variants, poses and ranks know. */
static inline int scan_is_cone(const struct scan *s)
{
    return s->beam == BEAM_CONE && !s->moves;
}

/* Returns D/d; 1 for parallel beams and for a source at infinity. */
static inline double scan_magnification(const struct scan *s)
{
    return s->beam == BEAM_PARALLEL || isinf(s->source_detector)
               ? 1
               : s->source_detector / s->source_iso;
}

#endif
