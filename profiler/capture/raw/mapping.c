/* Reads /proc/self/maps line by line, without memory of its own. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/mapping.h"
#include "profiler/capture/raw/system.h"

static void line_bounds(const char *line, uintptr_t bounds[2])
{
    int which = 0;
    bounds[0] = bounds[1] = 0;
    for (const char *p = line; *p && *p != ' '; p++)
        if (*p == '-')
            which = 1;
        else
            bounds[which] = bounds[which] * 16 + (uintptr_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
}

void raw_mapping_find(uintptr_t address, const char *name, char *buffer, uintptr_t *low,
                      uintptr_t *high)
{
    size_t kept = 0;
    long fd = raw_open("/proc/self/maps", O_RDONLY), n;
    if (fd < 0)
        return;
    while ((n = syscall(SYS_read, fd, buffer + kept, RAW_MAPPING_ROOM - 1 - kept)) > 0) {
        char *line = buffer, *end;
        buffer[kept += (size_t)n] = 0;
        while ((end = strchr(line, '\n'))) {
            uintptr_t bounds[2];
            *end = 0;
            line_bounds(line, bounds);
            if (address >= bounds[0] && address < bounds[1] && (!name || strstr(line, name))) {
                *low = bounds[0];
                *high = bounds[1];
            }
            line = end + 1;
        }
        kept = *high ? 0 : strlen(line);
        memmove(buffer, line, kept);
        if (kept == RAW_MAPPING_ROOM - 1) /* a longer line: only its first part is of interest */
            kept = 0;
    }
    syscall(SYS_close, fd);
}
