/* The options of `recon` that write the volume once more, in other formats. */
#ifndef TP_CLI_STORAGE_VOLUME_OUTPUTS_H
#define TP_CLI_STORAGE_VOLUME_OUTPUTS_H

#include "base/err.h"
#include "host/geom/scan.h"
#include "host/scan/quality.h"

/* NULL: not wanted. */
struct volume_outputs {
    const char *tiff; /* a file that ends in .tif, or a folder of one file for each slice */
    const char *pngs, *ome_zarr; /* folders */
    int bar;                     /* in each PNG */
    const char *page;            /* of volume_page.h */
    const char *reference, *about;
    struct quality quality; /* of the page */
};

/* Before the work: none of them is there, and their folders can be written. */
enum err volume_outputs_check(const struct volume_outputs *o);

/* From the finished file `volume`, which is .npy or .nii. */
enum err volume_outputs_write(const struct volume_outputs *o, const char *volume,
                              const struct volume *v);

#endif
