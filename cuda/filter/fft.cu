/* Finds and opens cuFFT at its first use, and chooses lengths that it transforms well. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/filter/fft.cuh"

int64_t fft_length(int64_t n)
{
    for (;; n++) {
        static const int primes[] = {2, 3, 5, 7};
        int64_t rest = n;
        for (int p : primes)
            while (rest % p == 0)
                rest /= p;
        if (rest == 1)
            return n;
    }
}

#ifdef __CUDACC__

#define WORD_(text) #text
#define WORD(text)  WORD_(text)
#if CUFFT_VER_MAJOR >= 12
#define WHEEL "cu13"
#else
#define WHEEL "cufft"
#endif
#define NAME "libcufft.so." WORD(CUFFT_VER_MAJOR) /* 11 of CUDA 12, 12 of CUDA 13 */

/* $TOMOPROF_CUFFT, the system's, beside this object, that of NVIDIA's wheel where this object is in
 * a wheel too (site-packages/nvidia beside site-packages/tomoprof), or that of the toolkit that
 * built it. */
static void *cufft_open(void)
{
    Dl_info self;
    char beside[4096] = "", wheel[4096] = "";
    if (dladdr((void *)fft_length, &self) && self.dli_fname && strrchr(self.dli_fname, '/')) {
        const char *mine = strstr(self.dli_fname, "-packages/tomoprof/");
        snprintf(beside, sizeof beside, "%.*s/%s",
                 (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname, NAME);
        if (mine)
            snprintf(wheel, sizeof wheel, "%.*s-packages/nvidia/" WHEEL "/lib/" NAME,
                     (int)(mine - self.dli_fname), self.dli_fname);
    }
    const char *const paths[] = {getenv("TOMOPROF_CUFFT"), NAME, beside, wheel,
                                 TP_CUFFT_FOLDER "/" NAME};
    for (const char *path : paths) {
        void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (library)
            return library;
    }
    return NULL;
}

enum err fft_load(const struct fft_calls **out)
{
    static struct fft_calls calls;
    static void *library;
    const struct {
        const char *name;
        void *pointer;
    } rows[] = {{"cufftCreate", &calls.create},
                {"cufftDestroy", &calls.destroy},
                {"cufftSetAutoAllocation", &calls.no_workspace},
                {"cufftMakePlanMany", &calls.make},
                {"cufftSetWorkArea", &calls.workspace},
                {"cufftSetStream", &calls.stream},
                {"cufftExecC2C", &calls.run}};
    *out = &calls;
    if (library)
        return ERR_OK;
    void *opened = cufft_open();
    FAIL_IF(!opened, ERR_UNSUPPORTED,
            NAME " is not found, which the filters on the GPU need: install cuFFT of CUDA %d, or "
                 "set TOMOPROF_CUFFT to its path",
            CUDART_VERSION / 1000);
    for (const auto &row : rows) {
        void *symbol = dlsym(opened, row.name);
        FAIL_IF(!symbol, ERR_UNSUPPORTED, NAME " has no %s", row.name);
        memcpy(row.pointer, &symbol, sizeof symbol);
    }
    library = opened;
    return ERR_OK;
}

#else

enum err fft_load(const struct fft_calls **out)
{
    static const struct fft_calls calls = {
        cufftCreate,    cufftDestroy, cufftSetAutoAllocation, cufftMakePlanMany, cufftSetWorkArea,
        cufftSetStream, cufftExecC2C};
    *out = &calls;
    return ERR_OK;
}

#endif
