/* Back projection of parallel beams through the plane of frequencies. Contract: backend.h. */
#ifndef TP_CPU_FOURIER_FOURIER_H
#define TP_CPU_FOURIER_FOURIER_H

#include "host/backend/backend.h"

enum err cpu_fourier_back(struct backend *be, const struct scan *s, const struct volume *v,
                          const struct buffer *y, struct buffer *x);

#endif
