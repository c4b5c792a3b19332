/* Describes the process and its machine in the trace (META records, readings of the clocks), and
 * reads the variables that configure the library. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/system.h"
#include "profiler/trace/secrets.h"

/* Variables that change what a profile means. */
static const char *const environment[] = {
    "LD_PRELOAD",           "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
    "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING",  "CUDA_MODULE_LOADING",
    "OMP_NUM_THREADS",      "OMP_WAIT_POLICY",       "OMP_PROC_BIND",
    "MKL_NUM_THREADS",      "OPENBLAS_NUM_THREADS",  "PYTHONPERFSUPPORT",
    "PYTHONMALLOC",         "MALLOC_ARENA_MAX",      "XLA_FLAGS",
    "JAX_PLATFORMS",        "GLIBC_TUNABLES",
};

/* The kernel's tick is not told to user space: the granularity of the coarse clock is one tick. */
static long ticks_per_second(void)
{
    struct timespec t;
    if (syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &t) || t.tv_nsec <= 0)
        return 0;
    return (1000000000 + t.tv_nsec / 2) / t.tv_nsec;
}

static void facts_put_link(struct capture_thread *t, const char *key, const char *path)
{
    char *target = t->scratch;
    ssize_t n = readlink(path, target, 4095);
    if (n <= 0)
        return;
    target[n] = 0;
    capture_meta(t, key, target);
}

/* The arguments, as the kernel laid them. The first look into /proc costs a process 27 us, each file
 * 8 to 12, one of /proc/self/task 25 more: so what is known otherwise is not asked there. */
static const char *words_begin, *words_end;

/* The path by which the kernel was asked for this program, which the analysis resolves. NULL: that is
 * not all of it, for it depends on a folder or a descriptor, or is a script's, whose interpreter has
 * it as its second word. */
static const char *program_asked_for(void)
{
    const char *path = (const char *)getauxval(AT_EXECFN);
    const char *second = words_begin ? words_begin + strlen(words_begin) + 1 : NULL;
    if (!path || *path != '/' || !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/", 5) ||
        !second || (second < words_end && !strcmp(second, path)))
        return NULL;
    return path;
}

/* It holds for the child of a fork as well. `brief`: of a process that ends without having woken. */
static void program_fact(struct capture_thread *t, int brief)
{
    static char path[512];
    static int is_read;
    const char *asked = brief && !is_read ? program_asked_for() : NULL;
    if (asked) {
        capture_meta(t, "exe", asked);
        return;
    }
    ssize_t n = is_read ? 0 : readlink("/proc/self/exe", path, sizeof path);
    if (n == (ssize_t)sizeof path)
        *path = 0;
    is_read = *path != 0;
    if (is_read)
        capture_meta(t, "exe", path);
    else
        facts_put_link(t, "exe", "/proc/self/exe");
}

static void folder_fact(struct capture_thread *t)
{
    if (syscall(SYS_getcwd, t->scratch, 4096) > 0 && *t->scratch == '/')
        capture_meta(t, "cwd", t->scratch);
    else
        facts_put_link(t, "cwd", "/proc/self/cwd");
}

const char *facts_status(void)
{
    static char text[4096];
    if (!*text)
        raw_read_file("/proc/self/status", text, sizeof text);
    return text;
}

void facts_arguments(int count, char *const words[])
{
    const char *end = count > 0 ? words[0] : NULL;
    for (int i = 0; i < count && end == words[i]; i++)
        end += strlen(end) + 1;
    if (count <= 0 || end != words[count - 1] + strlen(words[count - 1]) + 1)
        return;
    words_begin = words[0];
    words_end = end;
}

