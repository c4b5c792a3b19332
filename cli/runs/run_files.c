/* Finds the files of a run, has them judged, writes the verdicts beside them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/run_files.h"
#include "host/suite/run/suite.h"
#include "profiler/record/record.h"
#include "profiler/report/export/flame.h"

int is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

enum err triage_find(struct triage_paths *p)
{
    snprintf(p->timing, sizeof p->timing, "%s/timing.json", p->folder);
    snprintf(p->profile, sizeof p->profile, "%s/profile.json", p->folder);
    if (!is_file(p->timing))
        *p->timing = 0;
    if (!is_file(p->profile))
        *p->profile = 0;
    FAIL_IF(
        !*p->timing && !*p->profile, ERR_INPUT,
        "%s holds neither timing.json nor profile.json: triage takes a finished run of `tomoprof "
        "run`, or a recording",
        p->folder);
    return ERR_OK;
}

enum err triage_of(const struct triage_paths *p, struct triage_options o, struct triage **out)
{
    char sass[RUN_PATH + 16];
    snprintf(sass, sizeof sass, "%s/sass.json", p->folder);
    o.version = TP_VERSION;
    o.sass = is_file(sass) ? sass : NULL;
    return triage_make(*p->timing ? p->timing : NULL, *p->profile ? p->profile : NULL, &o, out);
}

static enum err write_triage_file(const struct triage *t, const char *folder, const char *name,
                                  enum err (*write)(const struct triage *, FILE *))
{
    char path[RUN_PATH + 16];
    struct outfile f = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    TRY(outfile_open(&f, path));
    enum err e = write(t, f.stream);
    if (e == ERR_OK)
        e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

enum err triage_files(const struct triage *t, const char *folder)
{
    TRY(write_triage_file(t, folder, "triage.json", triage_write_json));
    TRY(write_triage_file(t, folder, "triage.md", triage_write_markdown));
    return write_triage_file(t, folder, "triage.svg", triage_write_svg);
}

void triage_folder(const char *folder, struct triage_options o)
{
    struct triage_paths p;
    struct triage *t = NULL;
    snprintf(p.folder, sizeof p.folder, "%s", folder);
    enum err e = triage_find(&p);
    if (e == ERR_OK)
        e = triage_of(&p, o, &t);
    if (e == ERR_OK)
        e = triage_files(t, folder);
    if (e)
        log_info("no triage.md: %s", err_text());
    else
        log_info("%s/triage.md: %s", folder, t->headline);
    if (t)
        triage_destroy(t);
}

/* From a run folder to one flame graph for each operation and size. */

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

/* The folder of a run's traces, and the suite's children under the capture library. */

extern char **environ;

static char traced[RUN_PATH];

const char *tracing_run(void)
{
    return traced;
}

/* Some file systems (FUSE with direct I/O) share no mapped file, which a trace is. Other failures
 * are met where the trace is made: they may pass. */
static enum err require_mapping(const char *folder)
{
    char name[TRACING_PATH + 16];
    void *map = NULL;
    snprintf(name, sizeof name, "%s/mapped.XXXXXX", folder);
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return ERR_OK;
    if (!ftruncate(fd, 1))
        map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int why = map == MAP_FAILED ? errno : 0;
    close(fd);
    unlink(name);
    if (map && map != MAP_FAILED)
        munmap(map, 1);
    FAIL_IF(
        why == ENODEV, ERR_USAGE,
        "--out: %s lies on a file system that maps no files to be written, which a trace needs: "
        "choose a folder on another one, for example below /tmp",
        folder);
    return ERR_OK;
}

enum err tracing_folder(const char *run, char out[TRACING_PATH])
{
    char name[RUN_PATH + 16];
    snprintf(name, sizeof name, "%s/trace", run);
    FAIL_IF(mkdir(name, run_mode()) && errno != EEXIST, ERR_IO, "%s: cannot make the folder: %s",
            name, strerror(errno));
    char *real = realpath(name, NULL);
    FAIL_IF(!real, ERR_IO, "%s: %s", name, strerror(errno));
    int n = snprintf(out, TRACING_PATH, "%s", real);
    free(real);
    FAIL_IF(n >= TRACING_PATH, ERR_USAGE, "--out: the absolute name is longer than %d bytes",
            TRACING_PATH - 1);
    const enum err e = require_mapping(out);
    if (e && !rmdir(name))
        rmdir(run); /* if it is empty: it was made for this recording */
    return e;
}

static double rate_hz;

void tracing_set_rate(double hz)
{
    rate_hz = hz;
}

static enum err prepare_trace(const char *run, char ***environment)
{
    static struct record_target target;
    char library[RUN_PATH], folder[TRACING_PATH], note[256];
    const char *program;
    TRY(cli_program(&program));
    TRY(record_target(program, &target));
    FAIL_IF(!target.preload, ERR_UNSUPPORTED, "%s", target.limits);
    TRY(record_library(program, library));
    TRY(tracing_folder(run, folder));
    const struct record_settings settings = {
        .library = library, .folder = folder, .rate_hz = rate_hz, .preload = 1};
    TRY(record_environment(&settings, environ, environment, note));
    if (*note)
        log_warn("%s", note);
    snprintf(traced, sizeof traced, "%s", run);
    return ERR_OK;
}

static char **suite_environment(const char *run)
{
    char **environment = NULL;
    return prepare_trace(run, &environment) ? NULL : environment;
}

const struct suite_tracer tracing_suite = {suite_environment, record_environment_free};
