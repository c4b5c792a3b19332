/* The options of `recon` that write the volume once more, in other formats. */
#ifndef TP_CLI_STORAGE_VOLUME_OUTPUTS_H
#define TP_CLI_STORAGE_VOLUME_OUTPUTS_H

#include "base/err.h"
#include "host/scan/reconstruct.h"

/* NULL: not wanted. */
struct volume_outputs {
    const char *tiff; /* a file that ends in .tif, or a folder of one file for each slice */
    const char *pngs, *ome_zarr; /* folders */
    const char *page;            /* of volume_page.h */
};

/* Before the work: none of them is there, and their folders can be written. */
enum err volume_outputs_check(const struct volume_outputs *o);

/* From the finished volume of a reconstruction, which is .npy or .nii. */
enum err volume_outputs_write(const struct volume_outputs *o, const struct scan_context *s);

#endif
