/* CPU time that no sample can stand for, by the accounts of the processes and of the launcher:
 * before the library was loaded, while it set itself up, after its last record, and where threads
 * begin and end. At the end of the file: how many samples the other times rest on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/common/owner.h"

static const char startup[] = "[start-up]", shutdown[] = "[shutdown]", own[] = "[tomoprof]",
                  threads[] = "[threads]";
#define THREADS_LEAST                                                                              \
    0.01 /* of the process; below it, the moments of the accounts differ by more */

#define SHORT_CPU_NS 10e6
enum { SHORT_LEAST = 20, SHORT_NAMED = 3, SHORT_NAMES = 64 }; /* told from so many processes on */

int account_is_row(const char *module)
{
    return !strcmp(module, startup) || !strcmp(module, shutdown) || !strcmp(module, own) ||
           !strcmp(module, threads);
}

struct overhead {
    uint64_t part, ns, calls; /* last values */
};
struct image_account {
    struct account account;
    VECTOR(struct overhead) overhead; /* the recorder's own, per thread and part */
    struct table overhead_by_key;
};

static enum err account_record(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_account *a = (const void *)item->record;
    struct image_account *mine = state;
    if (a->at > TRACE_AT_END || a->user_ns > 1ull << 53 || a->system_ns > 1ull << 53)
        im->run->q.bad_values++;
    else
        mine->account.at[a->at] = (struct cpu_moment){(double)a->user_ns, (double)a->system_ns, 1,
                                                      image_left_out(im, a->r.time_ns)};
    return ERR_OK;
}

static enum err account_cost(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_cost *c = (const void *)item->record;
    struct image_account *mine = state;
    const uint64_t key = table_mix(c->tid, c->part);
    uint32_t at = table_get(&mine->overhead_by_key, key);
    (void)im;
    if (at == TABLE_NONE) {
        at = (uint32_t)mine->overhead.count;
        TRY(vector_add(&mine->overhead, (struct overhead){0}));
        TRY(table_put(&mine->overhead_by_key, key, at));
    }
    if (c->calls >=
        mine->overhead.items[at].calls) /* the library's thread writes those of others */
        mine->overhead.items[at] = (struct overhead){c->part, c->ns, c->calls};
    return ERR_OK;
}

static enum err account_attribute(struct image *im, void *state)
{
    struct image_account *mine = state;
    struct account *a = &mine->account;
    struct quality_count *q = &im->run->q;
    a->pid = im->header.pid;
    a->image = im->index;
    a->start = im->header.start_ns;
    a->execs = im->header.end == TRACE_EXEC;
    a->ended = im->header.end != TRACE_RUNNING;
    a->thread = -1;
    a->name = "main";
    int counted = 0; /* the recorder's own thread, by the kernel */
    for (size_t i = 0; i < im->threads.count; i++) {
        const struct thread *t = &im->threads.items[i];
        counted |= t->recorder && t->ended && t->kernel_ns > 0 && !build_of_part(im->run);
        a->threads_ns += t->ended ? t->kernel_ns : t->user + t->sys;
        a->others += !t->main && !t->recorder;
        if (t->main) {
            const char *name = t->name;
            a->thread = t->row;
            a->name = name && *name ? run_text(im->run, name) : a->name;
        }
    }
    for (size_t i = 0; i < mine->overhead.count; i++) {
        const struct overhead *o = &mine->overhead.items[i];
        if (o->part < TRACE_PARTS) {
            q->cost_ns[o->part] += o->part == TRACE_PART_WAIT && counted ? 0 : (double)o->ns;
            q->cost_calls[o->part] += (double)o->calls;
        }
    }
    return vector_add(&im->run->accounts, *a);
}

static void account_free(struct image *im, void *state)
{
    struct image_account *mine = state;
    (void)im;
    vector_free(&mine->overhead);
    table_free(&mine->overhead_by_key);
}

static const struct collected kinds[] = {{TRACE_ACCOUNT, account_record, 0, 0},
                                         {TRACE_COST, account_cost, 0, 0}};
const struct collector collector_accounts = {.state_bytes = sizeof(struct image_account),
                                             COLLECTED(kinds),
                                             .attribute = account_attribute,
                                             .free = account_free};

