/* Between the emulator and kernels that nvcc compiled (PTX, translated by translate.py), which lie
 * in a shared object of their own. */
#ifndef TP_TESTS_PTX_HOST_H
#define TP_TESTS_PTX_HOST_H

#include "tests/device/shim/cuda_runtime.h"

/* Serves kernels: the emulator fills it. */
struct ptx_host {
    const struct uint3 *thread, *block;  /* threadIdx, blockIdx */
    const struct dim3 *threads, *blocks; /* blockDim, gridDim */
    int (*lane)(void);
    void *(*shared)(void);
    const uint64_t *(*exchange)(enum shim_instruction which, unsigned mask, uint64_t bits);
    void (*check_lane)(unsigned mask, int from);
    void (*sync_block)(void);
    void (*sync_warp)(unsigned mask);
    unsigned (*match)(unsigned mask, int value);
    unsigned (*ballot)(unsigned mask, int predicate);
    float (*reciprocal)(float x);
    double (*rough_reciprocal)(double x);
    float (*inverse_root)(float x);
    float (*root)(float x);
    void (*die)(const char *format, ...);
};

struct ptx_kernel {
    const char *name; /* mangled */
    void (*run)(void *const *parameters);
};
struct ptx_file { /* adds itself to the list */
    const struct ptx_kernel *kernels;
    size_t count;
    const struct ptx_file *next;
    ptx_file(const struct ptx_kernel *from, size_t n);
};

/* "ptx_open" of the shared object: its files. */
typedef const struct ptx_file *(*ptx_open_function)(const struct ptx_host *host);

#endif
