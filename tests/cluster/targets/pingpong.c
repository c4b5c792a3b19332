/* Prints what messages cost between two ranks, and a small Allreduce of all: least times. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double half_round_trip(int rank, char *data, int bytes)
{
    double best = 1e9;
    for (int i = 0; i < 200; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        best = least(best, (MPI_Wtime() - begin) / 2);
    }
    return best;
}

static double small_allreduce(void)
{
    double best = 1e9, x = 1, sum;
    for (int i = 0; i < 200; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        best = least(best, MPI_Wtime() - begin);
    }
    return best;
}

int main(int argc, char **argv)
{
    int rank;
    enum { MOST = 1 << 24 };
    char *data = calloc(1, MOST);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 8; bytes <= MOST; bytes *= 8) {
        double s = half_round_trip(rank, data, bytes);
        if (rank == 0)
            printf("message %d %.9f\n", bytes, s);
    }
    double s = small_allreduce();
    if (rank == 0)
        printf("allreduce %.9f\n", s);
    MPI_Finalize();
    free(data);
    return 0;
}
