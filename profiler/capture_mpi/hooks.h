/* Parts of the hooks of MPI: clocks, calls with large counts, persistent messages. */
#ifndef TP_CAPTURE_MPI_HOOKS_H
#define TP_CAPTURE_MPI_HOOKS_H

#include <stddef.h>

#include "profiler/capture/recorders/mpi/mpi.h"
#include "profiler/capture_mpi/calls.h"

/* How far the clocks of an MPI program's machines are apart. */

/* Compares clocks after MPI_Init (which: 0) and before MPI_Finalize (1). Nothing where all recorded
 * ranks share a clock, or where the folder does not say who they are. Never waits for a rank
 * without end. */
void clocks_compare(const struct mpi_recorder *r, int rank, int which);

/* Calls with large counts (MPI_X_c) where the MPI library has none. */

/* Calls `plain`, the function with counts of int, with the words of MPI_X_c. MPI_ERR_COUNT where a
 * count does not fit. */
int large_as_plain(enum call_number number, void *plain, const word *w);

/* Messages that a program describes once and starts many times: persistent and partitioned ones. */

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
