/* The transport over MPI: the only file with mpi.h, a shared object of its own. */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/cluster/cluster.h"

#define PIECE ((size_t)1 << 30) /* counts of MPI are int */
enum { IMAGES_MOST = 1024 };

static int joined_here; /* not where the program that lends us its process did */

static int mpi_join(struct cluster_place *place)
{
    int there, provided, e;
    MPI_Comm node;
    MPI_Initialized(&there);
    if (!there) {
        if ((e = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided)))
            return e;
        joined_here = 1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place->size);
    if ((e = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL,
                                 &node)))
        return e;
    MPI_Comm_rank(node, &place->local_rank);
    MPI_Comm_size(node, &place->local_size);
    return MPI_Comm_free(&node);
}

struct held_images {
    char *names[IMAGES_MOST];
    int count;
};

static int note_image(struct dl_phdr_info *info, size_t size, void *context)
{
    struct held_images *all = context;
    (void)size;
    if (info->dlpi_name && *info->dlpi_name == '/' && all->count < IMAGES_MOST)
        if ((all->names[all->count] = strdup(info->dlpi_name)))
            all->count++;
    return 0;
}

/* MPI_Finalize unloads plug-ins whose threads may still be on their way out, where CPUs are few: a
 * rank that has done all of its work would crash. What is loaded now stays until the end. */
static void mpi_hold_images(void)
{
    struct held_images all = {.count = 0};
    dl_iterate_phdr(note_image, &all);
    for (int i = 0; i < all.count; i++) {
        (void)dlopen(all.names[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        free(all.names[i]);
    }
}

static void mpi_leave(void)
{
    int over;
    MPI_Finalized(&over);
    if (!joined_here || over)
        return;
    mpi_hold_images();
    MPI_Finalize();
}

static void end_all(int exit_code)
{
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

static int gather_all(const double *mine, int count, double *all)
{
    return MPI_Allgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static int mpi_broadcast(void *data, size_t bytes, int root)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        const int e = MPI_Bcast((char *)data + at, (int)n, MPI_BYTE, root, MPI_COMM_WORLD);
        if (e)
            return e;
    }
    return 0;
}

static size_t piece_bytes(size_t bytes, size_t at)
{
    return at >= bytes ? 0 : bytes - at < PIECE ? bytes - at : PIECE;
}

/* Both sides go through as many pieces as their own sizes say; an empty piece meets nobody. */
static int mpi_exchange(int to, const void *data, size_t bytes, int from, void *into, size_t room)
{
    for (size_t at = 0; (to >= 0 && at < bytes) || (from >= 0 && at < room); at += PIECE) {
        const size_t out = to < 0 ? 0 : piece_bytes(bytes, at),
                     in = from < 0 ? 0 : piece_bytes(room, at);
        const int e =
            MPI_Sendrecv((const char *)data + (out ? at : 0), (int)out, MPI_BYTE,
                         out ? to : MPI_PROC_NULL, 0, (char *)into + (in ? at : 0), (int)in,
                         MPI_BYTE, in ? from : MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (e)
            return e;
    }
    return 0;
}

static void mpi_explain(int code, char text[512])
{
    char all[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, all, &length);
    all[length] = 0;
    strncpy(text, all, 511);
    text[511] = 0;
}

/* MPI libraries that could take a GPU's memory have this extension, which says whether they can. */
static int reads_devices(void)
{
    int (*ask)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&ask, &symbol, sizeof ask);
    return symbol && ask();
}

__attribute__((visibility("default"))) const struct cluster_transport *tomoprof_mpi(void);

const struct cluster_transport *tomoprof_mpi(void)
{
    static const struct cluster_transport table = {sizeof table, mpi_join,    mpi_leave,
                                                   end_all,      gather_all,  mpi_broadcast,
                                                   mpi_exchange, mpi_explain, reads_devices};
    return &table;
}
