/* Looks for a program as a shell does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/run_folder.h"
#include "cli/common/in_path.h"

int in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        char file[RUN_PATH];
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, at, name);
        if (n && !access(file, X_OK))
            return 1;
        at += n + (at[n] == ':');
    }
    return 0;
}
