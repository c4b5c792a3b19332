/* Processor, memory, clock, disk, and what kind of place this is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/backend/registry.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/run_folder.h"
#include "cli/doctor/probes.h"

enum state probe_processor(struct found *f)
{
    struct backend *be;
    if (backend_open("cpu", &(struct backend_options){0}, &be)) {
        SAY(f, "%s", err_text());
        return MISSING;
    }
    struct utsname machine;
    SAY(f, "%s", be->device);
    found_add(f, " (%s, %ld processors online)", uname(&machine) ? "unknown" : machine.machine,
              sysconf(_SC_NPROCESSORS_ONLN));
    int plain = strstr(be->device, ", plain") != NULL;
    backend_close(be);
    return plain ? LIMITED : OK;
}

enum state probe_memory(struct found *f)
{
    char pages[64], installed[16], available[16];
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    probe_line("/sys/kernel/mm/transparent_hugepage/enabled", pages, sizeof pages);
    int without = strstr(pages, "[never]") != NULL;
    SAY(f, "%s available of %s, huge pages %s", mem_human((double)mem_available(), available),
        mem_human(bytes, installed),
        without  ? "off"
        : *pages ? "on"
                 : "unknown");
    if (getenv("TOMOPROF_MEMORY"))
        found_add(f, ", limited by TOMOPROF_MEMORY");
    if (mem_available() < (size_t)1 << 30) {
        f->consequence = "sizes that need more are refused, the suite skips them";
        f->fix = "end other programs, or raise the container's limit or TOMOPROF_MEMORY";
        return LIMITED;
    }
    return without ? LIMITED : OK;
}

enum state probe_clock(struct found *f)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    char source[64];
    struct clock_check c = clock_self_test();
    probe_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
               sizeof source);
    SAY(f, "%s: %.0f ns a read, smallest step %lld ns%s", *source ? source : "unknown source",
        c.read_ns, (long long)c.smallest_step_ns, c.went_back ? ", went backwards" : "");
    if (c.went_back) {
        f->consequence = "times of this machine cannot be trusted";
        f->fix = "another machine, or another clock: clocksource=hpet on the kernel's command line";
        return MISSING;
    }
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (!strcmp(source, slow[i]))
            return LIMITED;
    return OK;
}

enum state probe_disk(struct found *f)
{
    struct statvfs s;
    char human[16];
    if (statvfs(run_default_folder(), &s) && statvfs(".", &s)) {
        SAY(f, "this folder is gone");
        return MISSING;
    }
    double bytes = (double)s.f_bavail * (double)s.f_frsize;
    SAY(f, "%s free", mem_human(bytes, human));
    return bytes < 1e9 ? LIMITED : OK;
}

enum state probe_container(struct found *f)
{
    char line[256];
    probe_line("/proc/1/cgroup", line, sizeof line);
    if (!access("/run/.containerenv", F_OK))
        SAY(f, "Podman");
    else if (!access("/.dockerenv", F_OK) || strstr(line, "docker"))
        SAY(f, "Docker");
    else
        SAY(f, getenv("container") ? "some container" : "none");
    int closed = !access("/run/.containerenv", F_OK) || !access("/.dockerenv", F_OK);
    return closed && access(run_default_folder(), W_OK) && access(".", W_OK) ? LIMITED : OK;
}

enum state probe_wsl(struct found *f)
{
    struct utsname u;
    SAY(f, "%s%s", probe_in_wsl() ? "WSL2, kernel " : "no: Linux ", uname(&u) ? "" : u.release);
    return probe_in_wsl() ? LIMITED : OK;
}
