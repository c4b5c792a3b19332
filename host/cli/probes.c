#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/mem.h"
#include "host/cli/cli.h"
#include "host/cli/probes.h"
#include "profiler/record/record.h"

extern char **environ;

#define FOUND_BYTES 400
#define SPIN_NS     100000000 /* long enough for 25 ticks of the slowest kernel clock, 250 Hz */

enum state { OK, LIMITED, MISSING };

struct found {
    char text[FOUND_BYTES];
};
#define SAY(f, ...) snprintf((f)->text, sizeof(f)->text, __VA_ARGS__)

/* The first line of a file, "" when it cannot be read. */
static char *line_of(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "re");
    *out = 0;
    if (f && !fgets(out, (int)n, f))
        *out = 0;
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = 0;
    return out;
}

/* This program under its own recorder: the one proof that loading works here. */
static enum state probe_library(struct found *f)
{
    const char *program;
    char library[RUN_PATH], folder[] = "/tmp/tomoprof-doctor-XXXXXX", note[256], **environment;
    int traces = 0;
    struct record_end end;
    if (cli_program(&program) || record_library(program, library)) {
        SAY(f, "%s", err_text());
        return MISSING;
    }
    if (!mkdtemp(folder)) {
        SAY(f, "cannot make a folder in /tmp: %s", strerror(errno));
        return LIMITED;
    }
    const struct record_settings s = {library, folder, "cpu", 0, 1};
    char *const argv[] = {"tomoprof", "--version", NULL};
    enum err e = record_environment(&s, environ, &environment, note);
    if (!e) {
        e = record_launch(program, argv, environment, 1, &end);
        record_environment_free(environment);
    }
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!strstr(entry->d_name, ".tpt"))
            continue;
        traces++;
        unlinkat(dirfd(d), entry->d_name, 0);
    }
    if (d)
        closedir(d);
    rmdir(folder);
    if (e)
        SAY(f, "%s", err_text());
    else
        SAY(f, "%s: a trial left %s", strrchr(library, '/') + 1, traces ? "a trace" : "no trace");
    return !e && traces ? OK : MISSING;
}

static volatile sig_atomic_t ticks, overruns;

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    ticks++;
    overruns += info->si_overrun;
}

static enum state probe_timers(struct found *f)
{
    struct sigaction old, action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) {
        SAY(f, "timer_create: %s", strerror(errno));
        return MISSING;
    }
    ticks = overruns = 0;
    sigaction(SIGRTMAX - 1, &action, &old);
    int64_t begin = clock_ns();
    timer_settime(timer, 0, &every, NULL);
    while (clock_ns() - begin < SPIN_NS)
        ;
    double seconds = clock_seconds_since(begin);
    timer_delete(timer);
    sigaction(SIGRTMAX - 1, &old, NULL);
    SAY(f, "%.0f samples a second of 1000 asked for, %.0f by weight", ticks / seconds,
        (ticks + overruns) / seconds);
    return ticks ? OK : MISSING;
}

static enum state probe_limits(struct found *f)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_SIGPENDING, &l))
        return MISSING;
    if (l.rlim_cur == RLIM_INFINITY)
        SAY(f, "no limit");
    else
        SAY(f, "%llu", (unsigned long long)l.rlim_cur);
    return l.rlim_cur < 1024 ? LIMITED : OK;
}

static enum state probe_reads(struct found *f)
{
    char from = 1, to = 0;
    struct iovec a = {&to, 1}, b = {&from, 1};
    if (process_vm_readv(getpid(), &a, 1, &b, 1, 0) == 1 && to == from) {
        SAY(f, "process_vm_readv of the own process works");
        return OK;
    }
    SAY(f, "process_vm_readv: %s", strerror(errno));
    return LIMITED;
}

