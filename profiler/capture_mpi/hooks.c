/* The functions of MPI, for a program of several ranks: each is timed, with its bytes and partners,
 * and passed on. C programs call MPI_X; Fortran's libraries call PMPI_X straight, so that both are
 * here, and a call inside of a call is not seen. Built without mpi.h: one library for Open MPI and
 * MPICH. Nothing here changes what a call does. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/recorders/mpi/mpi.h"
#include "profiler/capture_mpi/calls.h"
#include "profiler/capture_mpi/hooks.h"
#include "profiler/capture_mpi/groups.h"

#define API    __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* Parameters and arguments of so many words. */
#define P0  void
#define P1  word a
#define P2  P1, word b
#define P3  P2, word c
#define P4  P3, word d
#define P5  P4, word e
#define P6  P5, word f
#define P7  P6, word g
#define P8  P7, word h
#define P9  P8, word i
#define P10 P9, word j
#define P11 P10, word k
#define P12 P11, word l
#define A0
#define A1  a
#define A2  A1, b
#define A3  A2, c
#define A4  A3, d
#define A5  A4, e
#define A6  A5, f
#define A7  A6, g
#define A8  A7, h
#define A9  A8, i
#define A10 A9, j
#define A11 A10, k
#define A12 A11, l

#define W0
#define W1  A1,
#define W2  A2,
#define W3  A3,
#define W4  A4,
#define W5  A5,
#define W6  A6,
#define W7  A7,
#define W8  A8,
#define W9  A9,
#define W10 A10,
#define W11 A11,
#define W12 A12,

static const struct mpi_recorder *recorder; /* NULL: nothing is recorded */
static __thread int inside;

static void *hook_find(const char *prefix, const char *name)
{
    char full[64];
    strcpy(full, prefix);
    strcat(full, name);
    return mpi_find(full);
}

static __attribute__((constructor)) void hooks_loaded(void)
{
    mpi_recorder_entry *entry = (mpi_recorder_entry *)dlsym(RTLD_DEFAULT, MPI_RECORDER_NAME);
    const struct mpi_recorder *there = entry ? entry() : NULL;
    if (there && there->bytes == sizeof *there)
        recorder = there;
}

/* Elements that this rank gives. */
static int64_t call_elements(const struct mpi_row *r, const word *w, const struct mpi_group *g,
                             word *type)
{
    const word in_place = w[r->buffer < 0 ? 0 : r->buffer];
    const int instead = r->more & INSTEAD && (in_place == 1 || in_place == (word)-1);
    const int at = r->count + (instead ? 3 : 0), how = r->more & 15;
    *type = w[r->type + (instead ? 3 : 0)];
    const int64_t size = g ? g->size : 1;
    int64_t sum = 0;
    if (how == LISTED) {
        const int *counts = (const int *)w[at];
        const int64_t *large = (const int64_t *)w[at];
        for (int64_t i = 0; counts && g && i < size; i++)
            sum += r->more & LARGE ? large[i] : counts[i];
        return sum;
    }
    const int64_t n = r->more & LARGE ? (int64_t)w[at] : (int)w[at];
    return n * (how == EACH ? size : r->more & PARTS ? (int64_t)(int)w[1] : 1);
}

static int to_nobody(const struct mpi_row *r, const word *w)
{
    const int sends = r->op == TRACE_MPI_SEND || r->op == TRACE_MPI_SEND_POST ||
                      r->op == TRACE_MPI_EXCHANGE || r->more & SENDS;
    return sends && (int)w[r->peer] < 0; /* MPI_PROC_NULL */
}

static void count_bytes(const struct mpi_row *r, const word *w, const struct mpi_group *g,
                        struct mpi_call *c)
{
    word type;
    int64_t bytes = 0;
    const int root_alone = r->op == TRACE_MPI_OF_ROOT || r->more & ROOT;
    if (r->count < 0)
        return;
    if (!(root_alone && g && (int)w[r->peer] != g->rank) && !to_nobody(r, w)) {
        const int64_t n = call_elements(r, w, g, &type);
        const int64_t size = group_type_size(type);
        if (n < 0 || size < 0 || __builtin_mul_overflow(n, size, &bytes))
            return;
    }
    c->bytes = (uint64_t)bytes;
    c->flags |= TRACE_MPI_BYTES;
}

static int call_is_collective(uint16_t op)
{
    return op >= TRACE_MPI_BARRIER && op <= TRACE_MPI_PREFIX;
}

static int is_nobody(int rank) /* MPI_PROC_NULL; any rank is the other of -1 and -2 */
{
    return rank == (groups_is_mpich() ? -1 : -2);
}

/* An exchange with nobody on one side is a send or a receive. */
static void describe_exchange(const struct mpi_row *r, const word *w, const struct mpi_group *g,
                              struct mpi_call *c)
{
    const int from_at = r->comm == 7 ? 5 : 8; /* Sendrecv_replace, Sendrecv */
    const int from = (int)w[from_at], to = (int)w[r->peer];
    c->sequence = 1 + (uint32_t)group_world_rank(g, from);
    if (!is_nobody(from) && !is_nobody(to))
        return;
    c->sequence = 0;
    c->op = is_nobody(from) ? TRACE_MPI_SEND : TRACE_MPI_RECEIVE;
    if (!is_nobody(from)) {
        c->peer = group_world_rank(g, from);
        c->tag = (int)w[from_at + 1];
    }
}