/* The time from one moment to another; *ns grows by it. */
static enum err accounts_row(struct run *r, const struct account *a, const char *name,
                             struct cpu_moment from, struct cpu_moment to, double *ns)
{
    double user = to.user > from.user ? to.user - from.user : 0,
           sys = to.sys > from.sys ? to.sys - from.sys : 0,
           all = to.user + to.sys - from.user - from.sys;
    if (!to.known || to.left_out || !from.known || all <= 0 || a->thread < 0)
        return ERR_OK;
    const double scale = all / (user + sys); /* the parts are estimates: one may have shrunk */
    user *= scale;
    sys *= scale;
    *ns += all;
    struct model_thread *t = &r->threads.items[a->thread];
    t->user_s = (isnan(t->user_s) ? 0 : t->user_s) + ns_to_seconds(user);
    t->sys_s = (isnan(t->sys_s) ? 0 : t->sys_s) + ns_to_seconds(sys);
    if (!isnan(t->kernel_cpu_s) && name != own) /* which is in the thread's own account */
        t->kernel_cpu_s += ns_to_seconds(all);
    if (t->kernel_cpu_s > 0)
        t->coverage = (t->user_s + t->sys_s) / t->kernel_cpu_s;
    return attribute_account(r, a->name, a->thread, name, user, sys);
}

/* Returns the process's use when the program before this one, in the same process, left it. */
static struct cpu_moment account_before(const struct run *r, const struct account *a)
{
    struct cpu_moment at = {.known = 1};
    uint64_t latest = 0;
    for (size_t i = 0; i < r->accounts.count; i++) {
        const struct account *b = &r->accounts.items[i];
        if (b->pid == a->pid && b->execs && b->start < a->start && b->start >= latest &&
            b->at[TRACE_AT_END].known) {
            latest = b->start;
            at = b->at[TRACE_AT_END];
        }
    }
    return at;
}

/* Makes the row of threads: the time that the kernel, the C library and the recorder took before
 * they could be sampled and after their last record; and all of those that came and went unseen. */
static enum err threads_row(struct run *r, const struct account *a)
{
    struct cpu_moment to = a->at[TRACE_AT_END], from = to, start = a->at[TRACE_AT_START];
    double all = to.user + to.sys - start.user - start.sys, rest = all - a->threads_ns, unused = 0;
    if (!start.known || !a->others || build_of_part(r) || rest < THREADS_LEAST * all)
        return ERR_OK;
    from.sys -= rest;
    return accounts_row(r, a, threads, from, to, &unused);
}

/* Fills in what the kernel counted for a process that ended before its first sample. NAN: it could
 * not tell that any more. */
static void account_unsampled(const struct run *r, const struct account *a)
{
    struct model_process *p = &r->processes.items[a->image];
    const struct cpu_moment before = account_before(r, a), *end = &a->at[TRACE_AT_END];
    const double ns = end->user + end->sys - before.user - before.sys;
    if (p->cpu_s > 0 || isnan(p->cpu_s) || end->left_out)
        return;
    p->cpu_s = end->known && ns >= 0 ? ns_to_seconds(ns) : (double)NAN;
}

enum err build_accounts(struct run *r)
{
    const struct analyze_launch *l = &r->options->launch;
    double unused = 0;
    const struct cpu_moment end = {1e9 * l->own_user_s, 1e9 * l->own_system_s,
                                   l->own_user_s + l->own_system_s > 0, 0};
    for (size_t i = 0; i < r->accounts.count && r->has_cpu; i++) {
        const struct account *a = &r->accounts.items[i];
        account_unsampled(r, a);
        if (a->at[TRACE_AT_LOAD].known) {
            TRY(accounts_row(r, a, startup, account_before(r, a), a->at[TRACE_AT_LOAD],
                             &r->startup_ns));
            TRY(accounts_row(r, a, own, a->at[TRACE_AT_LOAD], a->at[TRACE_AT_START], &unused));
        }
        if (!a->at[TRACE_AT_LOAD].known) /* a fork */
            TRY(accounts_row(r, a, startup, (struct cpu_moment){.known = 1}, a->at[TRACE_AT_START],
                             &r->startup_ns));
        TRY(threads_row(r, a));
        if (a->pid == l->pid && a->ended && !a->execs && !a->at[TRACE_AT_END].left_out)
            TRY(accounts_row(r, a, shutdown, a->at[TRACE_AT_END], end, &r->shutdown_ns));
    }
    return ERR_OK;
}

/* The last program of each process, and the whole of the process's CPU time. */
static enum err accounts_of_processes(const struct run *r, struct table *last)
{
    for (size_t i = 0; i < r->accounts.count; i++) {
        const struct account *a = &r->accounts.items[i];
        const uint32_t at = table_get(last, table_mix((uint64_t)a->pid, 0));
        if (at == TABLE_NONE || r->accounts.items[at].start < a->start)
            TRY(table_put(last, table_mix((uint64_t)a->pid, 0), (uint32_t)i));
    }
    return ERR_OK;
}

/* Short processes of one program. */
struct short_program {
    const char *name;
    double ns;
    int count;
};

static int short_programs_most(const void *a, const void *b)
{
    const double x = ((const struct short_program *)a)->ns;
    const double y = ((const struct short_program *)b)->ns;
    return (x < y) - (x > y);
}

