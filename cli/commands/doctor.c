/* The command `doctor`: this build, its back ends, and the probes of this machine. */
#include <unistd.h>

#include "host/backend/registry.h"
#include "cli/cli.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/probes.h"

static struct doctor_request {
    int json, ceilings;
} request;

static struct opt options[] = {
    OPTION_FLAG("ceilings", 0, request.ceilings,
                "also measure what each back end can do at most, a second each"),
    CLI_OPT_JSON(request.json),
    {0},
};

static enum err measure_ceilings(struct backend *be, struct ceiling out[CEILINGS_MOST], int *count)
{
    struct peak peak;
    if (be->ops->measure_ceilings)
        return be->ops->measure_ceilings(be, out, count);
    TRY(be->ops->measure_peak(be, &peak));
    out[0] = (struct ceiling){"flops_per_s", peak.flops_per_s};
    out[1] = (struct ceiling){"memory_bytes_per_s", peak.bytes_per_s};
    *count = 2;
    return ERR_OK;
}

static void doctor_print_ceilings(struct facts *f, struct backend *be)
{
    struct ceiling found[CEILINGS_MOST];
    int count = 0;
    facts_group(f, "ceilings");
    if (measure_ceilings(be, found, &count)) {
        facts_string(f, "reason", err_text());
        count = 0;
    }
    for (int i = 0; i < count; i++)
        facts_number(f, found[i].name, found[i].value, "");
    facts_group_end(f);
}

/* Opens each back end as a command would. */
static void doctor_print_backends(struct facts *f)
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
            if (request.ceilings)
                doctor_print_ceilings(f, be);
        } else {
            facts_string(f, "reason", reason);
        }
        facts_group_end(f);
        backend_close(be);
    }
    facts_group_end(f);
}

static enum err run_doctor(int words, char **word)
{
    (void)words;
    (void)word;
    struct facts f;
    facts_begin(&f, request.json);
    facts_string(&f, "tomoprof", TP_VERSION);
    facts_string(&f, "compiler", TP_COMPILER);
    facts_int(&f, "processors_online", sysconf(_SC_NPROCESSORS_ONLN));
    if (request.json || request.ceilings) /* for people the rows say which there are */
        doctor_print_backends(&f);
    probes_print(&f);
    facts_end(&f);
    return ERR_OK;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "Checks this build and this machine, and explains what is missing.",
    .words = "",
    .text = "Prints a row for each part that computing and profiling need: processor, memory, GPU, "
            "libraries.\n"
            "A row that is not ok states the consequence and the fix.\n"
            "docs/troubleshooting.md has more on each row.\n\n"
            "Examples:\n"
            "  tomoprof doctor\n"
            "  tomoprof doctor --json\n"
            "  tomoprof doctor --ceilings\n",
    .options = options,
    .run = run_doctor,
};
