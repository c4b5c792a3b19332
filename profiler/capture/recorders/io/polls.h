/* Waits in poll and its like: recorders/io/polls.c. */
#ifndef TP_CAPTURE_RECORDERS_IO_POLLS_H
#define TP_CAPTURE_RECORDERS_IO_POLLS_H

#include "profiler/capture/recorders/io/state.h"

/* How long the thread waited in poll for what it reads from a socket now. A server's
 * wait for its next client is not that. */
uint64_t io_polled_for(struct capture_thread *t, int fd, const struct io_descriptor *d);

#endif
