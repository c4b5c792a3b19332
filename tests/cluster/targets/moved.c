/* Files and windows by ranks: each prints what it spent and moved in them, by its own clock.
 * argv[1]: a file to make. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WORLD     MPI_COMM_WORLD
#define NO_STATUS MPI_STATUS_IGNORE
enum { FLOATS = 1 << 20, SOME = FLOATS / 4, BYTES = FLOATS * 4 };

static double spent_file, spent_window;
static double begin;

int main(int argc, char **argv)
{
    int rank, size;
    MPI_File file;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    float *data = calloc(2, BYTES), *memory;
    const int next = (rank + 1) % size;
    const MPI_Offset at = (MPI_Offset)rank * BYTES;
    MPI_File_open(WORLD, argc > 1 ? argv[1] : "moved.bin", MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
    MPI_Win_allocate(BYTES, sizeof(float), MPI_INFO_NULL, WORLD, &memory, &window);
    for (int i = 0; i < FLOATS; i++)
        data[i] = (float)(rank + i);
    begin = MPI_Wtime();
    MPI_File_write_at_all(file, at, data, FLOATS, MPI_FLOAT, NO_STATUS); /* line: write_all */
    MPI_File_read_at(file, at, data, FLOATS / 2, MPI_FLOAT, NO_STATUS);  /* line: read */
    spent_file = MPI_Wtime() - begin;
    MPI_Win_fence(0, window);
    begin = MPI_Wtime();
    MPI_Put(data, FLOATS, MPI_FLOAT, next, 0, FLOATS, MPI_FLOAT, window); /* line: put */
    MPI_Win_fence(0, window);                                             /* line: fence */
    spent_window = MPI_Wtime() - begin;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
    MPI_Get(data + FLOATS, SOME, MPI_FLOAT, next, 0, SOME, MPI_FLOAT, window); /* line: get */
    MPI_Win_flush(next, window);
    MPI_Win_unlock(next, window);
    const int good = data[FLOATS] == data[0] && memory[1] >= 1;
    MPI_Win_free(&window);
    MPI_File_close(&file);
    printf("rank %d file %.6f window %.6f good %d\n", rank, spent_file, spent_window, good);
    free(data);
    MPI_Finalize();
    return !good;
}
