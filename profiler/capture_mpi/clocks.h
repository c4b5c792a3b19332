/* How far the clocks of an MPI program's machines are apart. */
#ifndef TP_CAPTURE_MPI_CLOCKS_H
#define TP_CAPTURE_MPI_CLOCKS_H

#include "profiler/capture/recorders/mpi/mpi.h"

/* Compares clocks after MPI_Init (which: 0) and before MPI_Finalize (1). Nothing where all recorded
 * ranks share a clock, or where the folder does not say who they are. Never waits for a rank
 * without end. */
void clocks_compare(const struct mpi_recorder *r, int rank, int which);

#endif
