/* Messages that a program describes once and starts many times: persistent and partitioned ones. */
#ifndef TP_CAPTURE_MPI_REQUESTS_H
#define TP_CAPTURE_MPI_REQUESTS_H

#include <stddef.h>

#include "profiler/capture/recorders/mpi/mpi.h"
#include "profiler/capture_mpi/calls.h"

/* After Send_init and its like: keeps what c says of the message, and takes it out of c, which
 * moves nothing. */
void requests_made(enum call_number number, const word *w, struct mpi_call *c);
/* Before Request_free. */
void requests_freed(const word *w);
/* How many requests this call starts, or readies parts of. */
int64_t requests_started(enum call_number number, const word *w);
/* Request i of them, once a call: c gets its message, or 0 bytes where no message begins yet.
 * Unchanged where the request is unknown. */
void requests_message(enum call_number number, const word *w, int64_t i, struct mpi_call *c);

#endif
