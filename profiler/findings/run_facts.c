/* The facts of a run that rules share: what reads waited for, what decodes, the lock and the rank
 * that others wait for. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/model/codecs.h"
#include "profiler/findings/run_facts.h"
#include "profiler/findings/thresholds.h"

static void facts_add_decoding(struct run_facts *f)
{
    double largest = 0;
    struct codec_modules in;
    codec_modules(f->m, &in);
    for (int i = 0; i < f->m->stacks_count; i++) {
        const struct model_stack *s = &f->m->stacks[i];
        const char *codec;
        int unnamed;
        if (!(s->cpu_ns > 0) || s->frame < 0 || s->frame >= f->m->frames_count)
            continue;
        if (frame_work(&f->m->frames[s->frame], &in, &codec, &unnamed) != WORK_DECODE)
            continue;
        f->unnamed_s += unnamed ? 1e-9 * (double)s->cpu_ns : 0;
        f->decode_s += 1e-9 * (double)s->cpu_ns;
        if ((double)s->cpu_ns > largest) {
            largest = (double)s->cpu_ns;
            f->codec = codec;
        }
    }
}

/* A read from memory that lost its CPU looks as if it had waited. Where the kernel fetched next to
 * nothing from storage, reads waited at most as long as the run was asleep: its critical path takes
 * a thread that is ready for a CPU as computing. */
static double real_share(const struct model *m, double waited, double mb)
{
    double asleep = 0;
    if (!(waited > 0) || !m->own_count || !(m->io.storage_read_mb < 0.1 * mb))
        return 1;
    for (int i = 0; i < m->own_count; i++)
        asleep += 1e-9 * positive_or_0((double)m->own[i].path_wait_ns);
    return fmin(1, asleep / waited);
}

static double file_waited_s(const struct model_io_file *f)
{
    return positive_or_0(f->read.waited_s) + positive_or_0(f->write.waited_s);
}

static double file_waited_mb(const struct model_io_file *f)
{
    return positive_or_0(f->read.waited_mb) + positive_or_0(f->write.waited_mb);
}

/* HOST:PORT; a Unix socket leads to another program of this machine. */
static int is_network(const struct model_io_file *e)
{
    const char *port = e->path ? strrchr(e->path, ':') : NULL;
    return port && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1);
}

/* A program that waits at a pipe, a terminal or for clients waits for another program, not for
 * storage. */
static void facts_add_waits(struct run_facts *f)
{
    const struct model_io *io = &f->m->io;
    double s = positive_or_0(io->read.waited_s) + positive_or_0(io->write.waited_s);
    double mb = positive_or_0(io->read.waited_mb) + positive_or_0(io->write.waited_mb);
    for (int i = 0; i < io->files_count; i++)
        if (io->files[i].kind && strcmp(io->files[i].kind, "file")) {
            s -= file_waited_s(&io->files[i]);
            mb -= file_waited_mb(&io->files[i]);
        }
    for (int i = 0; i < io->endpoints_count; i++) {
        s -= file_waited_s(&io->endpoints[i]);
        mb -= file_waited_mb(&io->endpoints[i]);
        if (io->endpoints[i].connects > 0 && is_network(&io->endpoints[i]))
            f->network += file_waited_s(&io->endpoints[i]);
    }
    s = fmax(0, s);
    f->waited_mb = fmax(0, mb);
    f->real = real_share(f->m, s, f->waited_mb);
    f->waited = s * f->real;
    f->quiet = fmax(fmin(f->wall, f->cpu), f->wall - positive_or_0(f->m->totals.wait.runnable));
}

enum { GIL, MUTEX, RWLOCK, SEMAPHORE, PYTHON, FUTEX, LOCK_KINDS };
static const struct {
    const char *key, *name;
} lock_kinds[LOCK_KINDS] = {{"gil", "the GIL"},
                            {"mutex", "the mutex"},
                            {"rwlock", "the read-write lock"},
                            {"semaphore", "the lock (a semaphore)"},
                            {"python_lock", "the lock"},
                            {"futex", "the lock (a futex)"}};

static int is_contention(const struct lock_facts *k, const struct model_lock *l)
{
    return l->process == k->c->process && l->role && !strcmp(l->role, "contention");
}

int lock_is_of(const struct lock_facts *k, const struct model_lock *l)
{
    return is_contention(k, l) && l->kind && !strcmp(l->kind, k->kind);
}

/* The kind that threads wait for longest. Nothing tells who holds a bare futex, nor whether it is a
 * lock at all: threads of a pool that wait for work look the same (XLA's led the answer for
 * MBIRJAX). Their table lists them. */
