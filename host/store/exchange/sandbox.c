/* Restricts a child process that reads another user's file. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/store/exchange/sandbox.h"

int file_is_own(const char *path)
{
    struct stat st;
    return stat(path, &st) || st.st_uid == geteuid() ||
           st.st_uid == 0; /* root can do as it likes */
}

void sandbox_limit(size_t bytes)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
#ifndef __SANITIZE_ADDRESS__
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    struct rlimit old, limit = {0};
    limit.rlim_cur = limit.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    if (pages && !getrlimit(RLIMIT_AS, &old) && limit.rlim_max < old.rlim_max)
        setrlimit(RLIMIT_AS, &limit);
#else
    (void)bytes;
#endif
}
