/* Workers of a plan: threads, or child processes that share the output. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/store/codec/children.h"
#include "host/store/engine/parts.h"
#include "host/store/engine/worker.h"

/* A thread of its own costs 30 to 60 us: start, arena, descriptor, join. */
#define ALONE_BYTES ((int64_t)1 << 20)
#define ALONE_NS    200000 /* expected for what is left after the first group */

static enum err memory_map(size_t bytes, int flags, void **out)
{
    *out = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (*out != MAP_FAILED)
        return ERR_OK;
    *out = NULL;
    return FAIL(ERR_MEMORY, "no memory left for %zu bytes to read into", bytes);
}

enum err engine_shared(size_t bytes, void **out)
{
    return memory_map(bytes, MAP_SHARED, out);
}

/* Children decode into other memory. With this one in them each of its pages would be copied when it is
 * written next. */
enum err engine_private(size_t bytes, void **out)
{
    TRY(memory_map(bytes, MAP_PRIVATE, out));
    madvise(*out, bytes + 1, MADV_DONTFORK);
    return ERR_OK;
}

void engine_unshare(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes + 1);
}

static void *worker_thread(void *w)
{
    worker_run(w);
    return NULL;
}

struct team {
    struct engine_worker *w;
    pthread_t *threads;
    int n, started; /* workers; threads, which are one less */
};

static void start_others(struct team *t)
{
    for (int i = 1; t->w && t->threads && i < t->n; i++, t->started++)
        if (pthread_create(&t->threads[i], NULL, worker_thread, &t->w[i]))
            break;
}

/* A cold file takes long, however little is wanted. */
static void start_where_slow(struct engine_worker *w, int64_t ns)
{
    if (ns * (w->job->plan->groups_count - 1) > ALONE_NS)
        start_others(w->team);
}

/* So little that a thread would begin when most of it is read, if it is in the page cache. */
static int is_little(const struct engine_plan *p)
{
    return !p->options.threads && !p->store->remote && !p->facts.bytes_decoded &&
           p->facts.bytes_fetched <= ALONE_BYTES;
}

/* A chunk that holds something else than its store says gets a child when it comes. */
static int decoder_is_needed(const struct codec_pipeline *p)
{
    return codec_needs_child(p) && !(p->count == 1 && p->step[0].plain) &&
           codec_pipeline_available(p);
}

/* Room for the largest chunk of the plan that a child decodes; 0: there is none. Where a chunk's stored
 * bytes are not known yet, it takes an eighth more than the decoded ones, which the child gets. */
static size_t decoder_bytes(const struct engine_plan *p)
{
    const struct store_array *a = p->array;
    int64_t most = 0;
    int needed = 0;
    for (int i = 0; i < a->pipelines_count; i++)
        needed |= decoder_is_needed(&a->pipelines[i]);
    for (int64_t i = 0; needed && i < p->facts.tasks; i++) {
        const struct store_chunk *c = &a->chunks[p->tasks[i].chunk];
        const int64_t decoded = c->skip + store_chunk_bytes(a, p->tasks[i].chunk);
        const int64_t stored = c->whole || c->stored < 0 ? decoded : c->stored;
        if (decoder_is_needed(&a->pipelines[c->pipeline]) && decoded + stored > most)
            most = decoded + stored;
    }
    return (size_t)most;
}

static void run_threads(struct engine_job *job, int n)
{
    struct team t = {.w = calloc((size_t)n, sizeof *t.w),
                     .threads = calloc((size_t)n, sizeof *t.threads),
                     .n = n};
    for (int i = 0; t.w && i < n; i++)
        t.w[i] = (struct engine_worker){.job = job, .number = i, .team = &t};
    struct engine_worker alone = {.job = job};
    const size_t bytes = decoder_bytes(job->plan);
    for (int i = 0; bytes && t.w && i < n;
         i++) /* a fork beside running workers may wait for them */
        codec_children_lend(&job->plan->store->decoders, &t.w[i].codecs, bytes);
    if (!t.w || !is_little(job->plan))
        start_others(&t);
    else
        t.w[0].first_done = start_where_slow;
    worker_run(t.w ? &t.w[0] : &alone);
    for (int i = 1; i <= t.started; i++)
        pthread_join(t.threads[i], NULL);
    job->workers = 1 + t.started;
    free(t.threads);
    free(t.w);
}

struct engine_process {
    struct engine_job *job;
    int number;
};

