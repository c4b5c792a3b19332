/* Calls of MPI, which a second library sees (profiler/capture_mpi): it is loaded beside this one
 * into programs of several ranks alone, and hands over what it saw. */
#ifndef TP_CAPTURE_RECORDERS_MPI_MPI_H
#define TP_CAPTURE_RECORDERS_MPI_MPI_H

#include <stddef.h>

#include "profiler/trace/records_mpi.h"

struct mpi_call {
    const char *name;   /* "Allreduce" */
    const void *caller; /* where the program called it */
    uint64_t begin_ns, end_ns, bytes, group;
    uint64_t whole_ns; /* of the call; less is this message's where it started several */
    uint32_t sequence, size;
    int32_t peer, tag;
    uint16_t op, flags; /* enum trace_mpi_op, trace_mpi_flags */
};
struct mpi_recorder {
    size_t bytes; /* sizeof of this struct: both libraries are of one build */
    uint64_t (*now)(void);
    int (*wanted)(void); /* the calling thread is recorded */
    void (*joined)(int rank, int size, const char *library);
    void (*called)(const struct mpi_call *call);
    /* The folder where ranks said which clock is theirs, NULL none; what is known of this one's. */
    const char *(*ranks_folder)(void);
    uint64_t (*clock_id)(void);
    void (*aligned)(int which, int64_t shift_ns, uint64_t error_ns);
};
#define MPI_RECORDER_NAME "tomoprof_capture_mpi"
typedef const struct mpi_recorder *mpi_recorder_entry(void);

#endif
