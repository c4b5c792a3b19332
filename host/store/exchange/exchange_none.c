/* What Data Exchange calls say in a build without libhdf5. */
#ifndef TP_HDF5
#include "host/store/exchange/exchange.h"

static enum err refuse(const char *path)
{
    return FAIL(
        ERR_UNSUPPORTED,
        "%s: this build has no HDF5: install libhdf5-dev and build again, or give .npy arrays",
        path);
}

enum err exchange_info(const char *path, struct exchange_info *out)
{
    (void)out;
    return refuse(path);
}

enum err exchange_read(const char *path, int64_t row_first, int64_t row_count,
                       struct exchange_counts *out)
{
    (void)row_first;
    (void)row_count;
    *out = (struct exchange_counts){0};
    return refuse(path);
}

void exchange_counts_free(struct exchange_counts *c)
{
    (void)c;
}

enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white)
{
    (void)views;
    (void)rows;
    (void)channels;
    (void)sinogram;
    (void)angles;
    (void)white;
    return refuse(path);
}
#endif
