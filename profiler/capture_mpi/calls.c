/* The table of the functions of MPI. */
#include "profiler/capture_mpi/calls.h"
#include "profiler/trace/records_mpi.h"

const struct mpi_row mpi_rows[CALLS] = {
#define ROW(name, n, op, buffer, count, type, peer, tag, comm, status, more)                       \
    {#name, TRACE_MPI_##op, n, buffer, count, type, peer, tag, comm, status, more},
#define ROW_LARGE(name, n, op, buffer, count, type, peer, tag, comm, status, more)                 \
    {#name "_c", TRACE_MPI_##op, n, buffer, count, type, peer, tag, comm, status, (more) | LARGE},
    COUNT_LIST(ROW) AGAIN_LIST(ROW) PLAIN_LIST(ROW) COUNT_LIST(ROW_LARGE) AGAIN_LIST(ROW_LARGE)};
