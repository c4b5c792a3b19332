/* How fast the processor's counter counts, by the clock. A counter that does not keep its rate is
 * not used. */
#include "profiler/capture/recorders/io/short_calls.h"

#define FOLLOW_NS 40000000u /* before it is known how fast the counter counts */
#define READ_NS   2000u     /* clock and counter are read together within this time */
#define OFF       0.02      /* a counter whose rate changes by more is not used */

uint64_t io_tick_ns;
uint64_t io_last_tick_ns;

uint64_t io_begin_ns(uint64_t begin, uint64_t end)
{
    return begin & IO_TICKS ? end - io_between(begin, IO_TICKS | raw_ticks()) : begin;
}

void io_ticks_follow(void)
{
    static struct {
        uint64_t ns, ticks;
    } first, last;
    static int unsteady;
    uint64_t before = trace_now(), ticks = raw_ticks() & ~IO_TICKS, now = trace_now();
    if (raw_ticks_trapped)
        __atomic_store_n(&io_tick_ns, 0, __ATOMIC_RELEASE);
    if (!raw_ticks() || unsteady || now - before > READ_NS)
        return;
    if (!first.ns) {
        first.ns = last.ns = now;
        first.ticks = last.ticks = ticks;
        return;
    }
    if (now - last.ns < FOLLOW_NS)
        return;
    double rate = (double)(now - first.ns) / (double)(ticks - first.ticks);
    double lately = (double)(now - last.ns) / (double)(ticks - last.ticks);
    unsteady = ticks <= last.ticks || !(rate > 0) || rate > 1e6 || lately > rate * (1 + OFF) ||
               lately < rate * (1 - OFF);
    last.ns = now;
    last.ticks = ticks;
    if (!unsteady)
        __atomic_store_n(&io_last_tick_ns, (uint64_t)(rate * 0x1p32), __ATOMIC_RELAXED);
    __atomic_store_n(&io_tick_ns, unsteady ? 0 : (uint64_t)(rate * 0x1p32), __ATOMIC_RELEASE);
}
