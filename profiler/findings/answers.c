/* The headline and the cards: compares what computes, what waits, imports and findings by the wall
 * time that each could save at most, and makes a sentence of each. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/advice/recipes.h"
#include "profiler/findings/answers.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"
#include "profiler/findings/rules.h"

enum { ENOUGH = QUIET_ENOUGH, ANSWERS_MAX = 6 };
#define SMALL 0.05 /* of the wall time: no card */
#define BLIND 0.1  /* of the CPU time in own code: below it own lines do not explain the run */
#define SOME  0.2
#define ALONE 0.5 /* of the time: a line that needs no other beside it */
#define NOBODYS                                                                                    \
    0.2 /* of the wall time: imports that no own line asks for, the interpreter's own  \
                     */
#define UNKNOWN ((double)NAN)

struct answer_list {
    struct model *m;
    const struct run_facts *facts;
    double wall, cpu, idle; /* idle: of the wall time, waiting for requests */
    VECTOR(struct model_answer) all;
};

static const char *answer_text(struct answer_list *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *answer_text(struct answer_list *t, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return arena_text(t->m->arena, text);
}

static struct model_answer answer_blank(const char *kind, const struct model_own *at)
{
    struct model_answer a;
    json_blank(&record_model_answer, &a);
    a.kind = kind;
    if (at) {
        a.file = at->file;
        a.line = at->line;
        a.function = at->function;
    }
    return a;
}

static enum err answers_add_cpu(struct answer_list *t)
{
    struct hotspots hot;
    char name[400];
    if (quiet_few(t->m))
        return ERR_OK;
    TRY(hotspots_find(t->m, HOTSPOTS_CPU, &hot));
    double own = 0, path = 0;
    for (int i = 0; i < hot.count; i++) {
        own += 1e-9 * hot.found[i].ns;
        path += hot.found[i].path_ns;
    }
    for (int i = 0; i < hot.count && own >= BLIND * t->cpu; i++) {
        const struct hotspot *s = &hot.found[i];
        double cost = 1e-9 * s->ns, share = cost / t->cpu;
        struct model_answer a = answer_blank("cpu", s->at);
        own_place_and_text(t->m, s->at, name);
        a.text = answer_text(t, "%s takes %.0f %% of the CPU time (%.3g of %.3g s).", name,
                             100 * share, cost, t->cpu);
        a.cost_s = cost;
        a.share = share;
        a.of = "CPU time";
        a.gain_s = path > 0 ? 1e-9 * s->path_ns : fmin(cost, t->wall);
        const struct recipe_line line = {s, hotspots_file(t->m, s->at->file),
                                         own_line_of(t->m, s->at->file, s->at->line)};
        TRY(recipes_apply(t->m, t->facts, &line, &a));
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

/* Joins branches into one sentence where none holds half of the time; NULL: one holds more. */
static const char *branches_text(struct answer_list *t)
{
    char text[600], name[300];
    int n = 0, joined = 0;
    const struct model_answer *first = NULL;
    for (size_t i = 0; i < t->all.count; i++) {
        const struct model_answer *a = &t->all.items[i];
        if (strcmp(a->kind, "cpu") || !a->text || joined == 3)
            continue;
        first = first ? first : a;
        if (first->share >= ALONE || a->share < first->share / 4)
            break;
        own_place(&(struct model_own){.file = a->file, .line = a->line, .function = a->function},
                  name);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.120s takes %.0f %%",
                      joined ? ", " : "The CPU time divides: ", name, 100 * a->share);
        joined++;
    }
    return joined > 1 ? answer_text(t, "%.500s of %.3g s.", text, t->cpu) : NULL;
}

/* A line at which threads wait for others to finish or to give them work: those are to be told,
 * where they wait for each other meanwhile. */
static int waits_for_work(const struct model *m, const struct model_own *at, double cost)
{
    if (!m->contention_count || !(m->contention[0].any_s >= ALONE * cost))
        return 0;
    for (int i = 0; i < m->locks_count && at->file; i++)
        if (m->locks[i].line == at->line && m->locks[i].file && m->locks[i].role &&
            !strcmp(m->locks[i].file, at->file) && !strcmp(m->locks[i].role, "work"))
            return at->waits_for && !strcmp(at->waits_for, "lock");
    return 0;
}

/* A line such as `asyncio.run(main())`, by its text: which coroutine waits could not be read. */
static int is_event_loop(const char *kind, const char *line)
{
    return !strcmp(kind, "events") &&
           (strstr(line, "asyncio.run(") || strstr(line, ".run_until_complete("));
}

static enum err answers_add_waits(struct answer_list *t)
{
    static const struct {
        const char *kind, *how, *advice;
    } ways[] = {
        {"sleep", "sleeps for", "Shorten the sleep, or wait for an event instead."},
        {"io", "waits for input or output for",
         "Read ahead in a thread, read larger blocks, or keep the data in memory."},
        {"events", "waits for events (a socket, a pipe, a timer) for",
         "Find out what it waits for, and start that earlier."},
        {"child", "waits for a child process for",
         "Start it earlier, let several run at a time, or do its work in this process."},
        {"lock", "waits for a lock or another thread for",
         "Hold the lock for a shorter time, or give each thread data of its own."},
    };
    static const char of_coroutines[] =
        "This line runs the event loop. Which coroutine waits could not be read: look at what its "
        "coroutines await, and start that earlier.";
    struct hotspots hot;
    char name[400], program[160];
    TRY(hotspots_find(t->m, HOTSPOTS_WAIT, &hot));
    if (!(1e-9 * hot.total_ns * t->m->meta.wait_hz >= ENOUGH))
        return ERR_OK;
    for (int i = 0; i < hot.count && i < 2; i++) {
        const struct hotspot *s = &hot.found[i];
        size_t way = 0;
        while (way + 1 < sizeof ways / sizeof *ways &&
               (!s->at->waits_for || strcmp(ways[way].kind, s->at->waits_for)))
            way++;
        if (waits_for_work(t->m, s->at, 1e-9 * s->ns) || !(s->at->file || s->at->function))
            continue;
        struct model_answer a = answer_blank("wait", s->at);
        own_place_and_text(t->m, s->at, name);
        a.cost_s = a.gain_s = 1e-9 * s->ns;
        a.share = a.cost_s / t->wall;
        a.of = "wall time";
        a.text = answer_text(t, "%s %s %.3g of the %.3g s that the program ran.", name,
                             ways[way].how, a.cost_s, t->wall);
        if (!strcmp(ways[way].kind, "child") && quiet_busiest(t->m, 1, program, sizeof program))
            a.text = answer_text(t, "%.400s %s.", a.text, program);
        a.advice = is_event_loop(ways[way].kind, name) ? of_coroutines : ways[way].advice;
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

/* Own line above node i; NULL: none. */
static const struct model_own *import_line(const struct model *m, int i)
{
    int up = m->own[i].parent;
    return up >= 0 && m->own[up].file ? &m->own[up] : NULL;
}

static enum err answers_add_imports(struct answer_list *t)
{
    const struct model *m = t->m;
    double all = 0, most = 0;
    const struct model_own *first = NULL;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        if (!o->kind || strcmp(o->kind, "import"))
            continue;
        double ns = (double)(o->path_cpu_ns > 0 ? o->path_cpu_ns : 0) +
                    (double)(o->path_wait_ns > 0 ? o->path_wait_ns : 0);
        all += ns;
        if (ns > most && import_line(m, i)) {
            most = ns;
            first = import_line(m, i);
        }
    }
    if (quiet_few(m) || !(all > 0))
        return ERR_OK;
    if (!first && 1e-9 * all < NOBODYS * t->wall)
        return ERR_OK;
    struct model_answer a = answer_blank("imports", first);
    char name[300] = "";
    if (first)
        own_place(first, name);
    a.cost_s = a.gain_s = 1e-9 * all;
    a.share = a.cost_s / t->wall;
    a.of = "wall time";
    a.text = answer_text(t, "Start-up takes %.3g of the %.3g s: Python imports modules%s%s%s.",
                         a.cost_s, t->wall, first ? ", most of them at " : "", name, "");
    a.advice = "Import inside of the functions that need it. `python -X importtime` lists every "
               "module; `tomoprof report --after imports` leaves this part out.";
    return vector_add(&t->all, a);
}

static enum err answers_add_gpu(struct answer_list *t)
{
    struct hotspots hot;
    const struct model_totals *g = &t->m->totals;
    char name[400];
    if (!(g->gpu_sum_s > 0))
        return ERR_OK;
    TRY(hotspots_find(t->m, HOTSPOTS_GPU, &hot));
    for (int i = 0; i < hot.count && i < 3; i++) {
        struct model_answer a = answer_blank("gpu", hot.found[i].at);
        own_place_and_text(t->m, hot.found[i].at, name);
        a.cost_s = 1e-9 * hot.found[i].ns;
        a.share = a.cost_s / g->gpu_sum_s;
        a.of = "GPU time";
        a.gain_s = fmin(t->wall, a.share * positive_or_0(g->gpu_busy_s));
        a.text = answer_text(t, "%s launches %.0f %% of the GPU's work (%.3g of %.3g s).", name,
                             100 * a.share, a.cost_s, g->gpu_sum_s);
        a.advice = "Give the device less work here, or faster kernels: the Kernels tab shows what "
                   "limits them.";
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

/* The kind of answer that a finding is, where it may come before lines; NULL: it is a card. */
static const char *finding_leads(const struct model_finding *f)
{
    const struct finding_rule *rule = finding_rule_find(f->id);
    return rule ? rule->leads : NULL;
}

/* Threads or ranks that wait for each other come before the lines in which they do. */
static enum err answers_add_leading(struct answer_list *t, const char *kind, double share,
                                    double cost_s)
{
    for (int i = 0; i < t->m->findings_count; i++) {
        const struct model_finding *f = &t->m->findings[i];
        const char *leads = finding_leads(f);
        const struct model_place *at = f->lines_count ? &f->lines[0] : NULL;
        if (!leads || strcmp(leads, kind))
            continue;
        struct model_answer a = answer_blank(kind, NULL);
        a.file = at ? at->file : NULL;
        a.line = at ? at->line : MODEL_UNKNOWN;
        a.cost_s = strcmp(kind, "lock") ? cost_s : at ? at->value : UNKNOWN;
        a.share = share;
        a.text = f->evidence;
        a.of = "wall time";
        a.gain_s = f->gain_s > 0 ? fmin(f->gain_s, t->wall) : f->gain_s;
        a.advice = f->advice;
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

static enum err answers_add_waits_for_others(struct answer_list *t)
{
    const struct model *m = t->m;
    const double late = m->mpi.size > 0 ? t->facts->ranks.late / (double)m->mpi.size : 0;
    TRY(answers_add_leading(
        t, "lock", m->contention_count ? m->contention[0].any_s / t->wall : UNKNOWN, UNKNOWN));
    return answers_add_leading(t, "ranks", m->mpi.wall_s > 0 ? late / m->mpi.wall_s : UNKNOWN,
                               late);
}

static int has_line(const struct answer_list *t, const char *file, int64_t line)
{
    for (size_t i = 0; i < t->all.count && file; i++)
        if (t->all.items[i].file && !strcmp(t->all.items[i].file, file) &&
            t->all.items[i].line == line)
            return 1;
    return 0;
}

/* The own line that it is about most, else the first line; NULL: none. */
static const struct model_place *finding_own_line(const struct model *m,
                                                  const struct model_finding *f)
{
    for (int i = 0; i < f->lines_count; i++) {
        const struct model_file *file = hotspots_file(m, f->lines[i].file);
        if (file && file->user)
            return &f->lines[i];
    }
    return f->lines_count ? &f->lines[0] : NULL;
}

static enum err answers_add_findings(struct answer_list *t)
{
    for (int i = 0; i < t->m->findings_count; i++) {
        const struct model_finding *f = &t->m->findings[i];
        const struct model_place *at = finding_own_line(t->m, f);
        if (!(f->gain_s > 0) || finding_leads(f) || (at && has_line(t, at->file, at->line)))
            continue;
        struct model_answer a = answer_blank("finding", NULL);
        if (at) {
            a.file = at->file;
            a.line = at->line;
        }
        a.text = answer_text(t, "%s: %.400s", f->title, f->evidence);
        a.cost_s = UNKNOWN;
        a.gain_s = fmin(f->gain_s, t->wall);
        a.advice = f->advice;
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

/* Adds the line that took most itself, of a run that own code explains little. */
static enum err answers_add_library_line(struct answer_list *t)
{
    const struct model *m = t->m;
    const struct model_line *line = NULL;
    const struct model_file *file = NULL;
    double most = 0;
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *l = &m->files[f].lines[i];
            double cost = positive_or_0(l->cpu.user) + positive_or_0(l->cpu.sys);
            if (cost <= most)
                continue;
            most = cost;
            line = l;
            file = &m->files[f];
        }
    if (quiet_few(m) || !(most > SMALL * t->cpu))
        return ERR_OK;
    struct model_answer a = answer_blank("cpu", NULL);
    a.file = file->path;
    a.line = line->line;
    a.cost_s = most;
    a.share = most / t->cpu;
    a.of = "CPU time";
    a.gain_s = fmin(most, t->wall);
    a.text = answer_text(t,
                         "%.200s:%lld takes %.0f %% of the CPU time (%.3g of %.3g s). It is "
                         "a library's line: the program's own lines took little time.",
                         file->path, (long long)line->line, 100 * a.share, most, t->cpu);
    a.advice = "Call it less often, or with less data.";
    return vector_add(&t->all, a);
}

static int answer_most_first(const void *a, const void *b)
{
    const struct model_answer *x = a, *y = b;
    double p = isfinite(x->gain_s) ? x->gain_s : -1, q = isfinite(y->gain_s) ? y->gain_s : -1;
    if (p < q || p > q)
        return p < q ? 1 : -1;
    return positive_or_0(x->share) < positive_or_0(y->share) ? 1 : -1;
}

/* The GPU's line leads where the GPU worked for most of the run, and no finding goes first. */
static int answer_leads(const struct answer_list *t, const struct model_answer *a)
{
    int busy = t->m->totals.gpu_busy_s >= ALONE * t->wall;
    return strcmp(a->kind, "finding") && (!busy || !strcmp(a->kind, "gpu"));
}

/* Threads that wait for each other for most of the run, ranks for a good part of it: their lines
 * cannot be understood alone. */
static int answer_serialises(const struct answer_list *t, const struct model_answer *a)
{
    const double least = !strcmp(a->kind, "lock") ? ALONE : !strcmp(a->kind, "ranks") ? SOME : 2;
    return a->share >= least && a->gain_s > SMALL * t->wall;
}

static enum err answers_arrange(struct answer_list *t)
{
    size_t n = 0;
    vector_sort(&t->all, answer_most_first);
    while (n < t->all.count && !answer_serialises(t, &t->all.items[n]))
        n++;
    for (n = n < t->all.count ? n : 0; n < t->all.count && !answer_leads(t, &t->all.items[n]);)
        n++;
    const double least = SMALL * (t->wall - t->idle);
    int found = n < t->all.count && t->all.items[n].gain_s > least;
    if (found && t->idle >= ALONE * t->wall && !strcmp(t->all.items[n].kind, "imports"))
        found = 0; /* its start-up is not what a server is about */
    if (!found) {
        struct model_answer quiet;
        TRY(t->idle > 0 ? quiet_idle(t->m, &quiet) : quiet_too_few(t->m, &quiet));
        n = t->all.count;
        TRY(vector_add(&t->all, quiet));
    }
    struct model_answer first = t->all.items[n];
    memmove(&t->all.items[1], &t->all.items[0], n * sizeof first);
    t->all.items[0] = first;
    n = 1;
    while (n < t->all.count && n < ANSWERS_MAX && t->all.items[n].gain_s > least)
        n++;
    TRY(model_list(t->m, model_answer, t->m, answers, n));
    array_copy(t->m->answers, t->all.items, n, sizeof first);
    return ERR_OK;
}

/* Wall time against which gains are held. Without a critical path, as in captures without moments
 * or without a main thread, gains are CPU time, and so is what they are compared with. */
static double gain_wall(const struct run_facts *f)
{
    double path = 0;
    for (int i = 0; i < f->m->own_count; i++)
        path += positive_or_0((double)f->m->own[i].path_cpu_ns) +
                positive_or_0((double)f->m->own[i].path_wait_ns);
    if (!isfinite(f->wall))
        return f->cpu;
    return path > 0 || !(f->cpu > 0) ? f->wall : fmin(f->cpu, f->wall);
}

enum err answers_add(struct model *m, const struct run_facts *facts)
{
    static enum err (*const parts[])(struct answer_list *) = {
        answers_add_waits_for_others, answers_add_cpu,     answers_add_gpu, answers_add_waits,
        answers_add_imports,          answers_add_findings};
    struct answer_list t = {.m = m,
                            .facts = facts,
                            .wall = gain_wall(facts),
                            .cpu = facts->cpu,
                            .idle = quiet_idle_s(m)};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && e == ERR_OK; i++)
        e = parts[i](&t);
    size_t lines = 0;
    for (size_t i = 0; i < t.all.count; i++)
        lines += strcmp(t.all.items[i].kind, "finding") != 0;
    if (e == ERR_OK && !lines && t.idle < ALONE * t.wall)
        e = answers_add_library_line(&t);
    const char *divided = branches_text(&t);
    if (e == ERR_OK)
        e = answers_arrange(&t);
    if (e == ERR_OK)
        m->headline = divided && !strcmp(m->answers[0].kind, "cpu") ? divided : m->answers[0].text;
    vector_free(&t.all);
    return e ? e : failed_lead(m);
}
