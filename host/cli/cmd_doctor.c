#include <unistd.h>

#include "host/backend/registry.h"
#include "host/cli/cli.h"
#include "host/cli/facts.h"
#include "host/cli/probes.h"

static int json;

static struct opt options[] = {
    CLI_OPT_JSON(json),
    {0},
};

/* Opens each back end as a command would. */
static void say_backends(struct facts *f)
{
    const char *name, *reason;
    facts_group(f, "back_ends");
    for (int i = 0; backend_describe(i, &name, &reason); i++) {
        struct backend *be = NULL;
        facts_group(f, name);
        if (!*reason && backend_open(name, &(struct backend_options){0}, &be))
            reason = err_text();
        facts_bool(f, "usable", be != NULL);
        if (be) {
            facts_string(f, "device", be->device);
            facts_int(f, "threads", be->threads);
        } else {
            facts_string(f, "reason", reason);
        }
        facts_group_end(f);
        backend_close(be);
    }
    facts_group_end(f);
}

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    struct facts f;
    facts_begin(&f, json);
    facts_string(&f, "tomoprof", TP_VERSION);
    facts_string(&f, "compiler", TP_COMPILER);
    facts_int(&f, "processors_online", sysconf(_SC_NPROCESSORS_ONLN));
    if (json) /* for people the rows say it */
        say_backends(&f);
    probes_say(&f);
    facts_end(&f);
    return ERR_OK;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "Says what this build and this machine can do, and why not the rest.",
    .words = "",
    .text = "One row for each of what computing and profiling need: processor, memory, clock, "
            "container, GPU,\n"
            "libraries; with what was found and, where it is not ok, the consequence and the fix.\n"
            "docs/troubleshooting.md has more on each row.\n\n"
            "Examples:\n"
            "  tomoprof doctor\n"
            "  tomoprof doctor --json\n",
    .options = options,
    .run = run,
};
