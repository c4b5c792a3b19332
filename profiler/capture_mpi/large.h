/* Calls with large counts (MPI_X_c) where the MPI library has none. */
#ifndef TP_CAPTURE_MPI_LARGE_H
#define TP_CAPTURE_MPI_LARGE_H

#include "profiler/capture_mpi/calls.h"

/* Calls `plain`, the function with counts of int, with the words of MPI_X_c. MPI_ERR_COUNT where a
 * count does not fit. */
int large_as_plain(enum call_number number, void *plain, const word *w);

#endif
