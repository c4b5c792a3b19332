/* Reads words of a stack: plainly where the thread was stopped, else through a window. */
#include <string.h>

#include "profiler/capture/core/unwind/unwind.h"
#include "profiler/capture/raw/safe_read.h"

int unwind_read(struct unwind_memory *m, uintptr_t address, uintptr_t *value)
{
    if (address >= m->floor && address <= m->high - sizeof *value && m->floor < m->high) {
        memcpy(value, (const void *)address, sizeof *value);
        return 1;
    }
    size_t into = address - m->window_at;
    if (address < m->window_at || into + sizeof *value > m->window_bytes) {
        m->window_at = address;
        m->window_bytes = safe_read_some(address, m->window, m->window_room);
        if (m->window_bytes < sizeof *value)
            return 0;
        into = 0;
    }
    memcpy(value, m->window + into, sizeof *value);
    return 1;
}
