/* The GIL: a structure {interval in us, last holder, locked, switches, condition, mutex, condition,
 * mutex}, the same from 3.9 to 3.14. In free-threaded builds a word before it says whether there is
 * one: then nobody waits for it. Up to 3.11 it lies in the runtime; later each interpreter has
 * a pointer to its own or to the main one's. */
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/python.h"
#include "profiler/capture/recorders/python/read.h"

enum { INTERVAL, HOLDER, LOCKED, HEAD_WORDS, CONDITION };
enum { GIL_BYTES = 208, GILS = 16 }; /* with glibc's conditions of 48 bytes and mutexes of 40 */

static uintptr_t gils[GILS];
static unsigned count;

/* Its interval is 5000 us unless the program set another, and `locked` is 0 or 1. */
static int gil_is_plausible(uintptr_t gil)
{
    uint64_t head[HEAD_WORDS];
    if (!gil || gil % 8 || !safe_read(gil, head, sizeof head))
        return 0;
    uint32_t locked = (uint32_t)head[LOCKED];
    return head[INTERVAL] >= 1 && head[INTERVAL] <= 1000000000 && locked <= 1;
}

static void gil_add(uintptr_t gil)
{
    for (unsigned i = 0; i < count; i++)
        if (gils[i] == gil)
            return;
    if (count == GILS || !gil_is_plausible(gil))
        return;
    gils[count] = gil;
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

void python_gil_find(void)
{
    const struct python_layout *l = &python_runtime.layout;
    uintptr_t interpreter, gil;
    if (!python_is_ready() || !l->gil)
        return;
    if (l->minor < 12) {
        if (!count)
            gil_add(python_runtime.runtime + l->gil);
        return;
    }
    if (!safe_read(python_runtime.runtime + l->interpreters, &interpreter, sizeof interpreter))
        return;
    for (int steps = 0; interpreter && steps < GILS; steps++) {
        if (!safe_read(interpreter + l->gil, &gil, sizeof gil))
            return;
        gil_add(gil + 8u * l->free_threaded);
        if (!safe_read(interpreter + l->interpreter_next, &interpreter, sizeof interpreter))
            return;
    }
}

uintptr_t python_gil_at(uintptr_t address)
{
    unsigned n = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (address - gils[i] < GIL_BYTES)
            return gils[i];
    return 0;
}

int python_gil_is_waited_for(uintptr_t gil, uintptr_t address)
{
    return address == gil + 8 * CONDITION;
}

int python_gil_is_held(uintptr_t gil)
{
    return __atomic_load_n((const int *)(gil + 8 * LOCKED), __ATOMIC_RELAXED) == 1;
}

uint32_t python_gil_holder(uintptr_t gil)
{
    uintptr_t state = __atomic_load_n((const uintptr_t *)(gil + 8 * HOLDER), __ATOMIC_RELAXED);
    return state && python_gil_is_held(gil) ? python_thread_number(state) : 0;
}

int python_gil_minor(void)
{
    return python_is_ready() ? python_runtime.layout.minor : 0;
}
