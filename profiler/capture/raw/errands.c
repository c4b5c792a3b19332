/* Errands: a table of them, each with a futex; claimed, filled in, done, and free again. */
#include <string.h>
#include <time.h>

#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"

#define WAIT_MOST_NS 100000000u

enum { ERRAND_FREE, ERRAND_CLAIMED, ERRAND_ASKED, ERRAND_AT_WORK, ERRAND_DONE, ERRAND_LEFT };
enum { ERRANDS = 16 };
static struct errand errands[ERRANDS];
static uint32_t errand_states[ERRANDS]; /* futexes */
enum { REFUSED, TAKEN, LATE };          /* LATE: one was not done in time */
static uint32_t errands_how;
static void (*errands_wake)(void);
static __thread int errands_are_needed;

static uint32_t *errand_state(const struct errand *e)
{
    return &errand_states[e - errands];
}

static int errand_moves(const struct errand *e, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(errand_state(e), &from, to, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static uint64_t errand_now(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int errands_wanted(void)
{
    return __atomic_load_n(&errands_how, __ATOMIC_ACQUIRE) != REFUSED && raw_files_are_seen();
}

struct errand *errand_begin(void (*work)(struct errand *e))
{
    if (__atomic_load_n(&errands_how, __ATOMIC_ACQUIRE) != TAKEN)
        return NULL;
    for (struct errand *e = errands; e < errands + ERRANDS; e++)
        if (errand_moves(e, ERRAND_FREE, ERRAND_CLAIMED)) {
            e->work = work;
            return e;
        }
    return NULL;
}

int errand_do(struct errand *e)
{
    uint32_t *state = errand_state(e), now;
    const uint64_t end = errand_now() + WAIT_MOST_NS;
    __atomic_store_n(state, ERRAND_ASKED, __ATOMIC_RELEASE);
    errands_wake();
    while ((now = __atomic_load_n(state, __ATOMIC_ACQUIRE)) != ERRAND_DONE) {
        const uint64_t at = errand_now();
        if (at < end) {
            raw_futex_wait(state, now, end - at);
        } else if (errand_moves(e, ERRAND_ASKED, ERRAND_FREE) ||
                   errand_moves(e, ERRAND_AT_WORK, ERRAND_LEFT)) {
            uint32_t taken = TAKEN;
            __atomic_compare_exchange_n(&errands_how, &taken, LATE, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED);
            return 0;
        }
    }
    return 1;
}

void errand_end(struct errand *e)
{
    __atomic_store_n(errand_state(e), ERRAND_FREE, __ATOMIC_RELEASE);
}

int errands_needed(int on)
{
    const int was = errands_are_needed;
    errands_are_needed = on;
    return was;
}

void errands_take(void (*wake)(void))
{
    errands_wake = wake;
    __atomic_store_n(&errands_how, TAKEN, __ATOMIC_RELEASE);
}

void errands_serve(void)
{
    uint32_t late = LATE;
    __atomic_compare_exchange_n(&errands_how, &late, TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    for (struct errand *e = errands; e < errands + ERRANDS; e++) {
        if (!errand_moves(e, ERRAND_ASKED, ERRAND_AT_WORK))
            continue;
        e->work(e);
        if (errand_moves(e, ERRAND_AT_WORK, ERRAND_DONE))
            raw_futex_wake(errand_state(e), 1);
        else
            errand_end(e);
    }
}

void errands_refuse(void)
{
    __atomic_store_n(&errands_how, REFUSED, __ATOMIC_RELEASE);
    errands_serve();
}

void errands_forked(void)
{
    errands_how = REFUSED;
    memset(errand_states, 0, sizeof errand_states);
}

static void errand_read(struct errand *e)
{
    e->number[0] = raw_read_here(e->text, e->number[1], e->text, sizeof e->text);
}

/* Reads pieces that fit into an errand. */
size_t raw_read_file(const char *path, char *out, size_t bytes)
{
    size_t used = 0, n = sizeof errands->text - 1;
    if (!errands_wanted())
        return raw_read_here(path, 0, out, bytes);
    while (used < bytes - 1 && n == sizeof errands->text - 1) {
        struct errand *e = errand_begin(errand_read);
        if (e) {
            strcpy(e->text, path);
            e->number[1] = used;
        }
        if (!e || !errand_do(e))
            return errands_are_needed ? raw_read_here(path, 0, out, bytes) : (*out = 0);
        n = e->number[0];
        const size_t room = bytes - 1 - used, some = n < room ? n : room;
        memcpy(out + used, e->text, some);
        used += some;
        errand_end(e);
    }
    out[used] = 0;
    return used;
}

size_t raw_read_again(int *fd, const char *path, char *out, size_t bytes)
{
    return raw_files_are_unshared() ? raw_read_private(fd, path, out, bytes)
                                    : raw_read_file(path, out, bytes);
}
