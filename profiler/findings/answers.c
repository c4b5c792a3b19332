/* The headline and the cards: compares what computes, what waits, imports and findings by the part
 * of the run's own time that each could save at most, and makes a sentence of each. Own time is wall
 * time without waiting for a CPU, which depends on the neighbours. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/advice/compile.h"
#include "profiler/findings/advice/recipe.h"
#include "profiler/findings/advice/recipes.h"
#include "profiler/findings/advice/waits.h"
#include "profiler/findings/answers.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"
#include "profiler/findings/rules.h"

/* LOOKS: at waits, by which the place of one is known; the kernel tells how long it was. */
enum { LOOKS = 5, ANSWERS_MAX = 6 };
#define SMALL   0.05 /* of the own time: no card */
#define BLIND   0.1  /* of the CPU time in own code: below it own lines do not explain the run */
#define SOME    0.2
#define TENTH   0.1
#define ALONE   0.5  /* of the time: a line that needs no other beside it */
#define MOSTLY  0.8  /* of the compilation: its line tells it */
#define THIRD   0.3  /* of what the largest saves: less does not lead */
#define QUARTER 0.25 /* of the waits for a lock: who held it for less does not explain them */
#define EQUAL   0.7  /* of the largest: it does not lead alone */
#define UNKNOWN ((double)NAN)
#define FELT    0.05 /* s: one waiting turn on a busy machine is as long */

struct answer_list {
    struct model *m;
    const struct run_facts *facts;
    double own, cpu;     /* own: the wall time without waiting for a CPU */
    double idle;         /* of the own time, waiting for requests */
    const char *divided; /* a sentence of the lines that share the CPU time; NULL: one leads */
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

/* Joins branches into one sentence where none holds half of the time. */
static const char *branches_text(struct answer_list *t, const struct hotspots *hot)
{
    static const char *const counts[] = {"", "", "Two", "Three", "Four"};
    char text[600], name[400];
    const double first = hot->count ? 1e-9 * hot->found[0].ns : 0;
    double all = 0;
    int n = 0, k = 0, functions = 0;
    while (k < hot->count && k < 4 && 4e-9 * hot->found[k].ns >= first) {
        all += 1e-9 * hot->found[k].ns;
        functions += hot->found[k].of_function || !hot->found[k].at->file;
        k++;
    }
    if (k < 2 || (first >= ALONE * t->cpu && 1e-9 * hot->found[1].ns < EQUAL * first))
        return NULL;
    const char *what = !functions ? "lines" : functions == k ? "functions" : "places";
    n = all >= ALONE * t->cpu
            ? snprintf(text, sizeof text, "%s %s use most of the CPU time:", counts[k], what)
            : snprintf(text, sizeof text, "The %s with most CPU time are", what);
    for (int i = 0; i < k; i++) {
        hotspot_name(&hot->found[i], name);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %.100s (%.0f %%)",
                      !i           ? ""
                      : i + 1 == k ? " and"
                                   : ",",
                      name, 100 * 1e-9 * hot->found[i].ns / t->cpu);
    }
    return answer_text(t, "%.500s of %s.", text,
                       model_cpu_text(t->m, t->cpu, (char[MODEL_PART]){0}));
}

/* A profile in which many lines take a little each. */
static enum err answers_add_flat(struct answer_list *t, const struct hotspots *hot)
{
    struct model_answer a = answer_blank("cpu", hot->largest.at);
    char name[300];
    own_place(hot->largest.at, name);
    a.cost_s = 1e-9 * hot->shared_ns;
    a.share = a.cost_s / t->cpu;
    a.of = "CPU time";
    a.gain_s = fmin(a.cost_s, t->own);
    a.text = answer_text(t,
                         "No line dominates: the largest is %s with %.0f %%; %d lines share "
                         "%.0f %% of %s of CPU time.",
                         name, 1e-7 * hot->largest.ns / t->cpu, hot->lines, 100 * a.share,
                         model_cpu_text(t->m, t->cpu, (char[MODEL_PART]){0}));
    a.advice = "Look for what these lines have in common: who calls them, how often, and on how "
               "much data. The Calls tab lists the callers.";
    t->divided = a.text;
    return vector_add(&t->all, a);
}

