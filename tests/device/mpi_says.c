/* An MPI library that says of GPUs' memory what TP_MPI_READS_DEVICES has, to be preloaded. Where it
 * says that it reads it, it does so on the emulator, whose device memory nobody else may touch. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define API  __attribute__((visibility("default")))
#define PAGE ((uintptr_t)4096)

typedef int exchange(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
                     MPI_Comm, MPI_Status *);

API int MPIX_Query_cuda_support(void);
static long long taken; /* bytes of device memory that this library was given */

int MPIX_Query_cuda_support(void)
{
    const char *said = getenv("TP_MPI_READS_DEVICES");
    return said && *said == '1';
}

/* The emulator's addresses begin at 2^45 (shim/runtime.cpp). */
static void allow(const void *p, int bytes, int how)
{
    const uintptr_t first = (uintptr_t)p / PAGE * PAGE, end = (uintptr_t)p + (uintptr_t)bytes;
    if (bytes > 0 && first >> 44 == 2 && MPIX_Query_cuda_support() &&
        mprotect((void *)first, end - first, how))
        abort();
    if (bytes > 0 && first >> 44 == 2 && how != PROT_NONE)
        taken += bytes;
}

API int MPI_Sendrecv(const void *out, int sent, MPI_Datatype a, int to, int tag, void *in, int room,
                     MPI_Datatype b, int from, int of, MPI_Comm comm, MPI_Status *status)
{
    exchange *next;
    void *symbol = dlsym(RTLD_DEFAULT, "PMPI_Sendrecv");
    memcpy(&next, &symbol, sizeof next);
    allow(out, sent, PROT_READ | PROT_WRITE);
    allow(in, room, PROT_READ | PROT_WRITE);
    const int code = next(out, sent, a, to, tag, in, room, b, from, of, comm, status);
    allow(out, sent, PROT_NONE);
    allow(in, room, PROT_NONE);
    return code;
}

API int MPI_Finalize(void)
{
    int rank = 0, (*next)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "PMPI_Finalize");
    memcpy(&next, &symbol, sizeof next);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "MPI was given %lld bytes of device memory by process %d\n", taken, rank);
    return next();
}
