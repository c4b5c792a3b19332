/* Replaces writing a Data Exchange file by an error in a build without libhdf5. */
#ifndef TP_HDF5
#include "host/store/exchange/exchange.h"

enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white)
{
    (void)views;
    (void)rows;
    (void)channels;
    (void)sinogram;
    (void)angles;
    (void)white;
    return FAIL(ERR_UNSUPPORTED,
                "%s: this build has no HDF5: install libhdf5-dev and build again, or give .npy "
                "arrays",
                path);
}
#endif
