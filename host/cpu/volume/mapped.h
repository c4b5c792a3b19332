/* A vector of voxels, mapped as volume_mapped maps each. */
#ifndef TP_CPU_VOLUME_MAPPED_H
#define TP_CPU_VOLUME_MAPPED_H

#include "host/backend/volume_math.h"
#include "host/cpu/common/vec.h"

VEC_INLINE vf mapped_vector(vf x, const struct volume_map *m)
{
    vf y = x - m->less;
#if defined(__AVX512F__)
    y = (vf)_mm512_fmadd_ps((__m512)y, _mm512_set1_ps(m->factor), _mm512_set1_ps(m->plus));
#elif defined(__AVX2__) && defined(__FMA__)
    y = (vf)_mm256_fmadd_ps((__m256)y, _mm256_set1_ps(m->factor), _mm256_set1_ps(m->plus));
#else
    for (int l = 0; l < VEC; l++)
        y[l] = fused(y[l], m->factor, m->plus);
#endif
    return vf_min(vf_set(m->high), vf_max(vf_set(m->low), y));
}

#endif
