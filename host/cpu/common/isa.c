/* Chooses the instruction set once per process, from the CPU and TOMOPROF_ISA. */
#include <stdlib.h>
#include <string.h>

#include "host/cpu/common/isa.h"

static enum isa isa_best(void)
{
#ifdef TP_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return ISA_AVX2;
#endif
    return ISA_PLAIN;
}

const char *isa_name(enum isa isa)
{
    static const char *const names[] = {
#ifdef __aarch64__
        "neon", /* vectors of four floats, by the same source */
#else
        "plain",
#endif
        "avx2", "avx512"};
    return names[isa];
}

enum isa cpu_isa(void)
{
    static int chosen = -1; /* idempotent: threads racing here store the same value */
    int isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (isa < 0) {
        isa = (int)isa_best();
        const char *wish = getenv("TOMOPROF_ISA");
        for (int lesser = ISA_PLAIN; wish && lesser < isa; lesser++)
            if (!strcmp(wish, isa_name((enum isa)lesser)))
                isa = lesser;
        __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
    }
    return (enum isa)isa;
}
