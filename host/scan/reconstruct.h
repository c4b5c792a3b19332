/* From a scan file to a volume file: read, correct, find the rotation centre, reconstruct (FBP in
 * slabs where not all fits into memory), write the volume and a picture of its middle slice. In
 * steps, so that the caller can refuse, or tell what was found, in between:
 *     scan_recon_open, scan_recon_plan, scan_recon_read, scan_recon_run, scan_recon_free
 * A request says what is asked for, a context holds what is open and known meanwhile, a result what
 * came out. */
#ifndef TP_SCAN_RECONSTRUCT_H
#define TP_SCAN_RECONSTRUCT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "host/backend/backend.h"
#include "host/geom/scan.h"
#include "host/recon/common/similarity.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/slab.h"
#include "host/scan/request.h"

#define SCAN_STEPS_MOST 12

struct scan_result {
    double center, score;    /* channel; NAN: a geometry file says it, not found by matching */
    const char *center_from; /* "given", "found", ...; NULL: a geometry file says it */
    int64_t whole_first, whole_count; /* cone: slices that the rows read see whole */
    int64_t repaired;     /* samples that had no valid -log and were filled from their neighbours */
    int64_t dead, zapped; /* pixels, samples */
    double tilt, overlap; /* degrees, channels: given or found */
    int end;              /* of the overlap (prepare.h) */
    int step_count;
    struct {
        const char *name;
        double seconds;
    } steps[SCAN_STEPS_MOST]; /* before the reconstruction */
    struct mbir_report report;
    int stopped; /* within iteration report.iterations + 1 of MBIR: the volume is written */
    double bar;  /* length of the scale bar, ALU */
    struct quality quality; /* against the reference, where there is one */
    double seconds;         /* of the reconstruction; in slabs with reading and writing */
};

struct scan_context {
    const struct scan_request *request; /* borrowed */
    struct scan_result *result;         /* borrowed */
    struct backend *be;                 /* borrowed; set by the caller before anything is read */
    enum scan_method method;            /* the request's, or chosen by the beam */
    struct ct_model model;
    float *sinogram;             /* (views, rows, channels), mem_alloc */
    int64_t row_first;           /* of the detector rows that are read */
    double pixel;                /* mm; 0 or NAN: unknown */
    struct slabs slabs;          /* count 1: all at once */
    size_t bytes;                /* held at once at most */
    int64_t decoded_bytes;       /* of the file's chunks; 0: they need no decoding */
    int64_t keep_bytes;          /* of them, between slabs; 0: none */
    struct exchange_cache *kept; /* where they are; NULL: nowhere */
    int64_t start;
};

/* Reads headers: the model's sizes, its angles where a geometry file has them, and the method.
 * Request and result live at least as long as the context. */
enum err scan_recon_open(const struct scan_request *r, struct scan_result *result,
                         struct scan_context *out);
/* Judges the memory. ERR_MEMORY when it can be in no way. */
enum err scan_recon_plan(struct scan_context *c);
/* Reads and corrects the data and finds the centre: of all, or on the middle rows before slabs. */
enum err scan_recon_read(struct scan_context *c);
/* Reconstructs and writes. ERR_INTERRUPTED, and no file, when *stop becomes non-zero; MBIR ends
 * with what it has. */
enum err scan_recon_run(struct scan_context *c);

/* For ranks, in place of read and run: bytes of sinogram and volume; what there is to know but the
 * data, which is read too where views are needed whole; the picture of the middle slice (a value
 * every `stride` floats), or the comparison of a whole volume with the reference. */
enum err scan_recon_sizes(const struct ct_model *m, size_t *sinogram, size_t *volume);
enum err scan_recon_prepare(struct scan_context *c);
enum err scan_recon_picture(struct scan_context *c, const float *slice, int64_t stride);
enum err scan_recon_compare(struct scan_context *c, const float *volume);
/* The result too, but for its numbers. */
void scan_recon_free(struct scan_context *c);

/* A volume beside a reference, as grey PNG: the middle slice, that of the reference, and their difference, grey where it is 0. */
enum err quality_picture(const char *path, const struct volume *v, const float *x,
                         const float *reference);

#endif