static int work_in_process(void *context, int fd)
{
    const struct engine_process *p = context;
    struct engine_worker w = {.job = p->job, .number = p->number};
    (void)fd;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    worker_run(&w);
    return 0;
}

static void run_processes(struct engine_job *job, int n)
{
    struct child children[256];
    int started = 0;
    enum err e = ERR_OK;
    for (; started < n && started < 256; started++)
        if ((e = child_fork(&children[started], work_in_process,
                            &(struct engine_process){job, started})))
            break;
    job->workers = started;
    if (!started)
        worker_fail(job, e);
    for (int i = 0; i < started; i++) {
        const int status = child_wait(&children[i]);
        if (WIFSIGNALED(status))
            worker_fail(job, FAIL(ERR_FAILED, "a loading process ended with signal %d (%s)",
                                  WTERMSIG(status), strsignal(WTERMSIG(status))));
    }
}

static enum err job_end(struct engine_job *job, struct engine_result *result)
{
    const struct engine_plan *p = job->plan;
    result->tasks_done = job->tasks_done;
    result->buffer_bytes = job->buffer_bytes;
    result->workers = job->workers;
    result->requests = job->requests;
    result->bytes_fetched = job->bytes_fetched;
    result->child_cpu_ns = job->child_cpu_ns;
    result->counts_waits = job->times && !job->blind;
    result->way = job->fallback[0] ? fetch_pread.name
                  : p->options.way ? p->options.way->name
                                   : fetch_pread.name;
    memcpy(result->fallback, job->fallback, sizeof result->fallback);
    if (job->e)
        return FAIL(job->e, "%s", job->text);
    const int may_stop = p->options.stop || p->options.deadline_ns;
    FAIL_IF(!may_stop && job->tasks_done != p->facts.tasks, ERR_INTERNAL,
            "%s: %ld of %ld parts were read", p->store->name, (long)job->tasks_done,
            (long)p->facts.tasks);
    return ERR_OK;
}

enum err engine_run(struct engine_plan *p, struct store_dtype type, void *out,
                    const int64_t *stride, struct engine_time *times, struct engine_result *result)
{
    struct engine_result unused;
    struct engine_job *job;
    const int processes = p->options.processes;
    FAIL_IF(!engine_converts(p->array->dtype, type), ERR_UNSUPPORTED,
            "%s: %s holds complex or wide numbers, which are not converted", p->store->name,
            p->array->name);
    mem_keep_freed();
    TRY(engine_shared(sizeof *job, (void **)&job));
    result = result ? result : &unused;
    *result = (struct engine_result){0};
    job->plan = p;
    job->type = type;
    job->out = out;
    job->times = times;
    if (stride)
        memcpy(job->stride, stride, (size_t)p->array->dims * sizeof *stride);
    else
        engine_strides(p->array, &p->box, type.bytes, 0, job->stride);
    for (int64_t i = 0; times && i < p->facts.tasks; i++)
        times[i] = (struct engine_time){.chunk = p->tasks[i].chunk, .worker = -1};
    int n = engine_workers(p);
    if (n > p->groups_count)
        n = (int)p->groups_count;
    const int64_t begin = clock_ns();
    job->begin_ns = begin;
    if (!p->facts.covered) { /* between tiles */
        worker_fill(job);
        result->fill_ns = clock_ns() - begin;
    }
    if (processes)
        run_processes(job, n < 1 ? 1 : n);
    else
        run_threads(job, n < 1 ? 1 : n);
    result->wall_ns = clock_ns() - begin;
    enum err e = job_end(job, result);
    engine_unshare(job, sizeof *job);
    return e;
}

enum err engine_read(struct store *s, struct store_array *a, const struct engine_box *box,
                     struct store_dtype type, void *out, const int64_t *stride)
{
    const struct engine_box all = engine_all(a);
    struct engine_plan *p;
    TRY(engine_plan(s, a, box ? box : &all, NULL, &p));
    enum err e = engine_run(p, type, out, stride, NULL, NULL);
    engine_plan_free(p);
    return e;
}

void engine_strides(const struct store_array *a, const struct engine_box *box, int bytes,
                    int as_stored, int64_t stride[STORE_DIMS])
{
    int64_t n = bytes;
    for (int k = a->dims - 1; k >= 0; k--) {
        const int d = as_stored ? a->order[k] : k;
        stride[d] = n;
        n *= box->count[d];
    }
}
