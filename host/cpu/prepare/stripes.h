/* Stripes of a sinogram, which become rings. Contract: host/backend/backend.h. */
#ifndef TP_CPU_PREPARE_STRIPES_H
#define TP_CPU_PREPARE_STRIPES_H

#include "host/backend/backend.h"

enum err cpu_remove_stripes(struct backend *be, const struct scan *s, int64_t size,
                            const struct buffer *y, struct buffer *out);

#endif
