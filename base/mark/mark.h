/* Named ranges on a profiler's timeline. They cost one predictable branch when no tool listens, and
 * nothing in a build without the NVTX headers. Domain "tomoprof": operation > phase > launch; the
 * payload is bytes or an iteration number. */
#ifndef TP_MARK_MARK_H
#define TP_MARK_MARK_H

#include <stdint.h>

void mark_push(const char *name, uint64_t payload);
void mark_pop(void);

#endif
