/* From a scan file to a volume file: read, correct, find the rotation centre, reconstruct (FBP in
 * slabs where not all fits into memory), write the volume and a picture of its middle slice. In
 * steps, so that the caller can refuse, or tell what was found, in between:
 *     scan_recon_open, scan_recon_plan, scan_recon_read, scan_recon_run, scan_recon_free */
#ifndef TP_SCAN_RECONSTRUCT_H
#define TP_SCAN_RECONSTRUCT_H

#include <stddef.h>
#include <stdint.h>

#include "host/backend/backend.h"
#include "host/geom/scan.h"
#include "host/recon/recon.h"
#include "host/recon/common/redundancy.h"
#include "host/recon/slabs/slab.h"
#include "host/scan/quality.h"
#include "host/scan/steps.h"

enum scan_method { SCAN_FBP, SCAN_FDK, SCAN_MBIR, SCAN_FOURIER };
enum scan_weights { SCAN_EQUAL, SCAN_TRANSMISSION, SCAN_METAL };

struct scan_request {
    const char *in;                     /* a scan; with a geometry also a sinogram (.npy) */
    const char *flats, *darks, *angles; /* of exchange_source, or NULL */
    const char *flats_after;            /* of exchange_source, or NULL */
    int drift;                          /* the same */
    struct scan_steps *steps;           /* before the reconstruction; filled with what was done */
    enum scan_center center_method;
    int search_center;          /* also where the file says it */
    const char *center_png;     /* .png of trial slices, or NULL */
    const char *geometry;       /* NULL: parallel, from the scan itself */
    const char *rows;           /* "A:B" of detector rows, B excluded, or NULL for all */
    int64_t bin;                /* pixels of the detector that become one, along each side; 0: 1 */
    const char *poses;          /* table of what moved in each view (poses.h), or NULL */
    const double *center;       /* 0-based channel of the rotation axis; NULL: found */
    const char *out;            /* volume: .nii, .nii.gz or .npy */
    const char *picture;        /* .png */
    int scale_bar;              /* in the picture */
    const char *reference;      /* volume of the same shape, .npy, or NULL */
    enum scan_method method;    /* needed from scan_recon_plan on; FBP: parallel, FDK: cone beams */
    int voxel_driven;           /* back projection of FDK, bilinear at every voxel's centre */
    enum scan_rings rings;      /* how stripes are taken out of the sinogram */
    enum redundancy redundancy; /* of FDK */
    int helical;                /* FDK divides each voxel by how much of the turns saw it */
    enum scan_weights weights;  /* of MBIR: exp(-sinogram); less where rays meet metal */
    int64_t iterations;         /* of MBIR, at most */
    double threshold_percent;   /* of MBIR: ends when the volume changes less */
    uint32_t seed;              /* of MBIR */
    const volatile int *stop;   /* non-zero ends early (optional) */
};

struct exchange_kept;
struct scan_input {
    struct ct_model model;
    float *sinogram; /* (views, rows, channels), mem_alloc */
    int64_t row_first, repaired;
    double center, score;    /* score is NAN where the centre was not found by matching views */
    const char *center_from; /* "given", "found", ...; NULL: a geometry file says it */
    int64_t whole_first, whole_count; /* cone: slices that the rows read see whole */
    int64_t decoded_bytes;            /* of the file's chunks; 0: they need no decoding */
    int64_t keep_bytes;               /* of them, between slabs; 0: none */
    struct exchange_kept *kept;       /* where they are; NULL: nowhere */
};

struct scan_recon {
    const struct scan_request *request; /* borrowed */
    struct scan_input input;
    struct slabs slabs; /* count 1: all at once */
    size_t bytes;       /* held at once at most */
    struct mbir_report report;
    int stopped; /* within iteration report.iterations + 1 of MBIR: the volume is written */
    double bar;  /* length of the scale bar, ALU */
    struct quality quality; /* against the reference, where there is one */
    double seconds;         /* of the reconstruction; in slabs with reading and writing */
    int64_t start;
};

/* Something that was asked for needs all of the data at once: no slabs in one process. */
int scan_needs_whole(const struct scan_request *r);
/* A step before the reconstruction needs all rows of a view. */
int scan_views_whole(const struct scan_request *r);

/* Reads headers: the model's sizes, and its angles where a geometry file has them. */
enum err scan_recon_open(const struct scan_request *r, struct scan_recon *out);
/* Judges the memory. ERR_MEMORY when it can be in no way. */
enum err scan_recon_plan(struct scan_recon *s);
/* Reads and corrects the data and finds the centre: of all, or on the middle rows before slabs. */
enum err scan_recon_read(struct scan_recon *s);
/* Reconstructs and writes. ERR_INTERRUPTED, and no file, when *stop becomes non-zero; MBIR ends
 * with what it has. */
enum err scan_recon_run(struct scan_recon *s, struct backend *be);

/* For ranks, in place of read and run: bytes of sinogram and volume; what there is to know but the
 * data, which is read too where views are needed whole; the picture of the middle slice (a value
 * every `stride` floats), or the comparison of a whole volume with the reference. */
enum err scan_recon_sizes(const struct ct_model *m, size_t *sinogram, size_t *volume);
enum err scan_recon_prepare(struct scan_recon *s);
enum err scan_recon_picture(struct scan_recon *s, const float *slice, int64_t stride);
enum err scan_recon_compare(struct scan_recon *s, const float *volume);
/* Weights of a whole sinogram, less where rays meet metal; mem_alloc. */
enum err scan_metal_weights(struct backend *be, const struct ct_model *m, const float *sinogram,
                            float **weights);
void scan_recon_free(struct scan_recon *s);

#endif
