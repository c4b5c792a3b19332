/* The kernel's account of one process that has ended, before it is waited for. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/record/record.h"

/* /proc/PID/stat tells user and system time in ticks of 10 ms, the process's CPU clock their exact
 * sum. */
void record_own_account(int pid, double *user_s, double *system_s)
{
    char path[32], text[1024];
    unsigned long long user = 0, system = 0;
    struct timespec sum;
    *user_s = *system_s = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                            &user, &system) != 2)
        return;
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &sum))
        return;
    double all = (double)sum.tv_sec + 1e-9 * (double)sum.tv_nsec;
    double share = user + system ? (double)system / (double)(user + system) : 0;
    *system_s = share * all;
    *user_s = all - *system_s;
}
