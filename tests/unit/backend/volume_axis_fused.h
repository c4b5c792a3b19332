/* The same arithmetic, compiled to fused multiply-adds (test_volume_axis.c). */
#ifndef TP_TESTS_VOLUME_AXIS_FUSED_H
#define TP_TESTS_VOLUME_AXIS_FUSED_H

#include "host/backend/volume.h"

void volume_axis_fused(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at,
                       float *t);
double volume_fused_sum(double a, double b, double c);

#endif