static enum state probe_tasks(struct found *f)
{
    char path[64], line[64];
    int all = 1;
    static const char *const names[] = {"stat", "syscall", "schedstat"};
    SAY(f, "/proc/self/task:");
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)getpid(), names[i]);
        int here = *line_of(path, line, sizeof line) != 0;
        all &= here;
        snprintf(f->text + strlen(f->text), FOUND_BYTES - strlen(f->text), " %s%s", names[i],
                 here ? "" : " unreadable");
    }
    return all ? OK : LIMITED;
}

static enum state probe_symbols(struct found *f)
{
    static const char version[] = TP_DW_NAME;
    SAY(f, "%s", *version ? version : "not in this build");
    return *version ? OK : MISSING;
}

static enum state probe_marks(struct found *f)
{
    SAY(f, TP_NVTX ? "NVTX ranges of the suite's phases" : "not in this build");
    return TP_NVTX ? OK : MISSING;
}

/* Interpreters in PATH, by name: python3, python3.9 to python3.14. */
static enum state probe_python(struct found *f)
{
    int known = 0, seen = 0;
    for (int minor = 0; minor < 30; minor++) {
        static struct record_target target;
        char name[24];
        snprintf(name, sizeof name, minor ? "python3.%d" : "python3", minor);
        if (record_target(name, &target))
            continue;
        if (minor && seen + 1 < 8)
            snprintf(f->text + strlen(f->text), FOUND_BYTES - strlen(f->text), "%s3.%d",
                     seen ? ", " : "", minor);
        seen += minor > 0;
        known += !minor || (minor >= 9 && minor <= 14);
    }
    if (!seen)
        SAY(f, known ? "python3" : "none in PATH");
    return known ? OK : LIMITED;
}

static enum state probe_driver(struct found *f)
{
    char line[256];
    int version = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*get)(int *) = cuda ? (int (*)(int *))dlsym(cuda, "cuDriverGetVersion") : NULL;
    if (get)
        get(&version);
    if (version)
        SAY(f, "CUDA %d.%d; %.200s", version / 1000, version % 1000 / 10,
            line_of("/proc/driver/nvidia/version", line, sizeof line));
    else
        SAY(f, "no libcuda.so.1 that answers");
    return version ? OK : MISSING;
}

