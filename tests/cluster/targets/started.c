/* Messages that are described once and started many times, calls with large counts, and messages in
 * parts, for two ranks; each says what it sent by its own count. */
#include <mpi.h>
#ifdef OMPI_MAJOR_VERSION
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
enum { TURNS = 3, NUMBERS = 1000, PARTS = 4, LATE_MS = 100 };

static int rank, size;
static double spent_wait, spent_parts;

/* As mpi4py does: there where the library, or a tool before it, has them. */
__attribute__((weak)) int MPI_Send_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
__attribute__((weak)) int MPI_Recv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                                     MPI_Status *);
__attribute__((weak)) int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op,
                                          MPI_Comm);
__attribute__((weak)) int MPI_Alltoallv_c(const void *, const MPI_Count[], const MPI_Aint[],
                                          MPI_Datatype, void *, const MPI_Count[], const MPI_Aint[],
                                          MPI_Datatype, MPI_Comm);
__attribute__((weak)) int MPI_Gatherv_c(const void *, MPI_Count, MPI_Datatype, void *,
                                        const MPI_Count[], const MPI_Aint[], MPI_Datatype, int,
                                        MPI_Comm);

__attribute__((weak)) int MPI_Ialltoallv_c(const void *, const MPI_Count[], const MPI_Aint[],
                                           MPI_Datatype, void *, const MPI_Count[],
                                           const MPI_Aint[], MPI_Datatype, MPI_Comm, MPI_Request *);

#if MPI_VERSION >= 4
#define ALLREDUCE_INIT MPI_Allreduce_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ALLREDUCE_INIT MPIX_Allreduce_init
#endif

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;
    volatile double x = 0;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 1000; i++)
            x = x + 1e-9 * i;
}

static void tell(int to, size_t bytes)
{
    printf("sent %d to %d bytes %zu\n", rank, to, bytes);
}

static void expect(int good, const char *what)
{
    if (!good)
        printf("wrong: %s\n", what);
}

/* Rank 0 starts late; the other has started and waits. Each sends too. */
static void again_and_again(void)
{
    static double out[NUMBERS], in[NUMBERS];
    MPI_Request r[3];
    const int other = 1 - rank;
    MPI_Recv_init(in, NUMBERS, MPI_DOUBLE, other, 1, WORLD, &r[0]);
    MPI_Send_init(out, NUMBERS / (1 + rank), MPI_DOUBLE, other, 1, WORLD, &r[1]);
    MPI_Ssend_init(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 2, WORLD, &r[2]);
    for (int turn = 0; turn < TURNS; turn++) {
        if (rank == 0)
            compute(1e-3 * LATE_MS);
        out[0] = turn + 1;
        if (rank) {
            MPI_Start(&r[0]);
            MPI_Start(&r[1]);
        } else {
            MPI_Startall(3, r);
        }
        tell(other, NUMBERS / (1 + rank) * sizeof(double));
        double begin = MPI_Wtime();
        MPI_Waitall(rank ? 2 : 3, r, MPI_STATUSES_IGNORE); /* line: wait */
        spent_wait += MPI_Wtime() - begin;
        expect(in[0] == turn + 1, "a persistent message");
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&r[i]);
}

static void large(void)
{
    int32_t out[4] = {1, 2, 3, 4}, in[4] = {0};
    const MPI_Count counts[2] = {1, 3};
    const MPI_Aint places[2] = {0, 1};
    if (rank == 0) {
        MPI_Send_c(out, 4, MPI_INT, 1, 5, WORLD);
        tell(1, 16);
    } else {
        MPI_Recv_c(in, 4, MPI_INT, 0, 5, WORLD, MPI_STATUS_IGNORE);
        expect(in[3] == 4, "MPI_Send_c");
    }
    MPI_Allreduce_c(out, in, 4, MPI_INT, MPI_SUM, WORLD); /* line: sum */
    expect(in[3] == 8, "MPI_Allreduce_c");
    /* rank r gets r * 2 + 1 numbers of each */
    const MPI_Count mine[2] = {2 * rank + 1, 2 * rank + 1};
    const MPI_Aint there[2] = {0, rank ? 0 : 2};
    memset(in, 0, sizeof in);
    MPI_Alltoallv_c(out, counts, places, MPI_INT, in, mine, there, MPI_INT, WORLD);
    expect(in[0] == 1 + rank, "MPI_Alltoallv_c");
    memset(in, 0, sizeof in);
    MPI_Gatherv_c(out + rank, rank ? 3 : 1, MPI_INT, in, rank ? NULL : counts, rank ? NULL : places,
                  MPI_INT, 0, WORLD);
    expect(rank || (in[0] == 1 && in[3] == 4), "MPI_Gatherv_c");
#if MPI_VERSION < 4
    expect(MPI_Send_c(out, 3000000000, MPI_CHAR, 1 - rank, 5, WORLD) == MPI_ERR_COUNT,
           "more than the library can send");
#endif
}

