/* Ranks of which one is late, by its own clocks: each prints what it spent in which call, and when
 * it came to each Allreduce: on a busy machine another rank may be the last one. argv[1]: the late
 * rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORLD     MPI_COMM_WORLD
#define NO_STATUS MPI_STATUS_IGNORE
enum { ROUNDS = 5, FLOATS = 1 << 18 };

static double spent_all, spent_barrier, spent_receive, spent_send;
static double sent_bytes, arrived[ROUNDS];

/* The same for all ranks, whatever their namespaces of time. */
static double common_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;
    volatile double x = 0;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 1000; i++)
            x = x + 1e-9 * i;
}

static void sum_up(float *data, float *sum, int round)
{
    arrived[round] = common_time();
    double begin = MPI_Wtime();
    MPI_Allreduce(data, sum, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); /* line: all */
    spent_all += MPI_Wtime() - begin;
}

static void meet(void)
{
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD); /* line: barrier */
    spent_barrier += MPI_Wtime() - begin;
}

/* Rank 0 sends late, rank 1 waits for it. */
static void late_sender(int rank, float *data)
{
    double begin;
    if (rank == 0) {
        compute(0.1);
        begin = MPI_Wtime();
        MPI_Send(data, 1000, MPI_FLOAT, 1, 7, MPI_COMM_WORLD);
        spent_send += MPI_Wtime() - begin;
        sent_bytes += 4000;
    } else if (rank == 1) {
        begin = MPI_Wtime();
        MPI_Recv(data, 1000, MPI_FLOAT, 0, 7, WORLD, NO_STATUS); /* line: receive */
        spent_receive += MPI_Wtime() - begin;
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    double joined = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int late = argc > 1 ? atoi(argv[1]) : size - 1;
    float *data = calloc(FLOATS, sizeof *data), *sum = calloc(FLOATS, sizeof *sum);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        compute(rank == late ? 0.25 : 0.02);
        sum_up(data, sum, i);
    }
    compute(rank == late ? 0.3 : 0.02);
    meet();
    late_sender(rank, data);
    printf("rank %d wall %.6f since_init %.6f all %.6f barrier %.6f receive %.6f send %.6f sent "
           "%.0f\n",
           rank, MPI_Wtime() - start, MPI_Wtime() - joined, spent_all, spent_barrier, spent_receive,
           spent_send, sent_bytes);
    for (int i = 0; i < ROUNDS; i++)
        printf("arrived %d %d %.6f\n", i, rank, arrived[i]);
    MPI_Finalize();
    free(data);
    free(sum);
    return 0;
}
