/* The gate between the library's own thread and the others: it is held during each of its turns and
 * around a fork, so that the child does not inherit a lock that this thread holds. Futexes alone.
 */
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"

static uint32_t gate;  /* 0 free, 1 held, 2 held and wanted */
static uint32_t ends;  /* counts threads that ended */
static uint32_t calls; /* a futex: counts what the library's own thread is to look at */

#define SERVE_NS 500000 /* errands wait so long at most for a gate that another thread holds */

int poll_gate_try(void)
{
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&gate, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void poll_gate_lock(void)
{
    if (poll_gate_try())
        return;
    while (__atomic_exchange_n(&gate, 2, __ATOMIC_ACQUIRE))
        raw_futex_wait(&gate, 2, 0);
}

void poll_gate_lock_own(void)
{
    if (poll_gate_try())
        return;
    while (__atomic_exchange_n(&gate, 2, __ATOMIC_ACQUIRE)) { /* never 1: others may still wait */
        raw_futex_wait(&gate, 2, SERVE_NS);
        errands_serve();
    }
}

int poll_gate_keep(uint64_t ns)
{
    uint64_t end = trace_now() + ns;
    int held = 0;
    while (!(held = !__atomic_exchange_n(&gate, 2, __ATOMIC_ACQUIRE)) && trace_now() < end)
        raw_futex_wait(&gate, 2, 500000);
    return held;
}

void poll_gate_unlock(void)
{
    if (__atomic_exchange_n(&gate, 0, __ATOMIC_RELEASE) == 2)
        raw_futex_wake(&gate, 1);
}

uint32_t poll_gate_ends(void)
{
    return __atomic_load_n(&ends, __ATOMIC_RELAXED);
}

void poll_gate_wait(uint32_t seen_ends, uint64_t ns)
{
    const uint64_t end = trace_now() + ns;
    for (uint64_t now; (now = trace_now()) < end;) {
        uint32_t seen = __atomic_load_n(&calls, __ATOMIC_ACQUIRE);
        errands_serve();
        if (poll_gate_ends() != seen_ends)
            return;
        raw_futex_wait(&calls, seen, end - now);
    }
}

void poll_gate_call(void)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
    raw_futex_wake(&calls, 1);
}

void poll_gate_wake(void)
{
    __atomic_fetch_add(&ends, 1, __ATOMIC_RELEASE);
    poll_gate_call();
}
