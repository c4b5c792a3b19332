/* A rank of a job: found by the launcher's variables, its library opened at run time. */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "host/cluster/cluster.h"

#define MOST_VALUES 8
#define MODULE      "libtomoprof_mpi.so" /* the transport */

static struct cluster self = {.place = {0, 1, 0, 1}};
static int agreed;

/* Open MPI, PMIx (srun), MPICH and Intel MPI. */
static const struct {
    const char *rank, *size;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                 {"PMI_RANK", "PMI_SIZE"}};

static int environment_number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text >= '0' && *text <= '9' ? atoi(text) : otherwise;
}

int cluster_of_environment(int *rank, int *size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        *rank = environment_number(launchers[i].rank, -1);
        *size = environment_number(launchers[i].size, 0);
        if (*rank >= 0)
            return 1;
    }
    return 0;
}

const char *cluster_missing(void)
{
    static char why[700];
    char path[4096];
    if (!file_beside_program(path, sizeof path, MODULE))
        return "this build has no MPI, as the packages have none: install Open MPI "
               "(libopenmpi-dev) "
               "and build tomoprof from source";
    void *object = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    *why = 0;
    if (!object)
        snprintf(why, sizeof why, "%s", dlerror());
    else
        dlclose(object);
    return why;
}

static enum err open_transport(const struct cluster_transport **out)
{
    char path[4096];
    cluster_entry *entry;
    file_beside_program(path, sizeof path, MODULE);
    FAIL_IF(
        !*path, ERR_UNSUPPORTED,
        "a launcher started several ranks, and this build has no MPI, as the packages have none: "
        "install Open MPI (libopenmpi-dev) and build tomoprof from source, or start one process");
    /* Global, for the plug-ins of MPI libraries look for its symbols. */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    FAIL_IF(!object, ERR_UNSUPPORTED,
            "a launcher started several ranks, and MPI cannot be opened: %s", dlerror());
    void *symbol = dlsym(object, CLUSTER_ENTRY_NAME);
    memcpy(&entry, &symbol, sizeof entry);
    FAIL_IF(!symbol || entry()->bytes != sizeof **out, ERR_UNSUPPORTED,
            "%s is of another version of tomoprof: build both again", path);
    *out = entry();
    return ERR_OK;
}

static enum err transport_error(int code)
{
    char text[512];
    if (!code)
        return ERR_OK;
    self.calls->explain(code, text);
    return FAIL(ERR_FAILED, "MPI: %s", text);
}

/* srun --mpi=none starts tasks that do not know each other. */
static enum err check_tasks(void)
{
    const int tasks = environment_number("SLURM_STEP_NUM_TASKS", 1);
    FAIL_IF(tasks > 1 && getenv("SLURM_PROCID"), ERR_UNSUPPORTED,
            "srun started %d tasks without MPI, and each would do all of the work: use `srun "
            "--mpi=pmix`",
            tasks);
    return ERR_OK;
}

static enum err same_version(int *silent)
{
    char first[32] = TP_VERSION;
    TRY(cluster_broadcast(&self, first, sizeof first, 0));
    first[sizeof first - 1] = 0;
    enum err e = ERR_OK;
    if (strcmp(first, TP_VERSION) != 0)
        e = FAIL(ERR_UNSUPPORTED,
                 "process %d runs tomoprof %s, the first one %s: start one version on all machines",
                 self.place.rank, TP_VERSION, first);
    return cluster_agree(&self, e, silent);
}

enum err cluster_join(struct cluster **out, int *silent)
{
    int rank, size;
    *out = &self;
    if (self.calls)
        return ERR_OK;
    if (!cluster_of_environment(&rank, &size))
        return check_tasks();
    if (size == 1)
        return ERR_OK;
    if (rank > 0) /* one voice */
        log_set_level(LOG_ERROR);
    TRY(open_transport(&self.calls));
    const int code = self.calls->join(&self.place);
    if (code) {
        enum err e = transport_error(code);
        self.calls = NULL;
        return e;
    }
    if (self.place.size == 1) {
        self.calls->leave();
        self.calls = NULL;
    }
    return self.calls ? same_version(silent) : ERR_OK;
}

void cluster_end(int exit_code)
{
    if (!self.calls)
        return;
    if (exit_code && !agreed)
        self.calls->end_all(exit_code);
    else
        self.calls->leave();
}

/* Makes one call to the transport and counts its time and bytes. */
#define CALL(c, sent, expression)                                                                  \
    do {                                                                                           \
        const int64_t call_start_ = clock_ns();                                                    \
        const int call_code_ = (expression);                                                       \
        (c)->seconds += clock_seconds_since(call_start_);                                          \
        (c)->bytes += (sent);                                                                      \
        (c)->messages++;                                                                           \
        TRY(transport_error(call_code_));                                                          \
    } while (0)

enum combine { SUM, LEAST, GREATEST };

