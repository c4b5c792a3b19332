/* The ramp filter: an entry of the back end's table (host/backend/backend.h). */
#ifndef TP_CPU_FILTER_FILTER_H
#define TP_CPU_FILTER_FILTER_H

#include "host/backend/backend.h"

enum err cpu_ramp_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out);

#endif