static int lock_kind_of(const struct model *m, struct lock_facts *k)
{
    double waits[LOCK_KINDS] = {0};
    int most = GIL;
    for (int i = 0; i < m->locks_count; i++)
        for (int kind = 0; kind < LOCK_KINDS; kind++)
            if (is_contention(k, &m->locks[i]) && m->locks[i].kind &&
                !strcmp(m->locks[i].kind, lock_kinds[kind].key) &&
                (kind != FUTEX || m->locks[i].holders_count))
                waits[kind] += m->locks[i].wait_s;
    for (int kind = 0; kind < LOCK_KINDS; kind++)
        most = waits[kind] > waits[most] ? kind : most;
    k->wait = waits[most];
    return most;
}

static int texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Seconds for which the line of `h` held a lock of the kind. */
static double lock_held_s(const struct model *m, const struct lock_facts *k,
                          const struct model_holder *h)
{
    double s = 0;
    for (int i = 0; i < m->locks_count; i++)
        for (int n = 0; n < m->locks[i].holders_count && lock_is_of(k, &m->locks[i]); n++) {
            const struct model_holder *o = &m->locks[i].holders[n];
            if (o->line == h->line && texts_equal(o->file, h->file) &&
                texts_equal(o->function, h->function))
                s += o->held_s;
        }
    return s;
}

static void facts_add_lock(struct run_facts *f)
{
    const struct model *m = f->m;
    struct lock_facts *k = &f->lock;
    if (!m->contention_count || !(m->contention[0].any_s > SHARE(LEAST) * f->wall))
        return;
    k->c = &m->contention[0];
    int kind = lock_kind_of(m, k);
    k->kind = lock_kinds[kind].key;
    k->name = lock_kinds[kind].name;
    double waits = 0, queued = 0, most[2] = {0};
    const struct model_holder *of[2] = {NULL}; /* that runs, that sleeps */
    for (int i = 0; i < m->locks_count; i++) {
        const struct model_lock *l = &m->locks[i];
        if (!lock_is_of(k, l))
            continue;
        waits += positive_or_0(l->wait_s);
        queued += positive_or_0(l->cpu_wait_s);
        k->threads = l->threads > k->threads ? l->threads : k->threads;
        k->waits = !k->waits || l->wait_s > k->waits->wait_s ? l : k->waits;
        for (int n = 0; n < l->holders_count; n++) {
            const struct model_holder *h = &l->holders[n];
            const int asleep = h->asleep != 0;
            double s = lock_held_s(m, k, h);
            k->held += h->held_s;
            k->asleep += asleep ? h->held_s : 0;
            of[asleep] = s > most[asleep] ? h : of[asleep];
            most[asleep] = fmax(s, most[asleep]);
        }
    }
    const int sleeps = k->held > 0 && k->asleep > SHARE(LOCK_ASLEEP) * k->held;
    /* A thread that slept with the lock may be in the run queue before it leaves it: its next sample is at
     * a later line. */
    const int named = sleeps || most[1] > most[0];
    k->holder = of[named];
    k->holder_s = most[named];
    k->quiet = waits > 0 ? fmax(0, 1 - queued / waits) : 1;
    k->rule = sleeps                                     ? "lock.asleep"
              : kind != GIL                              ? "lock.contention"
              : k->c->python_share >= SHARE(LOCK_PYTHON) ? "lock.gil_python"
                                                         : "lock.gil_native";
}

/* Calls of which one rank has the data, also of large counts: Gather_c. */
static int is_of_root(const char *call)
{
    static const char *const names[] = {"Bcast",  "Scatter", "Scatterv",
                                        "Reduce", "Gather",  "Gatherv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);
        if (call && !strncmp(call, names[i], n) && (!call[n] || !strcmp(call + n, "_c")))
            return 1;
    }
    return 0;
}