static int short_programs_add(struct short_program *programs, int count, const char *name,
                              double ns)
{
    int k = 0;
    while (k < count && strcmp(programs[k].name, name))
        k++;
    if (k == SHORT_NAMES) /* counted with the others, without a name */
        return count;
    if (k == count)
        programs[count++] = (struct short_program){.name = name};
    programs[k].ns += ns;
    programs[k].count++;
    return count;
}

enum err accounts_short(struct run *r, struct model_item *item)
{
    struct short_program programs[SHORT_NAMES];
    struct table last = {0};
    double all = 0;
    int n = 0, named = 0;
    char list[200] = "", text[400];
    json_blank(&record_model_item, item);
    if (!r->has_cpu)
        return ERR_OK;
    enum err e = accounts_of_processes(r, &last);
    for (size_t i = 0; i < r->accounts.count && e == ERR_OK; i++) {
        const struct account *a = &r->accounts.items[i];
        const struct cpu_moment *end = &a->at[TRACE_AT_END];
        const double ns = end->user + end->sys;
        if (a->pid == r->options->launch.pid || !end->known || end->left_out ||
            ns >= SHORT_CPU_NS || table_get(&last, table_mix((uint64_t)a->pid, 0)) != i)
            continue;
        all += ns;
        n++;
        named = short_programs_add(programs, named, a->name, ns);
    }
    table_free(&last);
    item->count = n;
    if (e != ERR_OK || n < SHORT_LEAST)
        return e;
    qsort(programs, (size_t)named, sizeof *programs, short_programs_most);
    for (int k = 0; k < named && k < SHORT_NAMED; k++)
        text_append(list, sizeof list, "%s%d of %.20s", k ? ", " : "", programs[k].count,
                    programs[k].name);
    snprintf(text, sizeof text,
             "%d processes took less than %g ms of CPU time each, %s s together: %s.", n,
             1e-6 * SHORT_CPU_NS, NUMBER(3, ns_to_seconds(all)), list);
    item->id = "short.processes";
    item->severity = "info";
    item->text = run_text(r, text);
    item->effect = "What such a process does before its first input or output is counted, and has "
                   "no lines.";
    return item->text ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the profile");
}

int account_lacks_lines(const struct model *m)
{
    const struct owner_program program = {.exe =
                                              m->processes_count ? m->processes[0].program : NULL};
    for (int i = 0; i < m->unattributed_count; i++) {
        const struct model_module *u = &m->unattributed[i];
        const struct owner_frame frame = {.module = u->module};
        if (u->module && *u->module != '[' && u->cpu.share > 0.005 &&
            frame_owner(&program, &frame) == OWNER_OWN)
            return 1;
    }
    return 0;
}

enum { SAMPLES_FEW = 100 }; /* below it, the error of a share of a half is above 5 % */

enum err sampling_few(struct run *r, struct model_item *item)
{
    char text[80];
    json_blank(&record_model_item, item);
    if (!(r->total.user + r->total.sys > 0) || r->total.samples >= SAMPLES_FEW)
        return ERR_OK;
    snprintf(text, sizeof text, "Only %lld CPU samples were taken.", (long long)r->total.samples);
    *item = (struct model_item){.id = "cpu.few",
                                .severity = "info",
                                .count = (int64_t)r->total.samples,
                                .share = (double)NAN,
                                .text = run_text(r, text),
                                .effect = "Shares of CPU time are rough.",
                                .fix = model_more_samples(r->m)};
    FAIL_IF(!item->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

/* Timers of CPU time fire at the kernel's tick: 250 times a second on most machines. */
enum err sampling_rate(struct run *r, struct model_item *item)
{
    const double cpu = ns_to_seconds(r->total.user + r->total.sys), tick = model_tick_hz(r->m),
                 asked = r->m->meta.cpu_hz;
    char text[160], effect[120];
    json_blank(&record_model_item, item);
    if (!(tick > 0 && asked > tick && cpu * tick >= SAMPLES_FEW / 2.0))
        return ERR_OK;
    const double had = (double)r->total.samples / cpu;
    if (had > 0.7 * asked)
        return ERR_OK;
    snprintf(text, sizeof text,
             "%.0f samples a second of CPU time were taken, %.0f were asked for.", had, asked);
    snprintf(effect, sizeof effect,
             "The kernel's timers of CPU time come %.0f times a second. Each sample stands for the "
             "time since the last.",
             tick);
    *item = (struct model_item){.id = "cpu.rate",
                                .severity = "info",
                                .count = (int64_t)lround(had),
                                .share = had / asked,
                                .text = run_text(r, text),
                                .effect = run_text(r, effect)};
    FAIL_IF(!item->text || !item->effect, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
