/* Measured peak of this machine: an entry of the back end's table (host/backend/backend.h). */
#ifndef TP_CPU_COMMON_PEAK_H
#define TP_CPU_COMMON_PEAK_H

#include "host/backend/backend.h"

enum err cpu_measure_peak(struct backend *be, struct peak *out);

#endif