/* Writes one argument per line, secrets masked. */
static void command_fact(struct capture_thread *t)
{
    enum { ROOM = CAPTURE_SCRATCH / 2 };
    char *text = t->scratch, *read = text + ROOM;
    const char *words = words_begin;
    size_t n = (size_t)(words_end - words_begin);
    if (!n || n >= ROOM || words_end[-1]) { /* longer ones have been written over them */
        n = raw_read_file("/proc/self/cmdline", read, ROOM);
        words = read;
    }
    secrets_mask_words(words, n, text, ROOM);
    capture_meta(t, "cmdline", text);
}

/* Read once: it holds for the child of a fork as well. */
void facts_clock_source(struct capture_thread *t)
{
    static char name[32];
    if (!*name)
        raw_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
                      sizeof name);
    name[strcspn(name, "\n")] = 0;
    if (*name)
        capture_meta(t, "clock", name);
}

/* Texts that hold for the child of a fork as well. They are made once: snprintf() takes more stack
 * than the child may have. */
static struct {
    int made;
    char hz[24], modes[128], number[4][32];
} texts CAPTURE_NEAR;

/* Whole numbers by hand: printf() lies in pages of the C library that a short process does not have.
 */
static void text_of_number(char *out, size_t bytes, double value)
{
    char digits[24], *p = digits + sizeof digits;
    uint64_t whole = value >= 0 && value < 1e10 ? (uint64_t)value : 0;
    if ((double)whole != value) {
        snprintf(out, bytes, "%.10g", value);
        return;
    }
    *--p = 0;
    do
        *--p = (char)('0' + whole % 10);
    while (whole /= 10);
    strcpy(out, p);
}

static void texts_make(void)
{
    const double value[] = {capture.config.cpu_hz, capture.config.wait_hz,
                            capture.config.alloc_mean, capture.config.copy_mean};
    if (texts.made)
        return;
    text_of_number(texts.hz, sizeof texts.hz, (double)ticks_per_second());
    config_mode_names(capture.config.modes, texts.modes, sizeof texts.modes);
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        text_of_number(texts.number[i], sizeof texts.number[i], value[i]);
    texts.made = 1;
}

/* Writes those variables that change what a profile means. */
static void environment_facts(struct capture_thread *t)
{
    char key[64] = "env.";
    for (char *const *row = environ; row && *row; row++)
        for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
            const size_t n = **row == *environment[i] ? strlen(environment[i]) : 0;
            if (!n || strncmp(*row, environment[i], n) || (*row)[n] != '=')
                continue;
            strcpy(key + strlen("env."), environment[i]);
            capture_meta(t, key, *row + n + 1);
        }
}

void facts_write(struct capture_thread *t, int brief)
{
    struct utsname u;
    texts_make();
    program_fact(t, brief);
    folder_fact(t);
    command_fact(t);
    environment_facts(t);
    if (syscall(SYS_uname, &u) == 0)
        capture_meta(t, "kernel", u.release);
    capture_meta(t, "hz", texts.hz);
    if (!capture.writer.brief)
        facts_clock_source(t);
    capture_meta(t, "modes", texts.modes);
    const struct {
        const char *key;
        unsigned modes;
    } numbers[] = {{"cpu.hz", ~0u},
                   {"wait.hz", ~0u},
                   {"alloc.mean", CAPTURE_MEMORY},
                   {"copy.mean", CAPTURE_COPIES}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (capture.config.modes & numbers[i].modes)
            capture_meta(t, numbers[i].key, texts.number[i]);
}

void facts_clock(struct capture_thread *t)
{
    struct trace_clock best = {.r.kind = TRACE_CLOCK, .bracket_ns = UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        struct timespec real = {0};
        uint64_t before = trace_now();
        clock_gettime(CLOCK_REALTIME, &real);
        uint64_t bracket = trace_now() - before;
        if (bracket >= best.bracket_ns)
            continue;
        best.r.time_ns = before + bracket / 2;
        best.bracket_ns = bracket;
        best.realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    }
    trace_put(&t->stream, &best.r, sizeof best, NULL, 0);
}

struct trace_account facts_account(enum trace_account_at at)
{
    struct trace_account a = {.r.kind = TRACE_ACCOUNT, .r.time_ns = trace_now(), .at = at};
    struct rusage u;
    struct timespec all; /* exact; the two parts are the kernel's estimate */
    if (getrusage(RUSAGE_SELF, &u) || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all))
        return a;
    uint64_t sum = (uint64_t)all.tv_sec * 1000000000u + (uint64_t)all.tv_nsec;
    a.system_ns = (uint64_t)u.ru_stime.tv_sec * 1000000000u + (uint64_t)u.ru_stime.tv_usec * 1000u;
    a.system_ns = a.system_ns < sum ? a.system_ns : sum;
    a.user_ns = sum - a.system_ns;
    return a;
}