static enum state probe_cupti(struct found *f)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64"};
    const char *roots[] = {getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda"};
    char path[RUN_PATH];
    const char *given = getenv("TOMOPROF_CAPTURE_CUPTI");
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (int n = 0; n < 3 && !library; n++)
        library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < 18 && !library; i++) {
        if (!roots[i / 6])
            continue;
        snprintf(path, sizeof path, "%s%s/%s", roots[i / 6], below[i / 3 % 2], names[i % 3]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    uint32_t version = 0;
    int (*get)(uint32_t *) =
        library ? (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion") : NULL;
    if (get)
        get(&version);
    SAY(f,
        version ? "API version %u"
                : "no libcupti in the loader's path, CUDA_PATH or /usr/local/cuda",
        version);
    return version ? OK : MISSING;
}

#ifndef TP_CUFFT_FOLDER /* of the toolkit that the CUDA back end was built with */
#define TP_CUFFT_FOLDER "/usr/local/cuda/lib64"
#endif

/* Where the CUDA back end looks for it: cuda/fft.cu. */
static enum state probe_cufft(struct found *f)
{
    static const char name[] = "libcufft.so.12", *const places[] = {"", "../lib/tomoprof/"};
    const char *given = getenv("TOMOPROF_CUFFT"), *program = "";
    char path[2 * RUN_PATH];
    void *library = dlopen(given && *given ? given : name, RTLD_LAZY | RTLD_LOCAL);
    if (cli_program(&program))
        program = "";
    int folder = (int)(strrchr(program, '/') ? strrchr(program, '/') + 1 - program : 0);
    for (int i = 0; i < 2 && !library; i++) {
        snprintf(path, sizeof path, "%.*s%s%s", folder, program, places[i], name);
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    snprintf(path, sizeof path, "%s/%s", TP_CUFFT_FOLDER, name);
    if (!library)
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    int version = 0;
    int (*get)(int *) = library ? (int (*)(int *))dlsym(library, "cufftGetVersion") : NULL;
    if (get)
        get(&version);
    if (version)
        SAY(f, "cuFFT %d.%d.%d", version / 1000, version % 1000 / 100, version % 100);
    else
        SAY(f, "no libcufft.so.12 beside tomoprof or in the loader's path");
    if (library)
        dlclose(library);
    return version ? OK : MISSING;
}

static enum state probe_others(struct found *f)
{
    static const char *const names[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                        "LD_PRELOAD"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            snprintf(f->text + strlen(f->text), FOUND_BYTES - strlen(f->text), "%s=%.80s ",
                     names[i], value);
    }
    const char *cuda = getenv(names[0]);
    if (!*f->text)
        SAY(f, "none");
    return cuda && *cuda ? LIMITED : OK;
}

static enum state probe_counters(struct found *f)
{
    char line[64];
    if (!*line_of("/proc/sys/kernel/perf_event_paranoid", line, sizeof line)) {
        SAY(f, "this kernel has no perf events");
        return MISSING;
    }
    SAY(f, "perf_event_paranoid %s", line);
    return atoi(line) > 2 && geteuid() ? LIMITED : OK;
}

static enum state probe_place(struct found *f)
{
    struct utsname u;
    char line[256];
    int wsl = !uname(&u) && (strstr(u.release, "microsoft") || strstr(u.release, "Microsoft"));
    int container = !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
                    getenv("container") ||
                    strstr(line_of("/proc/1/cgroup", line, sizeof line), "docker") != NULL;
    SAY(f, "%s%s", wsl ? "WSL2" : "Linux", container ? ", in a container" : "");
    return OK;
}

static enum state probe_disk(struct found *f)
{
    struct statvfs s;
    char human[16];
    if (statvfs("output", &s) && statvfs(".", &s))
        return MISSING;
    double bytes = (double)s.f_bavail * (double)s.f_frsize;
    SAY(f, "%s free", mem_human(bytes, human));
    return bytes < 1e9 ? LIMITED : OK;
}

static const struct probe {
    const char *name;
    enum state (*look)(struct found *f);
    const char *consequence, *fix;
} probes[] = {
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
    {"nvidia_driver", probe_driver, "no GPU to profile", "install NVIDIA's driver"},
    {"cupti", probe_cupti, "no kernels, transfers and device memory in profiles",
     "install the CUDA toolkit's CUPTI, or name libcupti.so in TOMOPROF_CAPTURE_CUPTI"},
    {"cufft", probe_cufft, "the CUDA back end has no filters: no FBP and no FDK on the GPU",
     "./start.sh cuda installs it, or name libcufft.so.12 in TOMOPROF_CUFFT"},
    {"other_tools", probe_others, "that tool keeps the GPU: its work is missing in profiles",
     "unset CUDA_INJECTION64_PATH"},
    {"cycle_counters", probe_counters, "bench cannot count cycles; profiles do not need them",
     "sysctl kernel.perf_event_paranoid=2"},
    {"place", probe_place, "", ""},
    {"disk", probe_disk, "long recordings end early (some 20 MB a minute and thread)",
     "free space, or record with --out on another disk"},
};

void probes_say(struct facts *f)
{
    static const char *const states[] = {"ok", "limited", "missing"};
    facts_group(f, "profiling");
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        struct found found = {""};
        enum state s = probes[i].look(&found);
        facts_group(f, probes[i].name);
        facts_string(f, "state", states[s]);
        facts_string(f, "found", *found.text ? found.text : NULL);
        if (s != OK) {
            facts_string(f, "consequence", probes[i].consequence);
            facts_string(f, "fix", probes[i].fix);
        }
        facts_group_end(f);
    }
    facts_group_end(f);
}
