/* The seam between tomoprof and GDCM, which reads DICOM: libtomoprof_dicom.so is the only object that
 * is linked to it, and is opened when such a file is met. */
#ifndef TP_STORE_DICOM_DICOM_H
#define TP_STORE_DICOM_DICOM_H

#include <stddef.h>
#include <stdint.h>

#define DICOM_MODULE "libtomoprof_dicom.so"
#define DICOM_ENTRY  "tomoprof_dicom"

struct dicom_file { /* by its header */
    int64_t rows, columns, frames;
    int samples, bytes, is_signed; /* of a stored value */
    double slope, intercept;
    double spacing[3];             /* of x, y, z, in mm; 0: unknown */
    double position[3], normal[3]; /* of the first pixel; 0 0 0: unknown */
    int32_t number;                /* of the image in its series */
    char series[80], description[80], syntax[80];
};

enum { DICOM_NO_IMAGE = 2 };

/* Texts that they write into `why` end sentences. 0: done. */
struct dicom_library {
    size_t bytes; /* of this struct: both sides are of one version */
    const char *name;
    /* DICOM_NO_IMAGE: reports and the like, which series have beside their slices. */
    int (*describe)(const char *path, struct dicom_file *out, char *why, size_t room);
    /* All frames of a file; `scaled`: as float32, slope and intercept applied. */
    int (*decode)(const void *file, size_t n, int scaled, void *out, size_t out_bytes, char *why,
                  size_t room);
};

/* NULL: *why tells what to install. */
const struct dicom_library *dicom_open(const char **why);

#endif