/* Reads the variables TOMOPROF_CAPTURE_* that configure the library. */
static const char *const mode_names[] = {"cpu",  "wait", "memory",  "copies", "python",
                                         "nvtx", "cuda", "objects", "io",     "locks"};
#define MODES (sizeof mode_names / sizeof *mode_names)

enum config_type { MODE_LIST, NUMBER, SIGNAL_NUMBER, BYTES, HEX16 };

/* Every variable but TOMOPROF_CAPTURE_DIR, which switches capture on. */
static const struct config_row {
    const char *name, *wants;
    enum config_type type;
    size_t offset;
    double low, high;
} rows[] = {
#define FIELD(f) offsetof(struct capture_config, f)
    {"TOMOPROF_CAPTURE_MODES", "a list of cpu,wait,memory,copies,python,nvtx,cuda,objects,io,locks",
     MODE_LIST, FIELD(modes), 0, 0},
    {"TOMOPROF_CAPTURE_RATE", "samples per second, 1 to 10000", NUMBER, FIELD(cpu_hz), 1, 1e4},
    {"TOMOPROF_CAPTURE_WAIT_RATE", "polls per second, 1 to 200", NUMBER, FIELD(wait_hz), 1, 200},
    {"TOMOPROF_CAPTURE_ALLOC_MEAN", "bytes, 1 to 1e12", NUMBER, FIELD(alloc_mean), 1, 1e12},
    {"TOMOPROF_CAPTURE_COPY_MEAN", "bytes, 1 to 1e12", NUMBER, FIELD(copy_mean), 1, 1e12},
    {"TOMOPROF_CAPTURE_CALLS", "a share of the CPU time, 0 to 1", NUMBER, FIELD(calls_share), 0, 1},
    {"TOMOPROF_CAPTURE_GRAPHS", "1: CUDA graphs whole, 0: by nodes", NUMBER, FIELD(whole_graphs), 0,
     1},
    {"TOMOPROF_CAPTURE_HW_TRACE", "1: times of kernels by Blackwell's hardware, 0: by CUPTI",
     NUMBER, FIELD(hw_trace), 0, 1},
    {"TOMOPROF_CAPTURE_KERNEL_LINES", "1: samples inside kernels, 0: none", NUMBER,
     FIELD(kernel_lines), 0, 1},
    {"TOMOPROF_CAPTURE_SIGNAL", "a real-time signal number", SIGNAL_NUMBER, FIELD(signal), 0, 0},
    {"TOMOPROF_CAPTURE_LIMIT", "bytes of one trace file", BYTES, FIELD(byte_limit), 1 << 16, 1e18},
    {"TOMOPROF_CAPTURE_UNTIL", "nanoseconds of CLOCK_MONOTONIC", NUMBER, FIELD(until_ns), 1, 9e15},
    {"TOMOPROF_CAPTURE_LAUNCHER", "a process number", NUMBER, FIELD(launcher), 1, 1e9},
    {"TOMOPROF_CAPTURE_RUN", "32 hexadecimal digits", HEX16, FIELD(run_id), 0, 0},
#undef FIELD
};

