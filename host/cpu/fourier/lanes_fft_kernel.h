/* Butterflies of transforms over lanes. */
#ifndef TP_CPU_FOURIER_LANES_FFT_KERNEL_H
#define TP_CPU_FOURIER_LANES_FFT_KERNEL_H

#include "host/cpu/common/isa.h"
#include "host/cpu/fourier/lanes_fft.h"

struct lanes_fft_kernels {
    float *(*run)(const struct lanes_fft *f, int sign, float *a, float *b);
};
ISA_TABLES(lanes_fft_kernels);

#endif
