/* Reads /proc of the recorded process. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/outside/process.h"

void process_path(char path[PROCESS_PATH], pid_t pid, const char *name)
{
    snprintf(path, PROCESS_PATH, "/proc/%d/%s", (int)pid, name);
}

size_t process_read(pid_t pid, pid_t tid, const char *name, char *out, size_t bytes)
{
    char path[PROCESS_PATH], task[40];
    snprintf(task, sizeof task, "task/%d/%s", (int)tid, name);
    process_path(path, pid, tid ? task : name);
    return raw_read_file(path, out, bytes);
}

int process_stat(pid_t pid, pid_t tid, struct process_stat *out)
{
    char text[1024];
    unsigned long long user, system, start;
    int parent;
    const char *at;
    *out = (struct process_stat){0};
    if (!process_read(pid, tid, "stat", text, sizeof text) || !(at = strrchr(text, ')')) ||
        sscanf(at + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
               &out->state, &parent, &user, &system, &start) != 5)
        return 0;
    out->parent = parent;
    out->user_ticks = user;
    out->system_ticks = system;
    out->start_ticks = start;
    return 1;
}

uint64_t process_ticks_ns(uint64_t ticks)
{
    return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