static enum err answers_add_cpu(struct answer_list *t)
{
    struct hotspots hot;
    char name[400];
    if (quiet_few(t->m))
        return ERR_OK;
    TRY(hotspots_find(t->m, HOTSPOTS_CPU, &hot));
    double path = 0, own = hot.flat ? hot.shared_ns : 0;
    for (int i = 0; i < hot.count; i++) {
        own += hot.flat ? 0 : hot.found[i].ns;
        path += hot.found[i].path_ns;
    }
    if (!(own > 0) || !(1e-9 * own >= BLIND * t->cpu))
        return ERR_OK;
    if (hot.flat)
        TRY(answers_add_flat(t, &hot));
    else
        t->divided = branches_text(t, &hot);
    for (int i = 0; i < hot.count; i++) {
        const struct hotspot *s = &hot.found[i];
        double cost = 1e-9 * s->ns, share = cost / t->cpu;
        struct model_answer a = answer_blank("cpu", s->at);
        if (s->of_function)
            hotspot_name(s, name);
        else
            own_place_and_text(t->m, s->at, name);
        a.text = answer_text(t, "%s takes %.0f %% of the CPU time (%s).", name, 100 * share,
                             model_cpu_part(t->m, cost, t->cpu, (char[MODEL_PART]){0}));
        a.cost_s = cost;
        a.share = share;
        a.of = "CPU time";
        a.gain_s = path > 0 ? 1e-9 * s->path_ns : fmin(cost, t->own);
        const struct recipe_line line = {s, hotspots_file(t->m, s->at->file),
                                         own_line_of(t->m, s->at->file, s->at->line)};
        TRY(recipes_apply(t->m, t->facts, &line, &a));
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

/* Names what the total of a sentence leaves out, where it is much. */
static const char *without_queue(const struct answer_list *t)
{
    return t->facts->busy ? ", waiting for a CPU left out" : "";
}

static enum err answers_add_waits(struct answer_list *t)
{
    struct hotspots hot;
    char name[400], waits[200];
    TRY(hotspots_find(t->m, HOTSPOTS_WAIT, &hot));
    if (!(1e-9 * hot.total_ns * t->m->meta.wait_hz >= LOOKS))
        return ERR_OK;
    for (int i = 0; i < hot.count && i < 2; i++) {
        const struct hotspot *s = &hot.found[i];
        if (waits_for_work(t->m, s->at, 1e-9 * s->ns) || !(s->at->file || s->at->function))
            continue;
        struct model_answer a = answer_blank("wait", s->at);
        own_place_and_text(t->m, s->at, name);
        a.cost_s = a.gain_s = 1e-9 * s->ns;
        a.share = a.cost_s / t->own;
        a.of = "own time";
        const char *kind = waits_words(t->m, s->at, waits, sizeof waits);
        a.text = answer_text(t, "%s %s for %s of the %s s that the program ran%s.", name, waits,
                             NUMBER(3, a.cost_s), NUMBER(3, t->own), without_queue(t));
        const struct model_line *line = own_line_of(t->m, s->at->file, s->at->line);
        a.advice = recipe_of_wait(kind, line ? line->text : NULL);
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

static enum err answers_add_imports(struct answer_list *t)
{
    struct model_answer found[2];
    int n = 0;
    TRY(quiet_imports(t->m, t->own, without_queue(t), found, &n));
    for (int i = 0; i < n; i++)
        TRY(vector_add(&t->all, found[i]));
    return ERR_OK;
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
        a.gain_s = fmin(t->own, a.share * positive_or_0(g->gpu_busy_s));
        a.text = answer_text(t, "%s launches %.0f %% of the GPU's work (%s of %s s).", name,
                             100 * a.share, NUMBER(3, a.cost_s), NUMBER(3, g->gpu_sum_s));
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

static int file_is_own(const struct model *m, const char *path)
{
    const struct model_file *file = hotspots_file(m, path);
    return file && file->user;
}

/* 1: the line that is named as the holder explains a good part of the waits, or none is named. */
static int lock_is_explained(const struct answer_list *t, const struct model_answer *a)
{
    const struct lock_facts *k = &t->facts->lock;
    return strcmp(a->kind, "lock") || !k->holder || k->holder_s >= QUARTER * k->wait;
}

/* The GIL in threads of libraries does not belong to a line of the program. */
static int lock_is_foreign(const struct answer_list *t, const struct model_answer *a)
{
    return !strcmp(a->kind, "lock") && a->file && !file_is_own(t->m, a->file);
}

/* Threads or ranks that wait for each other come before the lines in which they do. */
static enum err answers_add_leading(struct answer_list *t, const char *kind, double share,
                                    double cost_s, double quiet)
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
        a.cost_s = isfinite(cost_s) ? cost_s : at ? at->value : UNKNOWN;
        a.share = strcmp(kind, "threads") ? share : fmin(1, f->gain_s / t->own);
        a.text = f->evidence;
        a.of = strcmp(kind, "ranks") ? "own time" : "wall time";
        a.gain_s = f->gain_s * quiet; /* who waits for a CPU lengthens the waits of others */
        a.advice = f->advice;
        if (!lock_is_foreign(t, &a) || lock_is_explained(t, &a))
            TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

static enum err answers_add_waits_for_others(struct answer_list *t)
{
    const struct model *m = t->m;
    const double late = m->mpi.size > 0 ? t->facts->ranks.late / (double)m->mpi.size : 0;
    const double quiet = t->facts->lock.c ? t->facts->lock.quiet : 1;
    const double any = m->contention_count ? quiet * m->contention[0].any_s / t->own : UNKNOWN;
    TRY(answers_add_leading(t, "lock", fmin(1, any), UNKNOWN, 1));
    TRY(answers_add_leading(t, "threads", UNKNOWN, UNKNOWN, 1));
    return answers_add_leading(t, "ranks", m->mpi.wall_s > 0 ? late / m->mpi.wall_s : UNKNOWN, late,
                               t->facts->wall > 0 ? t->own / t->facts->wall : 1);
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
    for (int i = 0; i < f->lines_count; i++)
        if (file_is_own(m, f->lines[i].file))
            return &f->lines[i];
    return f->lines_count ? &f->lines[0] : NULL;
}

/* 1: an own line that most of the finding is about. */
static int place_is_most(const struct model *m, const struct model_finding *f,
                         const struct model_place *at)
{
    double all = 0;
    for (int i = 0; i < f->lines_count; i++)
        all += positive_or_0(f->lines[i].value);
    return at && file_is_own(m, at->file) && positive_or_0(at->value) >= ALONE * all;
}

/* Adds compilation, unless one line has most of it and tells so itself. */
static enum err answers_add_compilation(struct answer_list *t)
{
    struct model_answer a;
    double line_s;
    TRY(compile_answer(t->m, t->facts, &a, &line_s));
    if (!a.kind || (line_s >= MOSTLY * a.cost_s && has_line(t, a.file, a.line)))
        return ERR_OK;
    return vector_add(&t->all, a);
}

static enum err answers_add_findings(struct answer_list *t)
{
    for (int i = 0; i < t->m->findings_count; i++) {
        const struct model_finding *f = &t->m->findings[i];
        const struct model_place *at = finding_own_line(t->m, f);
        if (!(f->gain_s >= FELT) || finding_leads(f) || (at && has_line(t, at->file, at->line)))
            continue;
        struct model_answer a = answer_blank("finding", NULL);
        char where[300] = "";
        a.file = at ? at->file : NULL;
        a.line = at ? at->line : a.line;
        if (place_is_most(t->m, f, at))
            snprintf(where, sizeof where, " (%.200s:%lld)", at->file, (long long)at->line);
        a.text = answer_text(t, "%s%s: %.400s", f->title, where, f->evidence);
        a.cost_s = UNKNOWN;
        a.gain_s = fmin(f->gain_s, t->own);
        a.advice = f->advice;
        TRY(vector_add(&t->all, a));
    }
    return ERR_OK;
}

static enum err answers_add_library_line(struct answer_list *t)
{
    struct model_answer a;
    int found = 0;
    TRY(quiet_library_line(t->m, t->cpu, t->own, &a, &found));
    return found ? vector_add(&t->all, a) : ERR_OK;
}

static int answer_most_first(const void *a, const void *b)
{
    const struct model_answer *x = a, *y = b;
    double p = isfinite(x->gain_s) ? x->gain_s : -1, q = isfinite(y->gain_s) ? y->gain_s : -1;
    if (p < q || p > q)
        return p < q ? 1 : -1;
    return positive_or_0(x->share) < positive_or_0(y->share) ? 1 : -1;
}

/* The start-up leads where it is most of a long run, or nothing else is a good part of it. */
static int imports_lead(const struct answer_list *t, const struct model_answer *a)
{
    double other = 0;
    for (size_t i = 0; i < t->all.count; i++)
        if (!quiet_is_start(&t->all.items[i]) && strcmp(t->all.items[i].kind, "finding"))
            other = fmax(other, positive_or_0(t->all.items[i].gain_s));
    return (a->gain_s > ALONE * t->own && t->own > QUIET_LONG) || other < TENTH * t->own;
}

/* The GPU's line leads where the GPU worked for most of the run, and no finding goes first. */
static int answer_leads(const struct answer_list *t, const struct model_answer *a)
{
    int busy = t->m->totals.gpu_busy_s >= ALONE * t->own;
    return strcmp(a->kind, "finding") && !lock_is_foreign(t, a) &&
           (!busy || !strcmp(a->kind, "gpu")) && (!quiet_is_start(a) || imports_lead(t, a));
}

/* 1: a line of the answer's function, or one that calls it, held a lock that others waited for. */
static int is_under_lock(const struct answer_list *t, const struct model_answer *a)
{
    for (int i = 0; i < t->m->own_count && a->file; i++) {
        const struct model_own *o = &t->m->own[i];
        if (o->file && !strcmp(o->file, a->file) && o->function && a->function &&
            !strcmp(o->function, a->function) && recipe_holds_lock(t->facts, o) == FACT_HOLDS_LOCK)
            return 1;
    }
    return 0;
}

/* 1: so is the line that takes most. */
static int largest_is_under_lock(const struct answer_list *t)
{
    size_t i = 0;
    while (i + 1 < t->all.count && !strcmp(t->all.items[i].kind, "finding"))
        i++;
    return is_under_lock(t, &t->all.items[i]);
}

/* Threads that wait for each other for most of the run, ranks for a good part of it: their lines
 * cannot be understood alone. What could be saved most is less than the line under the lock takes. */
static int answer_serialises(const struct answer_list *t, const struct model_answer *a)
{
    const double least = !strcmp(a->kind, "lock") || !strcmp(a->kind, "threads") ? ALONE
                         : !strcmp(a->kind, "ranks")                             ? SOME
                                                                                 : 2;
    return a->share >= least && a->gain_s > TENTH * t->own &&
           (a->gain_s > THIRD * t->all.items[0].gain_s || largest_is_under_lock(t)) &&
           !lock_is_foreign(t, a) && lock_is_explained(t, a);
}

/* Compilation that is most of the CPU time names the cause, which its many lines do not. */
static int answer_compiles(const struct answer_list *t, const struct model_answer *a)
{
    return !strcmp(a->kind, "compile") && a->share >= ALONE &&
           a->gain_s >= ALONE * t->all.items[0].gain_s;
}

/* Finds the answer that becomes the headline; the number of answers: there is none. */
static size_t answers_first(const struct answer_list *t, double least)
{
    const size_t count = t->all.count;
    size_t n = 0, finding = 0;
    while (n < count && !answer_serialises(t, &t->all.items[n]) &&
           !answer_compiles(t, &t->all.items[n]))
        n++;
    for (size_t i = 0; i < n && n < count; i++) /* a longer wait that no lock explains */
        n = strcmp(t->all.items[i].kind, "wait") || is_under_lock(t, &t->all.items[i]) ? n : count;
    for (n = n < count ? n : 0; n < count && !answer_leads(t, &t->all.items[n]);)
        n++;
    const int leads = n < count && t->all.items[n].gain_s > least &&
                      !(t->idle >= ALONE * t->own && quiet_is_start(&t->all.items[n]));
    const struct model_answer *a = leads ? &t->all.items[n] : NULL;
    if (a && (strcmp(a->kind, "cpu") || a->file || a->function)) /* else code without a name */
        return n;
    while (finding < count && strcmp(t->all.items[finding].kind, "finding"))
        finding++;
    return finding < count && t->idle < ALONE * t->own &&
                   t->all.items[finding].gain_s > SOME * t->own
               ? finding
           : leads ? n
                   : count;
}

static enum err answers_arrange(struct answer_list *t)
{
    const double least = SMALL * (t->own - t->idle);
    vector_sort(&t->all, answer_most_first);
    size_t n = answers_first(t, least);
    if (n == t->all.count) {
        struct model_answer quiet;
        TRY(t->idle > 0 ? quiet_idle(t->m, &quiet) : quiet_too_few(t->m, &quiet));
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

enum err answers_add(struct model *m, const struct run_facts *facts)
{
    static enum err (*const parts[])(struct answer_list *) = {answers_add_waits_for_others,
                                                              answers_add_cpu,
                                                              answers_add_gpu,
                                                              answers_add_waits,
                                                              answers_add_imports,
                                                              answers_add_compilation,
                                                              answers_add_findings};
    struct answer_list t = {
        .m = m, .facts = facts, .own = facts->own, .cpu = facts->cpu, .idle = quiet_idle_s(m)};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && e == ERR_OK; i++)
        e = parts[i](&t);
    size_t lines = 0;
    for (size_t i = 0; i < t.all.count; i++)
        lines += strcmp(t.all.items[i].kind, "finding") != 0;
    if (e == ERR_OK && !lines && t.idle < ALONE * t.own)
        e = answers_add_library_line(&t);
    if (e == ERR_OK)
        e = answers_arrange(&t);
    if (e == ERR_OK)
        m->headline =
            t.divided && !strcmp(m->answers[0].kind, "cpu") ? t.divided : m->answers[0].text;
    vector_free(&t.all);
    return e ? e : failed_lead(m);
}
