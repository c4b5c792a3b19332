/* Numbers of a back end's buffer in host memory, where messages between ranks start and end. */
#ifndef TP_CLUSTER_STAGE_H
#define TP_CLUSTER_STAGE_H

#include "host/backend/backend.h"

/* *out: the buffer's own memory where it is the host's, else a copy. Each take is followed by one
 * give, which writes the copy back, or one drop. */
enum err stage_take(struct backend *be, const struct buffer *b, float **out);
enum err stage_give(struct backend *be, float *host, struct buffer *b);
void stage_drop(const struct buffer *b, float *host);

#endif