/* Begun when the last part is ready, which is late. */
static void in_parts(void)
{
#if MPI_VERSION >= 4
    static double data[PARTS * NUMBERS];
    MPI_Request r;
    if (rank == 0)
        MPI_Psend_init(data, PARTS, NUMBERS, MPI_DOUBLE, 1, 7, WORLD, MPI_INFO_NULL, &r);
    else
        MPI_Precv_init(data, PARTS, NUMBERS, MPI_DOUBLE, 0, 7, WORLD, MPI_INFO_NULL, &r);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Start(&r);
        if (rank == 0) {
            data[PARTS * NUMBERS - 1] = turn + 1;
            MPI_Pready(0, r);
            MPI_Pready_range(1, PARTS - 2, r);
            compute(1e-3 * LATE_MS);
            MPI_Pready(PARTS - 1, r);
            tell(1, sizeof data);
        }
        double begin = MPI_Wtime();
        MPI_Wait(&r, MPI_STATUS_IGNORE); /* line: parts */
        spent_parts += MPI_Wtime() - begin;
        expect(data[PARTS * NUMBERS - 1] == turn + 1, "a message in parts");
    }
    MPI_Request_free(&r);
#endif
}

/* Counts of 64 bit in a call that is posted. */
static void large_list(void)
{
    static const int32_t out[4] = {1, 2, 3, 4};
    const MPI_Count counts[2] = {1, 3};
    const MPI_Aint places[2] = {0, 1};
    const MPI_Count mine[2] = {2 * rank + 1, 2 * rank + 1};
    const MPI_Aint there[2] = {0, 2 * rank + 1};
    int32_t room[6] = {0};
    MPI_Request r;
    MPI_Ialltoallv_c(out, counts, places, MPI_INT, room, mine, there, MPI_INT, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(room[0] == 1 + rank && room[2 * rank + 1] == 1 + rank, "MPI_Ialltoallv_c");
}

static void sum_again(void)
{
#ifdef ALLREDUCE_INIT
    double mine[3] = {1, 2, 3}, sum[3];
    MPI_Request r;
    ALLREDUCE_INIT(mine, sum, 3, MPI_DOUBLE, MPI_SUM, WORLD, MPI_INFO_NULL, &r);
    for (int turn = 0; turn < TURNS; turn++) {
        mine[2] = turn;
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        expect(sum[2] == 2 * turn, "MPI_Allreduce_init");
    }
    MPI_Request_free(&r);
#else
    printf("no collective calls again\n");
#endif
}

static void posted(void)
{
    double mine[3] = {1, 2, 3}, sum[3];
    MPI_Request r[2];
    MPI_Iallreduce(mine, sum, 3, MPI_DOUBLE, MPI_SUM, WORLD, &r[0]); /* line: posted */
    MPI_Ibarrier(WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    expect(sum[2] == 6, "MPI_Iallreduce");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (size != 2)
        MPI_Abort(WORLD, 3);
    again_and_again();
    if (MPI_Send_c)
        large();
    else
        printf("no large counts\n");
    if (MPI_Ialltoallv_c)
        large_list();
    in_parts();
    sum_again();
    posted();
    printf("rank %d wait %.6f parts %.6f\n", rank, spent_wait, spent_parts);
    MPI_Finalize();
    return 0;
}
