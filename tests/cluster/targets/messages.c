/* Messages of several kinds, by each rank's own clock. "exit N", "abort N": ends so; "wait": tells
 * its pid and waits for ever. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD     MPI_COMM_WORLD
#define NO_STATUS MPI_STATUS_IGNORE
enum { MOST = 4000 };

static int rank, size;
static double spent_waitall, spent_half, spent_any, spent_matched;

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

/* Rank 0 sends to all others, late; they have posted and wait. */
static void posted(double *data)
{
    MPI_Request request[2];
    if (rank == 0) {
        compute(0.2);
        for (int r = 1; r < size; r++) {
            MPI_Send(data, 100 * r, MPI_DOUBLE, r, 3, MPI_COMM_WORLD);
            tell(r, 800 * (size_t)r);
        }
        return;
    }
    MPI_Irecv(data, MOST, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(data, 10, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &request[1]);
    tell(0, 10);
    double begin = MPI_Wtime();
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE); /* line: waitall */
    spent_waitall += MPI_Wtime() - begin;
}

static void collect(double *data)
{
    for (int r = 1; rank == 0 && r < size; r++)
        MPI_Recv(data, MOST, MPI_CHAR, r, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ring(double *data)
{
    double other[8];
    MPI_Sendrecv(data, 8, MPI_DOUBLE, (rank + 1) % size, 5, other, 8, MPI_DOUBLE,
                 (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell((rank + 1) % size, 64);
}

/* The last rank is late for its half of the ranks alone. */
static void halves(void)
{
    MPI_Comm half;
    float mine = 1, sum;
    MPI_Comm_split(MPI_COMM_WORLD, rank >= size / 2, rank, &half);
    if (rank == size - 1)
        compute(0.15);
    double begin = MPI_Wtime();
    MPI_Allreduce(&mine, &sum, 1, MPI_FLOAT, MPI_SUM, half); /* line: half */
    spent_half += MPI_Wtime() - begin;
    MPI_Comm_free(&half);
}

static void any(double *data)
{
    if (size > 2 && rank == 2) {
        compute(0.1);
        MPI_Send(data, 5, MPI_INT, 0, 6, MPI_COMM_WORLD);
        tell(0, 20);
    }
    if (size > 2 && rank == 0) {
        double begin = MPI_Wtime();
        MPI_Recv(data, MOST, MPI_INT, MPI_ANY_SOURCE, 6, WORLD, NO_STATUS); /* line: any */
        spent_any += MPI_Wtime() - begin;
    }
}

/* As mpi4py receives objects: the wait is in the probe, for whoever sends. */
static void matched(double *data)
{
    MPI_Message message;
    MPI_Status status;
    if (rank == 0) {
        compute(0.15);
        MPI_Send(data, 7, MPI_INT, 1, 8, MPI_COMM_WORLD);
        tell(1, 28);
    }
    if (rank == 1) {
        double begin = MPI_Wtime();
        MPI_Mprobe(MPI_ANY_SOURCE, 8, WORLD, &message, &status); /* line: matched */
        spent_matched += MPI_Wtime() - begin;
        MPI_Mrecv(data, MOST, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static double data[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && !strcmp(argv[1], "exit") && rank == 1)
        exit(atoi(argv[2]));
    if (argc > 2 && !strcmp(argv[1], "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
    if (argc > 1) {
        printf("pid %d %d\n", rank, (int)getpid());
        fflush(stdout);
        if (rank)
            MPI_Recv(data, MOST, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (;;)
            sleep(1);
    }
    posted(data);
    collect(data);
    ring(data);
    halves();
    any(data);
    matched(data);
    printf("rank %d waitall %.6f half %.6f any %.6f matched %.6f\n", rank, spent_waitall,
           spent_half, spent_any, spent_matched);
    MPI_Finalize();
    return 0;
}
