/* The functions of MPI that are seen: name, number of arguments, what the call does, and which
 * arguments say how much, to whom and in which communicator. -1: none. Arguments are one machine
 * word each under Open MPI and MPICH: handles are pointers or int, counts int, addresses words. */
#ifndef TP_CAPTURE_MPI_CALLS_H
#define TP_CAPTURE_MPI_CALLS_H

#include <stdint.h>

#include "profiler/capture_mpi/calls_again.h"
#include "profiler/capture_mpi/calls_counted.h"
#include "profiler/capture_mpi/calls_plain.h"

typedef uintptr_t word;

/* The last word of a row, X(name, arguments, op, buffer, count, type, peer, tag, comm, status,
 * more) */
enum call_more {
    ONCE,   /* count elements of type */
    EACH,   /* count for every rank of the communicator */
    LISTED, /* count is an array, one for every rank */
    INSTEAD =
        16,      /* with MPI_IN_PLACE for a buffer the numbers of what is received, 3 after, hold */
    LARGE = 32,  /* counts are of 64 bit */
    ROOT = 64,   /* the root alone gives */
    SENDS = 128, /* makes a request that Start sends with */
    RECEIVES = 256, /* or receives with */
    PARTS = 512,    /* of as many parts as argument 1 says */
    AGAIN = 1024,   /* or is collective: Start has its bytes */
    KEPT = 2048,    /* lists of counts are read until the call is complete */
};
#define CALL_NUMBER(name, ...)       CALL_##name,
#define CALL_NUMBER_LARGE(name, ...) CALL_##name##_c,
enum call_number {
    COUNT_LIST(CALL_NUMBER) AGAIN_LIST(CALL_NUMBER) PLAIN_LIST(CALL_NUMBER)
        COUNT_LIST(CALL_NUMBER_LARGE) AGAIN_LIST(CALL_NUMBER_LARGE) CALLS
};
extern const struct mpi_row {
    const char *name;
    uint16_t op; /* enum trace_mpi_op */
    int arguments, buffer, count, type, peer, tag, comm, status, more;
} mpi_rows[CALLS];

/* The library calls these itself, by their second names. */
#define USED_LIST(X)                                                                               \
    X(Type_size)                                                                                   \
    X(Comm_rank)                                                                                   \
    X(Comm_size)                                                                                   \
    X(Comm_group)                                                                                  \
    X(Comm_test_inter)                                                                             \
    X(Group_translate_ranks)                                                                       \
    X(Group_free)                                                                                  \
    X(Get_library_version)

#endif
