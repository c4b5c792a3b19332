/* The CPU back end: C with OpenMP, vector kernels for AVX-512, AVX2 and the plain machine chosen at
 * run time. */
#ifndef TP_CPU_CPU_H
#define TP_CPU_CPU_H

#include "host/backend/backend.h"

extern const struct backend_ops cpu_backend;

#endif
