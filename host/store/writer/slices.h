/* A volume as a folder of pictures, one for each slice. */
#ifndef TP_STORE_WRITER_SLICES_H
#define TP_STORE_WRITER_SLICES_H

#include "host/store/writer/writer.h"

struct slices_request {
    struct writer_options options; /* its order: slices, rows, columns of a slice */
    int png;                       /* else TIFF of float32 */
    int bar;                       /* of PNG: a scale bar in each */
    double pitch;                  /* of the bar: width of a voxel */
    double low, high;              /* found: black and white of PNG, those of the middle slice */
    int64_t count;                 /* found: slices */
};

/* folder/slice_00000.tif and so on; the folder appears when it is complete. */
enum err slices_write(const char *in, const char *folder, struct slices_request *r);

#endif
