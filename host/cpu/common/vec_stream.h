/* Rows of vectors past the caches, by whole lines of memory: writing parts of lines past them takes
 * twice as long. Arrays of malloc and NumPy begin 16 bytes behind a line. */
#ifndef TP_CPU_COMMON_VEC_STREAM_H
#define TP_CPU_COMMON_VEC_STREAM_H

#include "host/cpu/common/vec.h"

/* Returns the floats by which p lies behind a vector's place. */
VEC_INLINE int vec_behind(const float *p)
{
    return (int)((uintptr_t)p / sizeof *p % VEC);
}

/* The last n of a, then the first of b; n below VEC. */
VEC_INLINE vf vf_join(vf a, vf b, int n)
{
#if defined(__AVX512F__)
    const vi index = (vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + (VEC - n);
    return (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)index, (__m512)b);
#else
    vf both[2] = {a, b};
    return vf_load((const float *)both + VEC - n);
#endif
}

/* Writes a vector of a row whose vectors lie `behind` behind their places: the end of the one
 * before, and the beginning of this one. */
VEC_INLINE void vf_stream_across(float *to, int first, int last, int behind, vf *before, vf now)
{
    const size_t rest = (size_t)(VEC - behind);
    if (first)
        memcpy(to, &now, rest * sizeof *to);
    else
        vf_stream(to - behind, vf_join(*before, now, behind));
    if (last)
        memcpy(to + rest, (const float *)&now + rest, (size_t)behind * sizeof *to);
    *before = now;
}

#endif
