/* From a run folder to one flame graph for each operation and size. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/runs/flame_files.h"
#include "profiler/report/export/flame.h"

#define FLAME_PATH (RUN_PATH + 40)

static void path_beside(const char *profile, const char *name, char out[FLAME_PATH])
{
    snprintf(out, FLAME_PATH, "%.*s%s", (int)(base_name(profile) - profile), profile, name);
}

int flame_is_suite(const char *profile)
{
    char path[FLAME_PATH];
    struct stat st;
    path_beside(profile, "timing.json", path);
    return !stat(path, &st);
}

static enum err write_graphs(const char *profile, const struct model *m,
                             const struct timing_file *t, const char *folder)
{
    char inside[FLAME_PATH];
    struct flame_count count;
    path_beside(profile, "flamegraphs", inside);
    TRY(flame_operations(m, t, folder ? folder : inside, &count));
    log_info("%s: %d flame graph%s", folder ? folder : inside, count.written,
             count.written == 1 ? "" : "s");
    if (*count.without)
        log_info("without a sample, so without a graph (more --runs help): %s", count.without);
    return ERR_OK;
}

enum err flame_files(const char *profile, const struct model *m, const char *folder)
{
    char path[FLAME_PATH];
    struct model *own = NULL;
    struct timing_file *t = NULL;
    path_beside(profile, "timing.json", path);
    if (!m)
        TRY(profile_read(profile, &own));
    enum err e = timing_file_read(path, &t);
    if (!e)
        e = t ? write_graphs(profile, m ? m : own, t, folder)
              : FAIL(ERR_INPUT, "%s: is not a JSON object", path);
    timing_file_free(t);
    if (own)
        model_destroy(own);
    return e;
}
