/* MPI: rank 0 has three times the work of rank 1, which waits busily in the barrier. */
#include "spin.h"
#include "truth.h"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    double x = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        if (rank == 0) {
            truth_begin("zero");
            SPIN(x, 60000000); /* truth: zero */
            truth_end("zero");
        } else {
            truth_begin("one");
            SPIN(x, 20000000); /* truth: one */
            truth_end("one");
        }
        truth_begin("barrier");
        MPI_Barrier(MPI_COMM_WORLD); /* truth: barrier */
        truth_end("barrier");
    }
    MPI_Reduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6g\n", sum);
    MPI_Finalize();
    return 0;
}
