#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/backend/registry.h"
#include "host/base/clock.h"
#include "host/base/mem.h"
#include "host/cli/cli.h"
#include "host/cli/facts.h"
#include "host/cli/probes.h"

static int json;

static struct opt options[] = {
    CLI_OPT_JSON(json),
    {0},
};

static void say_memory(struct facts *f)
{
    facts_group(f, "memory");
    facts_bytes(f, "installed", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    facts_bytes(f, "available", (double)mem_available());
    const char *limit = getenv("TOMOPROF_MEMORY");
    if (limit)
        facts_string(f, "limited_by", "TOMOPROF_MEMORY");
    char pages[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (file) {
        if (!fgets(pages, sizeof pages, file))
            *pages = 0;
        fclose(file);
    }
    const char *huge = strstr(pages, "[never]") ? "off: large arrays cost more address translation"
                       : *pages                 ? "on"
                                                : NULL;
    facts_string(f, "huge_pages", huge);
    facts_group_end(f);
}

static void say_clock(struct facts *f)
{
    struct clock_check c = clock_self_test();
    facts_group(f, "clock");
    facts_number(f, "read", c.read_ns, "ns");
    facts_number(f, "smallest_step", (double)c.smallest_step_ns, "ns");
    facts_bool(f, "went_back", c.went_back);
    if (c.went_back)
        facts_string(f, "consequence", "times of this machine cannot be trusted");
    facts_group_end(f);
}

static void say_hdf5(struct facts *f)
{
    static const char version[] = TP_HDF5_NAME; /* "" when the build did not find it */
    facts_string(f, "hdf5", *version ? version : "not in this build");
    if (*version)
        return;
    facts_string(f, "without_hdf5", "recon and info cannot read .h5 scans, gen writes none");
    facts_string(f, "to_get_hdf5",
                 "install libhdf5-dev (Debian), hdf5-devel (Fedora) or hdf5 (Arch), build again");
}

/* Opens each back end as a command would; returns how many work. */
static int say_backends(struct facts *f)
{
    int working = 0;
    const char *name, *reason;
    facts_group(f, "back_ends");
    for (int i = 0; backend_describe(i, &name, &reason); i++) {
        struct backend *be = NULL;
        facts_group(f, name);
        if (!*reason && backend_open(name, &(struct backend_options){0}, &be))
            reason = err_text();
        facts_bool(f, "usable", be != NULL);
        if (be) {
            working++;
            facts_string(f, "device", be->device);
            facts_int(f, "threads", be->threads);
        } else {
            facts_string(f, "reason", reason);
        }
        facts_group_end(f);
        backend_close(be);
    }
    facts_group_end(f);
    return working;
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
    int working = say_backends(&f);
    say_memory(&f);
    say_clock(&f);
    facts_string(&f, "fft", TP_FFT_NAME);
    say_hdf5(&f);
    probes_say(&f);
    facts_end(&f);
    FAIL_IF(!working, ERR_UNSUPPORTED,
            "no back end works on this machine; the reasons stand above");
    return ERR_OK;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "Says what this build and this machine can do, and why not the rest.",
    .words = "",
    .text =
        "Checks processor, memory, clock, libraries, back ends and what profiling needs, each for "
        "itself;\n"
        "what is missing is named with its consequence and what to install.\n\n"
        "Examples:\n"
        "  tomoprof doctor\n"
        "  tomoprof doctor --json\n",
    .options = options,
    .run = run,
};