static int read_modes(const char *text, unsigned *modes)
{
    unsigned found = 0;
    while (*text) {
        size_t n = strcspn(text, ","), i = 0;
        while (i < MODES && (strlen(mode_names[i]) != n || memcmp(mode_names[i], text, n)))
            i++;
        if (i == MODES)
            return 0;
        found |= 1u << i;
        text += n + (text[n] == ',');
    }
    *modes = found;
    return 1;
}

static int read_hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int read_hex(const char *text, uint8_t out[16])
{
    uint8_t bytes[16];
    if (strlen(text) != 32)
        return 0;
    for (int i = 0; i < 16; i++) {
        const int high = read_hex_digit(text[2 * i]), low = read_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return 0;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    memcpy(out, bytes, 16);
    return 1;
}

/* strtod(), for a few digits without the pages of the C library that it lies in. 0: not a number. */
static int read_number(const char *text, double *out)
{
    char *end;
    size_t n = 0;
    for (*out = 0; n < 15 && text[n] >= '0' && text[n] <= '9'; n++)
        *out = *out * 10 + (text[n] - '0');
    if (n && !text[n])
        return 1;
    *out = strtod(text, &end);
    return end != text && !*end;
}

static int read_value(const struct config_row *r, const char *text, void *field)
{
    double v;
    if (r->type == MODE_LIST)
        return read_modes(text, field);
    if (r->type == HEX16)
        return read_hex(text, field);
    double low = r->type == SIGNAL_NUMBER ? SIGRTMIN : r->low;
    double high = r->type == SIGNAL_NUMBER ? SIGRTMAX : r->high;
    if (!read_number(text, &v) || !(v >= low && v <= high))
        return 0;
    if (r->type == NUMBER)
        *(double *)field = v;
    else if (r->type == BYTES)
        *(uint64_t *)field = (uint64_t)v;
    else
        *(int *)field = (int)v;
    return 1;
}

/* By one walk through the environment. */
static void config_texts(const char *texts_of[sizeof rows / sizeof *rows])
{
    static const char prefix[] = "TOMOPROF_CAPTURE_";
    for (char *const *row = environ; row && *row; row++) {
        if (strncmp(*row, prefix, sizeof prefix - 1))
            continue;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const size_t n = strlen(rows[i].name);
            if (!texts_of[i] && !strncmp(*row, rows[i].name, n) && (*row)[n] == '=')
                texts_of[i] = *row + n + 1;
        }
    }
}

int config_read(struct capture_config *c, char *bad, size_t bad_bytes)
{
    const char *folder = secure_getenv("TOMOPROF_CAPTURE_DIR");
    size_t used = 0;
    *c = (struct capture_config){.modes = ((1u << MODES) - 1) & ~(unsigned)CAPTURE_OBJECTS,
                                 .cpu_hz = 100,
                                 .wait_hz = 20,
                                 .alloc_mean = 512 * 1024,
                                 .copy_mean = 8 * 1024 * 1024,
                                 .calls_share = 0.02};
    if (!folder || !*folder || strlen(folder) >= sizeof c->folder)
        return 0;
    strcpy(c->folder, folder);
    const char *texts_of[sizeof rows / sizeof *rows] = {0};
    config_texts(texts_of);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = texts_of[i];
        if (!text || !*text || read_value(&rows[i], text, (char *)c + rows[i].offset))
            continue;
        int n = snprintf(bad + used, bad_bytes - used, "%s%s=%.64s is not %s", used ? "; " : "",
                         rows[i].name, text, rows[i].wants);
        used += n > 0 && (size_t)n < bad_bytes - used ? (size_t)n : 0;
    }
    return 1;
}

void config_mode_names(unsigned modes, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < MODES; i++) {
        const size_t n = strlen(mode_names[i]);
        if (!(modes & 1u << i) || used + n + 2 >= bytes)
            continue;
        if (used)
            out[used++] = ',';
        memcpy(out + used, mode_names[i], n + 1);
        used += n;
    }
}
