/* Lock contention as a finding: how many threads ran at a time, who holds the lock, what it could
 * cost by Amdahl's law, and the test that would refute it. Waiting for work is not contention. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/lock_rules.h"

#define SMALL       0.05 /* of the wall time: below it no finding */
#define TINY        0.02 /* likewise, of what can be gained */
#define HALF        0.5
#define CROWDED     0.2 /* threads that wait for a CPU: worth a word */
#define LINES_SHOWN 50

enum { GIL, MUTEX, RWLOCK, SEMAPHORE, PYTHON, FUTEX, KINDS };
static const struct lock_kind {
    const char *key, *name;
} kinds[KINDS] = {{"gil", "the GIL"},
                  {"mutex", "the mutex"},
                  {"rwlock", "the read-write lock"},
                  {"semaphore", "the lock (a semaphore)"},
                  {"python_lock", "the lock"},
                  {"futex", "the lock (a futex)"}};

/* What is said of each: see `which`. */
static const struct lock_rule {
    const char *id, *title, *advice;
} rules[] = {
    {"lock.gil_native", "Compiled code holds the GIL",
     "Release the GIL in this function (Py_BEGIN_ALLOW_THREADS, nogil, ctypes.CDLL instead of "
     "PyDLL), or use processes instead of threads."},
    {"lock.gil_python", "Python code runs in one thread at a time",
     "Use processes instead of threads, or move the loop into compiled code that releases the "
     "GIL."},
    {"lock.asleep", "A lock is held during a wait",
     "Read, write or sleep before the lock is taken, or after it is released."},
    {"lock.contention", "Threads wait for a lock",
     "Hold the lock for a shorter time, or give each thread data of its own."},
};
enum { GIL_NATIVE, GIL_PYTHON, HELD_ASLEEP, CONTENTION };

struct culprit { /* the kind of lock that costs most in one process, and who holds it */
    const struct model_contention *c;
    int kind;
    int64_t threads;
    double wait, asleep, held;
    const struct model_lock *waits;    /* the row with the longest wait */
    const struct model_holder *holder; /* the line that held it most */
    double holder_s;
};

static int kind_of(const struct model_lock *l)
{
    for (int k = 0; k < KINDS; k++)
        if (l->kind && !strcmp(l->kind, kinds[k].key))
            return k;
    return KINDS;
}

static int is_ours(const struct culprit *u, const struct model_lock *l)
{
    return l->process == u->c->process && l->role && !strcmp(l->role, "contention") &&
           kind_of(l) == u->kind;
}

static int same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static double held_by(const struct model *m, const struct culprit *u, const struct model_holder *h)
{
    double s = 0;
    for (int i = 0; i < m->locks_count; i++)
        for (int k = 0; k < m->locks[i].holders_count && is_ours(u, &m->locks[i]); k++) {
            const struct model_holder *o = &m->locks[i].holders[k];
            if (o->line == h->line && same(o->file, h->file) && same(o->function, h->function))
                s += o->held_s;
        }
    return s;
}

static struct culprit find(const struct model *m)
{
    struct culprit u = {.c = &m->contention[0]};
    double by_kind[KINDS + 1] = {0};
    /* Nothing tells who holds a bare futex, nor whether it is a lock at all: threads of a pool that
     * wait for work look the same (XLA's led the answer for MBIRJAX). Their table lists them. */
    for (int i = 0; i < m->locks_count; i++)
        if (m->locks[i].process == u.c->process && m->locks[i].role &&
            !strcmp(m->locks[i].role, "contention") &&
            (kind_of(&m->locks[i]) != FUTEX || m->locks[i].holders_count))
            by_kind[kind_of(&m->locks[i])] += m->locks[i].wait_s;
    for (int k = 0; k < KINDS; k++)
        u.kind = by_kind[k] > by_kind[u.kind] ? k : u.kind;
    u.wait = by_kind[u.kind];
    for (int i = 0; i < m->locks_count; i++) {
        const struct model_lock *l = &m->locks[i];
        if (!is_ours(&u, l))
            continue;
        u.threads = l->threads > u.threads ? l->threads : u.threads;
        u.waits = !u.waits || l->wait_s > u.waits->wait_s ? l : u.waits;
        for (int k = 0; k < l->holders_count; k++) {
            const struct model_holder *h = &l->holders[k];
            double s = held_by(m, &u, h);
            u.held += h->held_s;
            u.asleep += h->asleep ? h->held_s : 0;
            if (s > u.holder_s) {
                u.holder_s = s;
                u.holder = h;
            }
        }
    }
    return u;
}

/* "decode() at load.py:12", with the compiled function where the line is Python's. */
static void name_holder(const struct model_holder *h, char out[300])
{
    const char *f = h->function && *h->function != '<' ? h->function : NULL;
    const char *native = h->native && !same(h->native, f) ? h->native : NULL;
    const char *inner = f ? strstr(f, ".<") : NULL; /* a generator of it */
    int length = f ? inner ? (int)(inner - f) : (int)strlen(f) : 0;
    int n = snprintf(out, 300, "%.*s%s", length < 80 ? length : 80, f ? f : "",
                     f && !strchr(f, '(') ? "()" : "");
    if (h->file)
        n += snprintf(out + n, 300 - (size_t)n, "%s%.80s:%lld", f ? " at " : "", h->file,
                      (long long)h->line);
    if (native)
        snprintf(out + n, 300 - (size_t)n, "%sin %.80s", n ? " " : "", native);
}

