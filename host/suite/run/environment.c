/* Reads what machine and build a run belongs to. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/backend/cpu_name.h"
#include "host/suite/run/results.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Copies the text after `key` on the first line of the file that begins with it, quotes dropped; ""
 * when there is none. */
static void value_in_file(const char *path, const char *key, char *out, size_t size)
{
    char line[512];
    *out = 0;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)))
            continue;
        char *value = line + strlen(key) + strspn(line + strlen(key), " \t:=\"");
        value[strcspn(value, "\"\n")] = 0;
        snprintf(out, size, "%s", value);
        break;
    }
    if (f)
        fclose(f);
}

/* Unknown is null: an empty text. */
static const char *known_text(const char *s)
{
    return *s ? s : NULL;
}

void environment_read(const struct backend *be, const char *version, struct environment *out)
{
    const struct clock_check clock = clock_self_test();
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    struct utsname u;
    memset(out, 0, sizeof *out);
    snprintf(out->backend, sizeof out->backend, "%s", be->ops->name);
    snprintf(out->device, sizeof out->device, "%s", be->device);
    const char *comma = strrchr(be->device, ','); /* "model, 2 threads, avx512" */
    if (comma)
        snprintf(out->isa, sizeof out->isa, "%s", comma + 1 + strspn(comma + 1, " "));
    cpu_name(out->cpu);
    value_in_file("/etc/os-release", "PRETTY_NAME", out->os, sizeof out->os);
    if (!uname(&u)) /* not nodename: it is the host's */
        snprintf(out->kernel, sizeof out->kernel, "%.40s %.60s %.20s", u.sysname, u.release,
                 u.machine);
    out->devices[0] = out->device;
    out->facts = (struct timing_environment){
        .backend = known_text(out->backend),
        .devices = out->devices,
        .devices_count = 1,
        .tomoprof_version = version,
        .compiler = COMPILER,
        .cpu = known_text(out->cpu),
        .threads = be->threads,
        .isa = known_text(out->isa),
        .memory_bytes = pages > 0 ? pages * (double)sysconf(_SC_PAGESIZE) : (double)NAN,
        .ranks = (double)NAN,
        .os = known_text(out->os),
        .kernel = known_text(out->kernel),
        .clock = {.name = "CLOCK_MONOTONIC",
                  .read_ns = clock.read_ns,
                  .smallest_step_ns = clock.smallest_step_ns,
                  .went_back = clock.went_back},
    };
}
