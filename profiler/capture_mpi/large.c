/* A program may look whether MPI_X_c is there (mpi4py does) and finds the one of this library. With
 * an MPI that lacks it the call goes to MPI_X, as the program's own would have. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture_mpi/groups.h"
#include "profiler/capture_mpi/hooks.h"

enum { WORDS = 12, ERR_COUNT = 2, ERR_OTHER = 16 };

#define BIT(n) (1u << (n))

/* Lists words that are counts besides the row's own, and lists of one for each rank: those of
 * `lists_at_root` count at the root alone. */
static const struct large_twin {
    enum call_number number;
    unsigned counts, lists, lists_at_root;
} twins[] = {
    {CALL_Sendrecv_c, BIT(6), 0, 0},
    {CALL_Scatter_c, BIT(5), 0, 0},
    {CALL_Scatterv_c, BIT(5), 0, BIT(1) | BIT(2)},
    {CALL_Gather_c, BIT(4), 0, 0},
    {CALL_Gatherv_c, 0, 0, BIT(4) | BIT(5)},
    {CALL_Allgather_c, BIT(4), 0, 0},
    {CALL_Allgatherv_c, 0, BIT(4) | BIT(5), 0},
    {CALL_Alltoall_c, BIT(4), 0, 0},
    {CALL_Alltoallv_c, 0, BIT(1) | BIT(2) | BIT(5) | BIT(6), 0},
    {CALL_Reduce_scatter_c, 0, BIT(2), 0},
    {CALL_Iscatter_c, BIT(5), 0, 0},
    {CALL_Igather_c, BIT(4), 0, 0},
    {CALL_Iallgather_c, BIT(4), 0, 0},
    {CALL_Ialltoall_c, BIT(4), 0, 0},
    {CALL_Iscatterv_c, BIT(5), 0, BIT(1) | BIT(2)},
    {CALL_Igatherv_c, 0, 0, BIT(4) | BIT(5)},
    {CALL_Iallgatherv_c, 0, BIT(4) | BIT(5), 0},
    {CALL_Ialltoallv_c, 0, BIT(1) | BIT(2) | BIT(5) | BIT(6), 0},
    {CALL_Ireduce_scatter_c, 0, BIT(2), 0},
    {CALL_Scatter_init_c, BIT(5), 0, 0},
    {CALL_Scatterv_init_c, BIT(5), 0, BIT(1) | BIT(2)},
    {CALL_Gather_init_c, BIT(4), 0, 0},
    {CALL_Gatherv_init_c, 0, 0, BIT(4) | BIT(5)},
    {CALL_Allgather_init_c, BIT(4), 0, 0},
    {CALL_Allgatherv_init_c, 0, BIT(4) | BIT(5), 0},
    {CALL_Alltoall_init_c, BIT(4), 0, 0},
    {CALL_Alltoallv_init_c, 0, BIT(1) | BIT(2) | BIT(5) | BIT(6), 0},
    {CALL_Reduce_scatter_init_c, 0, BIT(2), 0},
    {CALL_Win_create_c, BIT(2), 0, 0},
    {CALL_Win_allocate_c, BIT(1), 0, 0},
    {CALL_Put_c, BIT(5), 0, 0},
    {CALL_Get_c, BIT(5), 0, 0},
    {CALL_Accumulate_c, BIT(5), 0, 0},
    {CALL_Rput_c, BIT(5), 0, 0},
    {CALL_Rget_c, BIT(5), 0, 0},
    {CALL_Get_accumulate_c, BIT(4) | BIT(8), 0, 0},
};

/* Lists that MPI may read until a call is complete, which is not known here: equal ones are one,
 * and stay. */
static struct large_list {
    struct large_list *next;
    int n, numbers[];
} * kept;
static volatile int busy;

static int *large_keep(const int *numbers, int n)
{
    const size_t bytes = (size_t)n * sizeof *numbers;
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
    struct large_list *k = kept;
    while (k && (k->n != n || memcmp(k->numbers, numbers, bytes)))
        k = k->next;
    if (!k && (k = malloc(sizeof *k + bytes))) {
        k->n = n;
        memcpy(k->numbers, numbers, bytes);
        k->next = kept;
        kept = k;
    }
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return k ? k->numbers : NULL;
}

static int large_fits_int(int64_t n)
{
    return n >= INT_MIN && n <= INT_MAX;
}

/* 0, or the error; *out takes the place of the list. The caller frees it, unless it stays. */
static int large_shorten(word list, int n, int stays, word *out)
{
    const int64_t *from = (const int64_t *)list;
    int *to = from && list != (word)-1 ? malloc((size_t)n * sizeof *to) : NULL;
    if (!to)
        return from && list != (word)-1 ? ERR_OTHER : 0;
    *out = (word)to;
    for (int i = 0; i < n; i++) {
        if (!large_fits_int(from[i])) {
            *out = list;
            free(to);
            return ERR_COUNT;
        }
        to[i] = (int)from[i];
    }
    if (!stays)
        return 0;
    *out = (word)large_keep(to, n);
    free(to);
    return *out ? 0 : ERR_OTHER;
}

int large_as_plain(enum call_number number, void *plain, const word *w)
{
    const struct mpi_row *r = &mpi_rows[number];
    struct large_twin t = {.counts = 0};
    word v[WORDS] = {0};
    int error = 0;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        t = twins[i].number == number ? twins[i] : t;
    memcpy(v, w, (size_t)r->arguments * sizeof *v);
    if (r->count >= 0 && (r->more & 15) != LISTED)
        t.counts |= BIT(r->count);
    const struct mpi_group *g = t.lists | t.lists_at_root ? group_of(w[r->comm]) : NULL;
    if (g && (int)w[r->peer < 0 ? 0 : r->peer] == g->rank)
        t.lists |= t.lists_at_root;
    if (t.lists && !g)
        return ERR_OTHER;
    for (int i = 0; i < r->arguments && !error; i++) {
        if (t.counts & BIT(i) && !large_fits_int((int64_t)w[i]))
            error = ERR_COUNT;
        else if (t.lists & BIT(i))
            error = large_shorten(w[i], g->size, r->more & KEPT, &v[i]);
    }
    /* words beyond its parameters are not looked at */
    if (!error)
        error = ((int (*)(word, word, word, word, word, word, word, word, word, word, word,
                          word))plain)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9],
                                       v[10], v[11]);
    for (int i = 0; i < r->arguments; i++)
        if (t.lists & BIT(i) && v[i] != w[i] && !(r->more & KEPT))
            free((void *)v[i]);
    return error;
}