static int usable_cpus(const struct model *m)
{
    for (int i = 0; i < m->environment_count; i++)
        if (m->environment[i].key && m->environment[i].value &&
            !strcmp(m->environment[i].key, "launcher.cpus"))
            return atoi(m->environment[i].value);
    return 0;
}

static const struct lock_rule *which(const struct culprit *u)
{
    if (u->held > 0 && u->asleep > HALF * u->held)
        return &rules[HELD_ASLEEP];
    if (u->kind != GIL)
        return &rules[CONTENTION];
    return &rules[u->c->python_share >= HALF ? GIL_PYTHON : GIL_NATIVE];
}

/* By Amdahl's law: at most all that is done one after the other is done by as many threads as want
 * to run, or as there are CPUs; the lower end takes half of it. Nothing where as many threads as
 * there are CPUs could run. */
static double gain(const struct model *m, const struct culprit *u)
{
    int cpus = usable_cpus(m);
    double ran = u->c->ran, could = u->c->wanted;
    could = cpus > 0 && cpus < could ? cpus : could;
    return isfinite(u->c->ran) && could > ran ? u->c->both_s * (1 - ran / could) : 0;
}

static enum err lines(struct model *m, const struct culprit *u, struct model_finding *row)
{
    TRY(model_list(m, model_place, row, lines, LINES_SHOWN));
    int n = 0;
    if (u->holder && u->holder->file)
        row->lines[n++] =
            (struct model_place){u->holder->file, u->holder->line, MODEL_UNKNOWN, u->holder_s};
    for (int i = 0; i < m->locks_count && n < LINES_SHOWN; i++)
        if (is_ours(u, &m->locks[i]) && m->locks[i].file)
            row->lines[n++] = (struct model_place){m->locks[i].file, m->locks[i].line,
                                                   m->locks[i].waits, m->locks[i].wait_s};
    row->lines_count = n;
    return ERR_OK;
}

enum err lock_rules(struct model *m, struct model_finding *row, int *found)
{
    char text[900], holder[300] = "", where[120] = "";
    *found = 0;
    if (!m->contention_count || !(m->contention[0].any_s > SMALL * m->meta.wall_s))
        return ERR_OK;
    const struct culprit u = find(m);
    const struct lock_rule *rule = which(&u);
    double most = u.waits ? gain(m, &u) : 0;
    if (!(u.wait > SMALL * m->meta.wall_s) || !(most > TINY * m->meta.wall_s))
        return ERR_OK;
    if (u.holder)
        name_holder(u.holder, holder);
    if (u.waits->file)
        snprintf(where, sizeof where, " at %.80s:%lld", u.waits->file, (long long)u.waits->line);
    int64_t threads = u.c->at_once > 0 && u.c->at_once < u.threads ? u.c->at_once : u.threads;
    const char *one = threads == 1 ? "" : "s";
    if (*holder) {
        int n = snprintf(text, sizeof text, "%lld thread%s", (long long)threads, one);
        if (isfinite(u.c->ran))
            n += snprintf(text + n, sizeof text - (size_t)n, ", %.2g ran at a time", u.c->ran);
        if (u.c->ran - u.c->on_cpu > CROWDED)
            n += snprintf(text + n, sizeof text - (size_t)n, " (%.2g of them waited for a CPU)",
                          u.c->ran - u.c->on_cpu);
        n += snprintf(text + n, sizeof text - (size_t)n, ": %s holds %s", holder,
                      kinds[u.kind].name);
        if (u.wait > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, " for %.0f %% of their waits",
                          fmin(100, 100 * u.holder_s / u.wait));
        snprintf(text + n, sizeof text - (size_t)n,
                 ". Threads waited %.3g s%s, the longest %.3g s.", u.wait, where,
                 u.waits->longest_s);
    } else
        snprintf(text, sizeof text,
                 "%lld thread%s waited %.3g s for %s%s, the longest %.3g s. Who held it is not "
                 "known%s%s.",
                 (long long)threads, one, u.wait, kinds[u.kind].name, where, u.waits->longest_s,
                 u.waits->reason ? ": " : "", u.waits->reason ? u.waits->reason : "");
    json_blank(&record_model_finding, row);
    row->id = rule->id;
    row->severity = "warning";
    row->title = rule->title;
    row->advice = rule->advice;
    row->evidence = arena_text(m->arena, text);
    row->gain_s = most;
    row->gain_low_s = most / 2;
    row->refuted_by = "The lock is not the cause if one thread takes 1.5 times as long as all of "
                      "them, or longer.";
    row->test = "Record the program with one thread (tomoprof record -- COMMAND), then compare "
                "both runs (tomoprof compare RUN1 RUN2).";
    row->confidence = u.holder_s > HALF * u.wait ? "high" : u.holder ? "medium" : "low";
    *found = 1;
    return lines(m, &u, row);
}