static void facts_add_ranks(struct run_facts *f)
{
    const struct model_mpi *m = &f->m->mpi;
    struct rank_facts *r = &f->ranks;
    *r = (struct rank_facts){.wall = m->wall_s, .rank = -1};
    for (int i = 0; i < m->ranks_count; i++) {
        r->late += m->ranks[i].late_s;
        r->transfer += m->ranks[i].transfer_s;
        if (m->ranks[i].delayed_s > r->delayed) {
            r->delayed = m->ranks[i].delayed_s;
            r->rank = m->ranks[i].rank;
        }
    }
    for (int i = 0; i < m->lines_count; i++) {
        const struct model_mpi_line *l = &m->lines[i];
        if (l->call && (!strcmp(l->call, "Init") || !strcmp(l->call, "Init_thread") ||
                        !strcmp(l->call, "Finalize")))
            continue;
        r->root += is_of_root(l->call) ? l->late_s : 0;
        if (l->late_s > (r->line ? r->line->late_s : 0))
            r->line = l;
    }
    if (m->size != MODEL_UNKNOWN && m->size >= 2 && r->wall > 0)
        r->all = r->wall * (double)m->size;
    r->rule = r->root > SHARE(LATE_MOST) * r->late      ? "mpi.root"
              : r->delayed > SHARE(LATE_MOST) * r->late ? "mpi.late"
                                                        : "mpi.turns";
}

/* The time against which gains are held: wall time without waiting for a CPU; what the critical path
 * has, where nothing tells how long that was. Without a path, as in captures without moments or
 * without a main thread, gains are CPU time, and so is what they are compared with. */
static double own_time(const struct run_facts *f)
{
    const double ready = f->m->totals.path_ready_s;
    double path = 0;
    for (int i = 0; i < f->m->own_count; i++)
        path += 1e-9 * (positive_or_0((double)f->m->own[i].path_cpu_ns) +
                        positive_or_0((double)f->m->own[i].path_wait_ns));
    if (!isfinite(f->wall))
        return f->cpu;
    if (!(path > 0) && f->cpu > 0)
        return fmin(f->cpu, f->wall);
    return isfinite(ready) ? fmax(f->wall - ready, path) : path > 0 ? fmin(path, f->wall) : f->wall;
}

static int usable_cpus(const struct model *m)
{
    for (int i = 0; i < m->environment_count; i++)
        if (m->environment[i].key && m->environment[i].value &&
            !strcmp(m->environment[i].key, "launcher.cpus"))
            return atoi(m->environment[i].value);
    return 0;
}

/* By the kernel's account where the thread has ended: samples leave out who has little. */
static double thread_cpu_s(const struct model_thread *t)
{
    const double sampled = positive_or_0(t->user_s) + positive_or_0(t->sys_s);
    const int seen = sampled + positive_or_0(t->wait_s) > 0; /* else one of the recorder */
    return seen && t->kernel_cpu_s > sampled ? t->kernel_cpu_s : sampled;
}

/* The most threads, over the moments at which a process begins, that compute a good part of what the
 * busiest does, in processes that live then. */
static int64_t threads_at_once(const struct model *m)
{
    double busiest = 0;
    int64_t most = 0;
    for (int i = 0; i < m->threads_count; i++)
        busiest = fmax(busiest, thread_cpu_s(&m->threads[i]));
    for (int p = 0; p < m->processes_count || !p; p++) {
        int64_t n = 0;
        for (int i = 0; i < m->threads_count; i++) {
            const int of = m->threads[i].process;
            const int lives = !m->processes_count || of < 0 || of >= m->processes_count ||
                              of == p ||
                              (m->processes[of].start_s <= m->processes[p].start_s &&
                               m->processes[of].end_s > m->processes[p].start_s);
            n += lives && busiest > 0 && thread_cpu_s(&m->threads[i]) > SHARE(COMPUTES) * busiest;
        }
        most = n > most ? n : most;
    }
    return most;
}

const struct model_item *quality_item(const struct model *m, const char *id)
{
    for (int i = 0; i < m->quality.items_count; i++)
        if (m->quality.items[i].id && !strcmp(m->quality.items[i].id, id))
            return &m->quality.items[i];
    return NULL;
}

void run_facts_of(const struct model *m, struct run_facts *out)
{
    *out = (struct run_facts){.m = m, .wall = m->meta.wall_s};
    out->cpus = usable_cpus(m);
    out->threads = threads_at_once(m);
    out->busy = quality_item(m, "cpu.busy") != NULL;
    out->cpu = positive_or_0(m->totals.cpu.user) + positive_or_0(m->totals.cpu.sys);
    out->own = own_time(out);
    out->has_io = isfinite(m->io.read.s) && m->meta.wall_s > 0;
    facts_add_waits(out);
    facts_add_lock(out);
    facts_add_ranks(out);
    if (out->has_io || out->lock.c)
        facts_add_decoding(out);
}

double imports_s(const struct model *m)
{
    double ns = 0;
    for (int i = 0; i < m->own_count; i++)
        if (m->own[i].kind && !strcmp(m->own[i].kind, "import"))
            ns += positive_or_0((double)m->own[i].cpu_ns);
    return 1e-9 * ns;
}