static void call_describe(const struct mpi_row *r, const word *w, struct mpi_call *c)
{
    struct mpi_group *g = r->comm < 0 ? NULL : group_of(w[r->comm]);
    c->name = r->name;
    c->op = r->op;
    c->peer = c->tag = -1;
    if (g) {
        c->flags |= TRACE_MPI_GROUP;
        c->group = g->id;
        c->size = (uint32_t)g->size;
        c->sequence = call_is_collective(r->op) ? g->calls++ : 0;
    }
    if (r->peer >= 0)
        c->peer = group_world_rank(g, (int)w[r->peer]);
    if (r->tag >= 0)
        c->tag = (int)w[r->tag];
    if (r->op == TRACE_MPI_EXCHANGE)
        describe_exchange(r, w, g, c);
    else if ((r->op == TRACE_MPI_RECEIVE || r->op == TRACE_MPI_RECEIVE_POST) && r->peer >= 0 &&
             is_nobody((int)w[r->peer]))
        c->op = TRACE_MPI_POST;
    count_bytes(r, w, g, c);
}

static void hooks_record_rank(void)
{
    int rank, size;
    char library[256];
    if (!groups_join(&rank, &size, library))
        return;
    recorder->joined(rank, size, library);
    clocks_compare(recorder, rank, 0);
}

/* 1: the call is seen; mpi_ends follows it. */
static int call_begins(enum call_number number, const word *w, const void *caller,
                       struct mpi_call *c)
{
    if (inside || !recorder || !recorder->wanted())
        return 0;
    inside = 1;
    *c = (struct mpi_call){.caller = caller};
    if (number == CALL_Comm_free)
        group_forget(*(const word *)w[0]);
    if (number == CALL_Request_free)
        requests_freed(w);
    if (groups_are_known())
        call_describe(&mpi_rows[number], w, c);
    else
        c->name = mpi_rows[number].name, c->op = mpi_rows[number].op, c->peer = c->tag = -1;
    c->begin_ns = recorder->now();
    if (number == CALL_Finalize && groups_are_known())
        clocks_compare(recorder, group_of(groups_world())->rank, 1);
    return 1;
}

/* Reads the sender and the tag, where the program accepted any and keeps the answer. */
static void read_status(const struct mpi_row *r, const word *w, struct mpi_call *c)
{
    const int *status = r->status < 0 ? NULL : (const int *)w[r->status];
    if ((word)status < 4096) /* MPI_STATUS_IGNORE */
        return;
    status += group_status_at();
    if (c->peer < 0)
        c->peer = group_world_rank(group_of(w[r->comm]), status[0]);
    if (c->tag < 0)
        c->tag = status[1];
}

/* Each message that a call starts is one of its own; the first has the call's time. */
static void call_record_parts(enum call_number number, const word *w, int failed,
                              const struct mpi_call *c)
{
    const int64_t n = failed ? 0 : requests_started(number, w);
    if (!n && number != CALL_Comm_free)
        recorder->called(c);
    for (int64_t i = 0; i < n; i++) {
        struct mpi_call one = *c;
        requests_message(number, w, i, &one);
        one.end_ns = i ? c->begin_ns : c->end_ns;
        recorder->called(&one);
    }
}

static void call_ends(enum call_number number, const word *w, int failed, struct mpi_call *c)
{
    if (c->op == TRACE_MPI_START)
        hooks_record_rank(); /* what it takes is not the program's time */
    c->end_ns = recorder->now();
    c->whole_ns = c->end_ns - c->begin_ns;
    if (failed) /* nothing was moved, as far as can be known */
        c->peer = -1, c->bytes = 0;
    else if (groups_are_known() && mpi_rows[number].status >= 0)
        read_status(&mpi_rows[number], w, c);
    if (!failed && mpi_rows[number].more & (SENDS | RECEIVES | AGAIN))
        requests_made(number, w, c);
    call_record_parts(number, w, failed, c);
    inside = 0;
}

/* Both names of each function. One that MPI does not have fails as MPI_ERR_OTHER would, but for
 * large counts `otherwise` is tried. */
#define HOOK(prefix, name, n, otherwise)                                                           \
    API int prefix##name(P##n);                                                                    \
    API int prefix##name(P##n)                                                                     \
    {                                                                                              \
        static int (*next)(P##n);                                                                  \
        static void *plain;                                                                        \
        const word words[] = {W##n 0};                                                             \
        struct mpi_call call;                                                                      \
        if (!next && !plain && !(next = (int (*)(P##n))hook_find(#prefix, #name)))                 \
            plain = otherwise;                                                                     \
        if (!next && !plain)                                                                       \
            return 16;                                                                             \
        const int seen = call_begins(CALL_##name, words, CALLER, &call);                           \
        const int r = next ? next(A##n) : large_as_plain(CALL_##name, plain, words);               \
        if (seen)                                                                                  \
            call_ends(CALL_##name, words, r, &call);                                               \
        return r;                                                                                  \
    }
#define BOTH(name, n, ...) HOOK(MPI_, name, n, NULL) HOOK(PMPI_, name, n, NULL)
#define BOTH_LARGE(name, n, ...)                                                                   \
    HOOK(MPI_, name##_c, n, hook_find("MPI_", #name))                                              \
    HOOK(PMPI_, name##_c, n, hook_find("PMPI_", #name))
#define BOTH_EARLY(name, n, ...) HOOK(MPIX_, name, n, NULL) HOOK(PMPIX_, name, n, NULL)
COUNT_LIST(BOTH)
AGAIN_LIST(BOTH)
PLAIN_LIST(BOTH)
COUNT_LIST(BOTH_LARGE)
AGAIN_LIST(BOTH_LARGE)
AGAIN_LIST(BOTH_EARLY)
HOOK(MPIX_, Barrier_init, 3, NULL)
HOOK(PMPIX_, Barrier_init, 3, NULL)
