/* Sums of kinds of work that begin with "compile.", and of compilers that the program started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/advice/compile.h"
#include "profiler/findings/advice/recipes.h"

#define MUCH 0.1 /* of the CPU time: less is not told */
enum { RUNTIMES = 8 };

struct compile_sum {
    const char *kind, *what;
    double ns;
};
struct compile_sums {
    struct compile_sum all[RUNTIMES];
    int count;
    double ns, path_ns; /* path_ns: part of the wall time */
    int processes;      /* counted; calls of compilers inside of a process are not, only sampled */
};

static void compile_add(struct compile_sums *s, const char *kind, const char *what, double ns)
{
    int at = 0;
    s->ns += ns;
    while (at < s->count && strcmp(s->all[at].kind, kind))
        at++;
    if (at == RUNTIMES)
        return;
    if (at == s->count)
        s->all[s->count++] = (struct compile_sum){kind, what, 0};
    s->all[at].ns += ns;
    for (; at > 0 && s->all[at].ns > s->all[at - 1].ns; at--) {
        struct compile_sum x = s->all[at];
        s->all[at] = s->all[at - 1];
        s->all[at - 1] = x;
    }
}

static int is_python(const struct model_process *p)
{
    return p->program && text_begins(base_name(p->program), "python");
}

/* Compilers that Python started: torch.compile's, those of extensions. Builds are not Python's. */
static void compile_add_processes(const struct model *m, struct compile_sums *s)
{
    static const char *const names[] = {"cc1",  "cc1plus",  "ld",    "as",      "collect2", "ptxas",
                                        "cicc", "cudafe++", "clang", "clang++", "rustc"};
    for (int i = 1; i < m->processes_count && is_python(&m->processes[0]); i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (m->processes[i].program && m->processes[i].cpu_s > 0 &&
                !strcmp(base_name(m->processes[i].program), names[k])) {
                compile_add(s, "compile.c", "compiling (C++)", 1e9 * m->processes[i].cpu_s);
                s->processes++;
            }
}

static double node_cpu(const struct model *m, int node)
{
    double ns = 0;
    for (int i = 0; i < m->works_count; i++)
        ns += m->works[i].own == node ? (double)m->works[i].cpu_ns : 0;
    return ns;
}

/* Adds up compilation by node of own code; returns the line that has most, NULL none. */
static const struct model_own *compile_add_works(const struct model *m, struct compile_sums *s,
                                                 double *by_node, double *line_ns)
{
    const struct model_own *best = NULL;
    for (int i = 0; i < m->works_count; i++) {
        const struct model_work *w = &m->works[i];
        if (!w->kind || !text_begins(w->kind, "compile.") || w->own < 0 || w->own >= m->own_count)
            continue;
        compile_add(s, w->kind, w->what, (double)w->cpu_ns);
        by_node[w->own] += (double)w->cpu_ns;
    }
    *line_ns = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        double at_line = 0, all = by_node[i] > 0 ? node_cpu(m, i) : 0;
        if (all > 0)
            s->path_ns += positive_or_0((double)o->path_cpu_ns) * fmin(1, by_node[i] / all);
        for (int k = 0; k < m->own_count && by_node[i] > 0 && o->file; k++)
            if (m->own[k].file && !strcmp(m->own[k].file, o->file) && m->own[k].line == o->line)
                at_line += by_node[k];
        if (at_line > *line_ns) {
            *line_ns = at_line;
            best = o;
        }
    }
    return best;
}

/* "XLA, numba": what the parentheses of the words hold. */
static void compile_names(const struct compile_sums *s, char *out, size_t room)
{
    *out = 0;
    for (int i = 0; i < s->count; i++) {
        const char *open = strchr(s->all[i].what, '(');
        if (open && (!i || s->all[i].ns >= MUCH * s->ns))
            text_append(out, room, "%s%.*s", i ? ", " : "", (int)strcspn(open + 1, ")"), open + 1);
    }
}

enum err compile_answer(struct model *m, const struct run_facts *facts, struct model_answer *out,
                        double *line_s)
{
    struct compile_sums sums = {.count = 0};
    char names[120], text[500], where[300] = "", count[60] = "";
    json_blank(&record_model_answer, out);
    double *by_node = calloc((size_t)m->own_count + 1, sizeof *by_node), line_ns;
    FAIL_IF(!by_node, ERR_MEMORY, "no memory for the sums of compilation");
    const struct model_own *at = compile_add_works(m, &sums, by_node, &line_ns);
    free(by_node);
    compile_add_processes(m, &sums);
    *line_s = 1e-9 * line_ns;
    if (!(sums.ns > 0) || !(1e-9 * sums.ns >= MUCH * facts->cpu))
        return ERR_OK;
    out->kind = "compile";
    if (at) {
        out->file = at->file;
        out->line = at->line;
        out->function = at->function;
        snprintf(where, sizeof where, ", most of it at %.200s:%lld", at->file, (long long)at->line);
    }
    out->cost_s = 1e-9 * sums.ns;
    out->share = out->cost_s / facts->cpu;
    out->of = "CPU time";
    out->gain_s = fmin(facts->wall, sums.path_ns > 0 ? 1e-9 * sums.path_ns : out->cost_s);
    out->advice = recipe_of_kind(sums.all[0].kind);
    compile_names(&sums, names, sizeof names);
    if (sums.processes > 0)
        snprintf(count, sizeof count, ", in %d process%s of compilers", sums.processes,
                 sums.processes == 1 ? "" : "es");
    snprintf(text, sizeof text, "Compiling (%s) took %s of %s s of CPU time%s%s.", names,
             NUMBER(3, out->cost_s), NUMBER(3, facts->cpu), count, where);
    out->text = arena_text(m->arena, text);
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
