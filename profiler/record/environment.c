/* Finds the capture library and makes the environment that loads it into a program and its
 * children. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "profiler/record/record.h"
#include "profiler/trace/writer.h"

#define LIBRARY "libtomoprof_capture.so"
#define ADDED   16

enum err record_library(const char *program, char path[RUN_PATH])
{
    static const char *const places[] = {"", "../lib/tomoprof/"};
    const int folder = (int)(base_name(program) - program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char name[RUN_PATH + 64];
        snprintf(name, sizeof name, "%.*s%s%s", folder, program, places[i], LIBRARY);
        char *real = realpath(name, NULL);
        if (!real)
            continue;
        int n = snprintf(path, RUN_PATH, "%s", real);
        /* The loader takes blanks and colons for separators; the open file has a name without. */
        int odd = strpbrk(real, " :") != NULL, fd = odd ? open(real, O_RDONLY | O_CLOEXEC) : -1;
        free(real);
        FAIL_IF(n >= RUN_PATH || (odd && fd < 0), ERR_IO, "%s: cannot be loaded from there", name);
        if (odd)
            snprintf(path, RUN_PATH, "/proc/%d/fd/%d", (int)getpid(), fd);
        return ERR_OK;
    }
    return FAIL(ERR_UNSUPPORTED,
                "%.*s" LIBRARY " is missing, also in ../lib/tomoprof: build or install it beside "
                "tomoprof",
                folder, program);
}

#define MPI_LIBRARY "libtomoprof_capture_mpi.so"

void record_mpi_library(const char *library, const char *command, char path[RUN_PATH])
{
    /* also with the name of the library behind a point: mpiexec.hydra, mpirun.mpich */
    static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                            "prun",   "srun",    "flux"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *name = base_name(command);
    int several = 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        several |= strlen(launchers[i]) == strcspn(name, ".") &&
                   !strncmp(name, launchers[i], strlen(launchers[i]));
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        several |= getenv(ranks[i]) != NULL;
    const int folder = (int)(base_name(library) - library);
    const int n = snprintf(path, RUN_PATH, "%.*s" MPI_LIBRARY, folder, library);
    if (!several || n >= RUN_PATH || strpbrk(path, " :") || access(path, R_OK))
        *path = 0;
}

struct environment_list {
    char **rows;
    size_t n, room;
    int failed;
};

static const char *environment_value(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; *environment; environment++)
        if (!strncmp(*environment, name, n) && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

/* Sets name to value and, with more, ":more". */
static void environment_put(struct environment_list *l, const char *name, const char *value,
                            const char *more)
{
    size_t n = strlen(name);
    char *row;
    if (asprintf(&row, "%s=%s%s%s", name, value, more ? ":" : "", more ? more : "") < 0) {
        l->failed = 1;
        return;
    }
    for (size_t i = 0; i < l->n; i++)
        if (!strncmp(l->rows[i], name, n) && l->rows[i][n] == '=') {
            free(l->rows[i]);
            l->rows[i] = row;
            return;
        }
    if (l->n < l->room)
        l->rows[l->n++] = row;
    else
        free(row);
}

static int has_mode(const struct record_settings *s, const char *mode)
{
    size_t n = strlen(mode);
    for (const char *at = s->modes; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && !strncmp(at, mode, n))
            return 1;
    return !s->modes;
}

static void put_preload(struct environment_list *l, const struct record_settings *s,
                        char *const *base)
{
    const char *old = environment_value(base, "LD_PRELOAD");
    if (old && strstr(old, LIBRARY)) /* recorded by somebody already: once is enough */
        return;
    environment_put(l, "LD_PRELOAD", s->library, old && *old ? old : NULL);
    if (s->mpi_library && *s->mpi_library) {
        char both[2 * RUN_PATH];
        snprintf(both, sizeof both, "%s:%s", s->library, s->mpi_library);
        environment_put(l, "LD_PRELOAD", both, old && *old ? old : NULL);
    }
}

/* CUPTI takes one subscriber per process, so somebody else's CUDA injection stays alone; NVTX has
 * no such limit and ours calls the other one. */
static void put_injections(struct environment_list *l, const struct record_settings *s,
                           char *const *base, char note[256])
{
    const char *nvtx = environment_value(base, "NVTX_INJECTION64_PATH");
    const char *cuda = environment_value(base, "CUDA_INJECTION64_PATH");
    if (has_mode(s, "nvtx")) {
        environment_put(l, "NVTX_INJECTION64_PATH", s->library, NULL);
        if (nvtx && *nvtx && !strstr(nvtx, LIBRARY))
            environment_put(l, "TOMOPROF_CAPTURE_NVTX_CHAIN", nvtx, NULL);
    }
    if (has_mode(s, "cuda") && (!cuda || !*cuda || strstr(cuda, LIBRARY)))
        environment_put(l, "CUDA_INJECTION64_PATH", s->library, NULL);
    else if (has_mode(s, "cuda"))
        snprintf(note, 256,
                 "CUDA_INJECTION64_PATH=%.120s is set already: that tool keeps the GPU, whose work "
                 "will be missing here",
                 cuda);
}

/* Filters of system calls that this process has already, a container's say, by proc(5): the library
 * stays out of programs that come to have more (capture's core/filter.c). */
static void put_filters(struct environment_list *l)
{
    char line[128], filters[24] = "0";
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Seccomp:%23s", filters) == 1 ||
            sscanf(line, "Seccomp_filters:%23s", filters) == 1)
            continue;
    if (f)
        fclose(f);
    environment_put(l, "TOMOPROF_CAPTURE_FILTERS", filters, NULL);
}

