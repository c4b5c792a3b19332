/* Headers of MRC, NRRD and MetaImage: an array lies behind them, or in a file beside them, in one
 * piece. */
#ifndef TP_STORE_FORMAT_FLAT_H
#define TP_STORE_FORMAT_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FLAT_DIMS 8

enum flat_coding { FLAT_RAW, FLAT_GZIP, FLAT_ZLIB };

struct flat_header {
    char dtype[8]; /* "<u2" */
    int dims;
    int64_t shape[FLAT_DIMS];  /* the fastest first */
    double spacing[FLAT_DIMS]; /* 0: unknown */
    int channels;              /* the fastest dimension is one of colours or components */
    int64_t offset;            /* of the data; -1: they are the last bytes of the file */
    char file[256];            /* that holds them; "": this one */
    enum flat_coding coding;
};

/* Any bytes are safe. */
int mrc_is(const unsigned char *head, size_t n);
int nrrd_is(const unsigned char *head, size_t n);
int metaimage_is(const unsigned char *head, size_t n);
enum err mrc_parse(const char *path, const unsigned char *head, size_t n, struct flat_header *h);
enum err nrrd_parse(const char *path, const unsigned char *head, size_t n, struct flat_header *h);
enum err metaimage_parse(const char *path, const unsigned char *head, size_t n,
                         struct flat_header *h);

#endif