static enum err cluster_combine(struct cluster *c, enum combine how, double *values, int count)
{
    const int size = c->place.size;
    FAIL_IF(count > MOST_VALUES, ERR_INTERNAL, "%d values at once", count);
    if (!c->calls)
        return ERR_OK;
    double *all = malloc((size_t)(size * count) * sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the values of %d ranks", size);
    enum err e = ERR_OK;
    const int64_t start = clock_ns();
    const int code = c->calls->gather_all(values, count, all);
    c->seconds += clock_seconds_since(start);
    c->bytes += (uint64_t)count * sizeof *values;
    c->messages++;
    e = transport_error(code);
    for (int i = 0; !e && i < count; i++) {
        values[i] = all[i];
        for (int r = 1; r < size; r++) {
            const double x = all[r * count + i];
            values[i] = how == SUM     ? values[i] + x
                        : how == LEAST ? fmin(values[i], x)
                                       : fmax(values[i], x);
        }
    }
    free(all);
    return e;
}

enum err cluster_sum(struct cluster *c, double *values, int count)
{
    return cluster_combine(c, SUM, values, count);
}

enum err cluster_least(struct cluster *c, double *values, int count)
{
    return cluster_combine(c, LEAST, values, count);
}

enum err cluster_greatest(struct cluster *c, double *values, int count)
{
    return cluster_combine(c, GREATEST, values, count);
}

enum err cluster_barrier(struct cluster *c)
{
    double nothing = 0;
    return cluster_combine(c, SUM, &nothing, 1);
}

enum err cluster_broadcast(struct cluster *c, void *data, size_t bytes, int root)
{
    if (c->calls && bytes)
        CALL(c, c->place.rank == root ? bytes : 0, c->calls->broadcast(data, bytes, root));
    return ERR_OK;
}

enum err cluster_exchange(struct cluster *c, int to, const void *data, size_t bytes, int from,
                          void *into, size_t room)
{
    if (c->calls)
        CALL(c, to >= 0 ? bytes : 0, c->calls->exchange(to, data, bytes, from, into, room));
    return ERR_OK;
}

int cluster_reads_devices(const struct cluster *c)
{
    return c->calls && c->calls->reads_devices();
}

enum err cluster_agree(struct cluster *c, enum err e, int *silent)
{
    const int none = c->place.size;
    double first = e ? c->place.rank : none;
    int code = e;
    if (!c->calls)
        return e;
    TRY(cluster_least(c, &first, 1));
    if ((int)first == none)
        return ERR_OK;
    TRY(cluster_broadcast(c, &code, sizeof code, (int)first));
    agreed = 1;
    *silent = c->place.rank != (int)first;
    return (enum err)code;
}

/* The first line in which two texts differ. */
static void differing_line(const char **a, const char **b)
{
    for (;;) {
        const size_t n = strcspn(*a, "\n"), m = strcspn(*b, "\n");
        if (n != m || memcmp(*a, *b, n) != 0 || !(*a)[n] || !(*b)[n])
            return;
        *a += n + 1;
        *b += n + 1;
    }
}

static enum err compare_texts(const struct cluster *c, const char *text, const char *first)
{
    const char *mine = text;
    if (!strcmp(text, first))
        return ERR_OK;
    differing_line(&mine, &first);
    return FAIL(ERR_INPUT,
                "process %d has \"%.*s\", the first one \"%.*s\": give all processes the same "
                "scan and the same options",
                c->place.rank, (int)strcspn(mine, "\n"), mine, (int)strcspn(first, "\n"), first);
}

enum err cluster_same(struct cluster *c, const char *text, int *silent)
{
    size_t bytes = strlen(text) + 1;
    if (!c->calls)
        return ERR_OK;
    TRY(cluster_broadcast(c, &bytes, sizeof bytes, 0));
    char *first = calloc(bytes, 1);
    enum err e = first ? ERR_OK : FAIL(ERR_MEMORY, "no memory for %zu bytes", bytes);
    if (first && c->place.rank == 0)
        memcpy(first, text, bytes);
    e = cluster_agree(c, e, silent);
    if (!e)
        e = cluster_broadcast(c, first, bytes, 0);
    if (!e)
        e = cluster_agree(c, compare_texts(c, text, first), silent);
    free(first);
    return e;
}

int cluster_threads(const struct cluster *c, int usable)
{
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->place.local_size < 2 || (long)usable * c->place.local_size <= all)
        return usable;
    const int share = usable / c->place.local_size;
    return share > 1 ? share : 1;
}

/* GPUs that the driver names; WSL2 names none there. */
static int gpus_here(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    for (struct dirent *d; folder && (d = readdir(folder));)
        count += d->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

/* Entry number `index` of a list with commas, modulo its length. */
static void entry_of(const char *list, int index, char *out, size_t size)
{
    int count = 1;
    for (const char *p = list; *p; p++)
        count += *p == ',';
    for (index %= count; index; index--)
        list = strchr(list, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
}

int cluster_gpu_of(const struct cluster_place *place, const char *given, int count, char *out,
                   size_t room)
{
    if (place->local_size < 2 || (given && !*given) || (!given && count < 2))
        return 0;
    if (given)
        entry_of(given, place->local_rank, out, room);
    else
        snprintf(out, room, "%d", place->local_rank % count);
    return 1;
}

void cluster_choose_gpu(const struct cluster *c)
{
    char mine[64];
    if (cluster_gpu_of(&c->place, getenv("CUDA_VISIBLE_DEVICES"), gpus_here(), mine, sizeof mine))
        setenv("CUDA_VISIBLE_DEVICES", mine, 1);
}