enum err record_environment(const struct record_settings *s, char *const *base, char ***out,
                            char note[256])
{
    struct environment_list l = {.room = ADDED};
    while (base[l.room - ADDED])
        l.room++;
    *note = 0;
    l.rows = calloc(l.room + 1, sizeof *l.rows);
    FAIL_IF(!l.rows, ERR_MEMORY, "no memory for the environment");
    for (; *base; base++, l.n++)
        if (!(l.rows[l.n] = strdup(*base)))
            l.failed = 1;
    base -= l.n;

    unsigned char id[16];
    char hex[33], rate[40], clock[TRACE_CLOCK_TEXT];
    if (getrandom(id, sizeof id, 0) != sizeof id)
        memcpy(id, &(pid_t){getpid()}, sizeof(pid_t));
    for (int i = 0; i < 16; i++)
        sprintf(hex + 2 * i, "%02x", id[i]);
    snprintf(rate, sizeof rate, "%.9g", s->rate_hz);
    environment_put(&l, "TOMOPROF_CAPTURE_DIR", s->folder, NULL);
    environment_put(&l, "TOMOPROF_CAPTURE_RUN", hex, NULL);
    if (s->seconds > 0) {
        snprintf(rate, sizeof rate, "%.0f", (double)clock_ns() + 1e9 * s->seconds);
        environment_put(&l, "TOMOPROF_CAPTURE_UNTIL", rate, NULL);
        snprintf(rate, sizeof rate, "%.9g", s->rate_hz);
    }
    snprintf(hex, sizeof hex, "%d", (int)getpid());
    environment_put(&l, "TOMOPROF_CAPTURE_LAUNCHER", hex, NULL);
    put_filters(&l);
    trace_clock_text(clock);
    environment_put(&l, "TOMOPROF_CAPTURE_CLOCK", clock, NULL);
    if (s->modes)
        environment_put(&l, "TOMOPROF_CAPTURE_MODES", s->modes, NULL);
    if (s->rate_hz > 0)
        environment_put(&l, "TOMOPROF_CAPTURE_RATE", rate, NULL);
    if (s->whole_graphs)
        environment_put(&l, "TOMOPROF_CAPTURE_GRAPHS", "1", NULL);
    if (s->kernel_lines)
        environment_put(&l, "TOMOPROF_CAPTURE_KERNEL_LINES", "1", NULL);
    if (s->preload)
        put_preload(&l, s, base);
    put_injections(&l, s, base, note);
    *out = l.rows;
    if (!l.failed)
        return ERR_OK;
    record_environment_free(l.rows);
    *out = NULL;
    return FAIL(ERR_MEMORY, "no memory for the environment");
}

void record_environment_free(char **environment)
{
    for (char **row = environment; row && *row; row++)
        free(*row);
    free(environment);
}
