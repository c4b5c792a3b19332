/* Communicators by the ranks that are in them, and sizes of types: asked of MPI once each. */
#ifndef TP_CAPTURE_MPI_GROUPS_H
#define TP_CAPTURE_MPI_GROUPS_H

#include "profiler/capture_mpi/calls.h"

struct mpi_group {
    word comm;
    uint64_t id;    /* of its ranks, in their order: the same number on all of them */
    int size, rank; /* rank: of this process in it */
    int *world;     /* its ranks as those of MPI_COMM_WORLD */
    uint32_t calls; /* collective ones so far */
};

/* Finds the next definition of a function or object of MPI, NULL if there is none. */
void *mpi_find(const char *name);

/* Finds this process in MPI_COMM_WORLD, after MPI_Init. 0: MPI is of no kind that is known here. */
int groups_join(int *rank, int *size, char library[256]);
int groups_are_known(void);
int groups_is_mpich(void);
word groups_world(void); /* MPI_COMM_WORLD */
/* Keeps the int where handles are of that type: the rest of the register is undefined. */
word mpi_handle(word h);
/* NULL: it is of no kind that is known, or between two groups. */
struct mpi_group *group_of(word comm);
void group_forget(word comm); /* it is freed, and its handle may come again */
int group_world_rank(const struct mpi_group *g, int rank); /* -1 unknown, or any */
int group_status_at(void);          /* where MPI_Status has its source, and then its tag; in int */
int64_t group_type_size(word type); /* bytes, -1 unknown */

#endif
