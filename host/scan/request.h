/* Request of a scan's reconstruction as plain data: options of the command line write straight into
 * it (cli/commands/recon.c). Nothing here changes while a scan is reconstructed. */
#ifndef TP_SCAN_REQUEST_H
#define TP_SCAN_REQUEST_H

#include <math.h>
#include <stdint.h>

#include "host/backend/prepare.h"
#include "host/recon/center/center.h"
#include "host/recon/common/direct_weights.h"
#include "host/store/exchange/exchange.h"

/* 0: fbp for parallel and fdk for cone beams, mbir where no direct method is exact. */
enum scan_method { SCAN_BY_BEAM, SCAN_FBP, SCAN_FDK, SCAN_MBIR, SCAN_FOURIER };
#define SCAN_METHODS "fbp|fdk|mbir|fourier" /* from 1 on */
enum scan_weights { SCAN_EQUAL, SCAN_TRANSMISSION, SCAN_METAL };
#define SCAN_WEIGHTS "none|transmission|metal"
enum scan_rings { RINGS_KEEP, RINGS_SORTING, RINGS_WAVELET };
#define SCAN_RINGS       "keep|sorting|fw"
#define SCAN_BACKPROJECT "matched|voxel" /* of voxel_driven */
#define SCAN_SCHEDULES   "mbirjax|fast"  /* of fast */
/* Indices of scan_request.phase. */
enum { PHASE_DELTA_BETA, PHASE_ENERGY, PHASE_DISTANCE, PHASE_PIXEL, PHASE_NUMBERS };

struct scan_request {
    struct exchange_source source;    /* a scan; with a geometry also a sinogram (.npy) */
    const char *geometry;             /* NULL: parallel, from the scan itself */
    const char *rows;                 /* "A:B" of detector rows, B excluded, or NULL for all */
    int64_t bin;                      /* pixels that become one, along each side of the detector */
    const char *poses;                /* table of what moved in each view (poses.h), or NULL */
    const char *out;                  /* volume: .nii, .nii.gz or .npy */
    const char *picture;              /* .png */
    int scale_bar;                    /* in the picture */
    const char *reference;            /* volume of the same shape, .npy, or NULL */
    double center;                    /* 0-based channel of the rotation axis; NAN: found */
    enum center_method center_method; /* 0: as the file says, else by registration */
    const char *center_png;           /* .png of trial slices, or NULL */
    enum scan_method method;          /* fbp is for parallel, fdk for cone beams */
    int voxel_driven;                 /* back projection of FDK, bilinear at every voxel's centre */
    enum redundancy redundancy;       /* of FDK */
    enum scan_weights weights;        /* of MBIR: exp(-sinogram); less where rays meet metal */
    int64_t iterations;               /* of MBIR, at most */
    double threshold_percent;         /* of MBIR: ends when the volume changes less */
    int64_t seed;                     /* of MBIR, 32 bits */
    int fast;                         /* of MBIR: the schedule that converges faster */
    int resume;                       /* keeps finished slabs, and goes on with those of before */
    const volatile int *stop;         /* non-zero ends early; NULL: nothing does */
    void (*on_iteration)(void *context, int64_t done, int64_t total); /* of MBIR (optional) */
    void *context;
    /* Steps before the reconstruction, in this order (steps.h). */
    double zingers;              /* per cent by which a pixel outshines its neighbours; 0: kept */
    int64_t air;                 /* channels of air at either side; 0: not used */
    double phase[PHASE_NUMBERS]; /* delta/beta (NAN: none), keV, mm, mm a pixel (0: the scan's) */
    double least;                /* transmissions are raised to it before -log */
    double hardening[PREPARE_COEFFICIENTS]; /* all 0: none */
    double tilt, overlap;                   /* degrees, channels; NAN: none, INFINITY: found */
    enum scan_rings rings;                  /* how stripes are taken out of the sinogram */
};

#define SCAN_REQUEST_DEFAULTS                                                                      \
    .bin = 1, .center = (double)NAN, .iterations = 15, .threshold_percent = 0.2,                   \
    .phase = {(double)NAN}, .tilt = (double)NAN, .overlap = (double)NAN

/* A step but flat field and -log is asked for; the same, or a flat field that changes with time. */
int scan_steps_wanted(const struct scan_request *r);
int scan_steps_used(const struct scan_request *r);
/* A step before the reconstruction needs all rows of a view. */
int scan_views_whole(const struct scan_request *r);
/* Something needs all of the data at once: no slabs in one process. */
int scan_needs_whole(const struct scan_request *r);

const char *scan_method_name(enum scan_method method); /* as options spell it */

#endif
