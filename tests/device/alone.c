/* A program of the CUDA back end alone. It is linked, which shows what cuda/ lacks, and computes
 * nothing: the transforms that the emulator takes from host/cpu are not here. */
#include <stddef.h>

#include "host/cpu/filter/fft.h"

enum err fft_create(int64_t n, struct fft **out)
{
    (void)n;
    *out = NULL;
    return ERR_UNSUPPORTED;
}

void fft_free(struct fft *f)
{
    (void)f;
}

void fft_forward(const struct fft *f, const float *in, float *out)
{
    (void)f, (void)in, (void)out;
}

void fft_inverse(const struct fft *f, const float *in, float *out)
{
    (void)f, (void)in, (void)out;
}

int main(void)
{
    return 0;
}
