/* The folder of a run's traces, and the suite's children under the capture library. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/runs/trace_folder.h"
#include "host/suite/run/suite.h"
#include "profiler/record/record.h"

extern char **environ;

static char traced[RUN_PATH];

const char *tracing_run(void)
{
    return traced;
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
    return ERR_OK;
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
