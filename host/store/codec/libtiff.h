/* Strips and tiles of TIFF that libtiff alone decodes: each becomes a file of one page in memory. */
#ifndef TP_STORE_CODEC_LIBTIFF_H
#define TP_STORE_CODEC_LIBTIFF_H

#include <stdint.h>

#define LIBTIFF_EXTRAS 2

struct libtiff_extra {
    int32_t tag, count;
    int64_t value[2];
};

/* A page's tags beside those that a step has (item: bits of a sample, row: columns, samples, swap); the
 * step's `tables` hold it. */
struct libtiff_page {
    int32_t compression, photometric, predictor, format, fill_order, is_tile;
    struct libtiff_extra extra[LIBTIFF_EXTRAS]; /* of the compression; tag 0: none */
};

/* "LZMA"; NULL: a compression that no library is known for. */
const char *libtiff_name(int compression);
/* NULL: libtiff is opened and decodes it; else why not, and what to do. */
const char *libtiff_missing(int compression);

#endif
