/* The table of probes, and the rows that it makes. */
#include <stdio.h>
#include <string.h>

#include "host/cli/doctor/probes.h"

static const char hdf5[] = TP_HDF5_NAME, symbols[] = TP_DW_NAME; /* "" when the build found none */

static enum state probe_fft(struct found *f)
{
    SAY(f, "%s", TP_FFT_NAME);
    return strstr(TP_FFT_NAME, "FFTW") ? OK : LIMITED;
}

static enum state probe_hdf5(struct found *f)
{
    SAY(f, "%s", *hdf5 ? hdf5 : "not in this build");
    return *hdf5 ? OK : MISSING;
}

static enum state probe_symbols(struct found *f)
{
    SAY(f, "%s", *symbols ? symbols : "not in this build");
    return *symbols ? OK : MISSING;
}

static enum state probe_marks(struct found *f)
{
    SAY(f, TP_NVTX ? "NVTX ranges of the suite's phases" : "not in this build");
    return TP_NVTX ? OK : MISSING;
}

static const struct doctor_probe {
    const char *name;
    probe_fn *look;
    const char *consequence, *fix;
} probes[] = {
    {"processor", probe_processor, "kernels run without vector units, several times slower",
     "a processor with AVX2; unset TOMOPROF_ISA"},
    {"memory", probe_memory, "large arrays cost more address translation",
     "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"},
    {"disk", probe_disk, "long recordings end early (some 20 MB a minute and thread)",
     "free space, or record with --out on another disk"},
    {"clock", probe_clock, "a time stamp costs about 1 us: short spans look longer",
     "clocksource=tsc on the kernel's command line, where the machine's TSC is steady"},
    {"cycle_counters", probe_cycles, "bench cannot count cycles; profiles do not need them",
     "sysctl kernel.perf_event_paranoid=2; virtual machines mostly have no counters"},
    {"container", probe_container, "results cannot be written here",
     "mount a folder of yours as output/, as compose.yaml does"},
    {"wsl2", probe_wsl, "times vary more than on Linux itself, and the GPU has no PM sampling",
     "measure on Linux itself where numbers must be steady"},
    {"fft", probe_fft, "filters take longer", "install libfftw3-dev (Debian), build again"},
    {"hdf5", probe_hdf5, "recon and info cannot read .h5 scans, gen writes none",
     "install libhdf5-dev (Debian), hdf5-devel (Fedora) or hdf5 (Arch), build again"},
    {"capture_library", probe_library, "record and the traced pass of run see nothing",
     "keep libtomoprof_capture.so beside tomoprof or in ../lib/tomoprof"},
    {"cpu_timers", probe_timers, "no CPU samples", "allow timer_create and real-time signals"},
    {"pending_signals", probe_limits, "threads beyond this number are not sampled",
     "ulimit -i 65536, or RLIMIT_SIGPENDING of the container"},
    {"safe_reads", probe_reads, "stacks and Python frames may be cut",
     "allow process_vm_readv in the container's seccomp profile"},
    {"thread_states", probe_tasks, "waiting is not told apart, or has no stack",
     "mount /proc without hidepid; a kernel with CONFIG_SCHEDSTATS and CONFIG_HAVE_ARCH_TRACEHOOK"},
    {"symbols", probe_symbols, "profiles name modules and functions but no lines of C",
     "install libdw-dev (Debian), elfutils-devel (Fedora) or libelf (Arch), build again"},
    {"marks", probe_marks, "profiles of run do not name operations and phases",
     "build where nvtx3/nvToolsExt.h is found (part of the CUDA toolkit)"},
    {"python", probe_python, "Python lines are known for 3.9 to 3.14",
     "record programs of those versions"},
    {"other_tools", probe_others, "that tool keeps the GPU: its work is missing in profiles",
     "unset CUDA_INJECTION64_PATH"},
    {"nvidia_driver", probe_driver, "no GPU to profile", "install NVIDIA's driver"},
    {"cuda", probe_cuda, "the CPU computes, --backend cuda is refused",
     "NVIDIA's driver on this machine, and a build by ./start.sh cuda"},
    {"cufft", probe_cufft, "the CUDA back end has no filters: no FBP and no FDK on the GPU",
     "./start.sh cuda installs it, or name libcufft.so.12 in TOMOPROF_CUFFT"},
    {"cupti", probe_cupti, "no kernels, transfers and device memory in profiles",
     "install the CUDA toolkit's CUPTI, or name libcupti.so in TOMOPROF_CAPTURE_CUPTI"},
    {"gpu_counters", probe_counters, "ncu and other tools get no counters; profiles need none",
     "the line `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
     "/etc/modprobe.d/nvidia.conf and a reboot; in a container the service profiler-full"},
};

static void say_json(struct facts *f, const char *name, const char *state,
                     const struct found *found)
{
    facts_group(f, name);
    facts_string(f, "state", state);
    facts_string(f, "found", *found->text ? found->text : NULL);
    if (found->consequence) {
        facts_string(f, "consequence", found->consequence);
        facts_string(f, "fix", found->fix);
    }
    facts_group_end(f);
}

static void say_row(const char *name, const char *state, const struct found *found)
{
    char words[32];
    snprintf(words, sizeof words, "%s", name);
    for (char *c = words; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    printf("%-16s %-8s %s\n", words, state, *found->text ? found->text : "unknown");
    if (found->consequence)
        printf("%25s so:  %s\n%25s fix: %s\n", "", found->consequence, "", found->fix);
}

void probes_say(struct facts *f)
{
    static const char *const states[] = {"ok", "limited", "missing"};
    if (f->json)
        facts_group(f, "rows");
    else
        printf("\n%-16s %-8s %s\n", "what", "state", "found");
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const struct doctor_probe *p = &probes[i];
        struct found found = {.text = ""};
        enum state s = p->look(&found);
        found.consequence = s == OK ? NULL : found.consequence ? found.consequence : p->consequence;
        found.fix = found.fix ? found.fix : p->fix;
        if (f->json)
            say_json(f, p->name, states[s], &found);
        else
            say_row(p->name, states[s], &found);
    }
    if (f->json)
        facts_group_end(f);
}
