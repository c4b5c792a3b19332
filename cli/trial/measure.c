/* Measures the time of a line of the program in a recording. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "cli/trial/trial.h"
#include "profiler/analyze/model/model.h"

/* 1: the path ends with that key of the profile's files. */
static int path_is_key(const char *path, const char *key)
{
    const size_t n = strlen(path), k = strlen(key);
    return text_ends(path, key) && (n == k || path[n - k - 1] == '/');
}

double trial_line_s(const struct model *m, const char *file, int64_t line)
{
    double ns = 0;
    if (!m || !file)
        return (double)NAN;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        if (o->line == line && o->file && path_is_key(file, o->file))
            ns += (double)o->path_cpu_ns + (double)o->path_wait_ns;
    }
    return 1e-9 * ns;
}
