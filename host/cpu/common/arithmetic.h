/* Integer arithmetic of sizes. */
#ifndef TP_CPU_COMMON_ARITHMETIC_H
#define TP_CPU_COMMON_ARITHMETIC_H

#include <stdint.h>

static inline int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static inline int64_t int_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t int_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
