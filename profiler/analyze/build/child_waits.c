/* Finds which programs a process had started and ran while one of its lines waited. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/build/build.h"

#define STARTS_NS 5000000 /* a process that starts or ends: longer only without a CPU */
#define AS_LONG   0.9     /* of the longest: parts of a pipe, of which one computes */

static int is_alive(const struct model_process *p, double t_s)
{
    return p->start_s <= t_s && t_s < p->end_s;
}

/* 1: `by` or one of its children started the process. */
static int is_descendant(const struct run *r, const struct model_process *p, int64_t by)
{
    for (int depth = 0; depth < 16 && p && p->parent > 0; depth++) {
        const struct model_process *parent = NULL;
        if (p->parent == by)
            return 1;
        for (size_t i = 0; i < r->processes.count && !parent; i++)
            parent = r->processes.items[i].pid == p->parent ? &r->processes.items[i] : NULL;
        p = parent;
    }
    return 0;
}

static int has_living_child(const struct run *r, int64_t pid, double t_s)
{
    for (size_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i].parent == pid && is_alive(&r->processes.items[i], t_s))
            return 1;
    return 0;
}

/* 1: it starts before `until` and its parent waits for no other now: it may be in the run queue, on its way
 * to its first step. */
static int child_starts(const struct run *r, const struct model_process *p, double t_s,
                        uint64_t until)
{
    return 1e9 * p->start_s <= (double)until && !has_living_child(r, p->parent, t_s);
}

int child_waits_ready(const struct run *r, const struct moment_of *root, uint64_t t,
                      const size_t *active, size_t count)
{
    double since = root ? (double)root->start : 0;
    for (size_t p = 0; p < r->processes.count; p++)
        if (1e9 * r->processes.items[p].end_s <= (double)t)
            since = fmax(since, 1e9 * r->processes.items[p].end_s);
    if (!root || root->waits != WAITS_CHILD || (double)t < since + STARTS_NS)
        return 0;
    for (size_t p = 0; p < r->processes.count; p++) {
        const struct model_process *child = &r->processes.items[p];
        const double start = 1e9 * child->start_s, end = 1e9 * child->end_s;
        int known = (int)p == root->process || !(end > (double)t);
        if (start > (double)t)
            known |= !child_starts(r, child, 1e-9 * (double)t, root->end);
        else
            known |= (double)t < start + STARTS_NS;
        for (size_t i = 0; i < count && !known; i++)
            known = r->moments.items[active[i]].process == (int)p;
        if (!known)
            return 1;
    }
    return 0;
}

/* 1: it runs what the process that made it runs: a worker of a pool. */
static int is_same_program(const struct run *r, const struct model_process *p)
{
    for (size_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i].pid == p->parent && r->processes.items[i].program &&
            !strcmp(r->processes.items[i].program, p->program))
            return 1;
    return 0;
}

void child_waits_foreign(const struct run *r, char *foreign)
{
    for (size_t i = 1; i < r->processes.count; i++)
        foreign[i] = r->processes.items[i].program && !is_same_program(r, &r->processes.items[i]);
    for (size_t i = 0; i < r->moments.count; i++)
        if (!strcmp(r->own.items[r->moments.items[i].own].kind, "code"))
            foreign[r->moments.items[i].process] = 0;
}

enum err child_waits_add(struct run *r, uint32_t own, int process, double t_s, double ns)
{
    const int64_t by = r->processes.items[process].pid;
    for (size_t i = 0; i < r->processes.count; i++) {
        const struct model_process *p = &r->processes.items[i];
        if (!p->program || !is_alive(p, t_s) || !is_descendant(r, p, by) ||
            has_living_child(r, p->pid, t_s))
            continue;
        size_t k = 0;
        while (k < r->child_waits.count && (r->child_waits.items[k].own != own ||
                                            strcmp(r->child_waits.items[k].program, p->program)))
            k++;
        if (k == r->child_waits.count)
            TRY(vector_add(&r->child_waits, ((struct child_wait){own, p->program, 0})));
        r->child_waits.items[k].ns += ns;
    }
    return ERR_OK;
}

static double program_cpu_s(const struct run *r, const char *program)
{
    double s = 0;
    for (size_t i = 0; i < r->processes.count; i++) {
        const struct model_process *p = &r->processes.items[i];
        s += p->program && p->cpu_s > 0 && !strcmp(p->program, program) ? p->cpu_s : 0;
    }
    return s;
}

const char *child_waits_program(const struct run *r, uint32_t own)
{
    const struct child_wait *best = NULL;
    double longest = 0;
    for (size_t i = 0; i < r->child_waits.count; i++)
        if (r->child_waits.items[i].own == own && r->child_waits.items[i].ns > longest)
            longest = r->child_waits.items[i].ns;
    for (size_t i = 0; i < r->child_waits.count; i++) {
        const struct child_wait *w = &r->child_waits.items[i];
        if (w->own == own && w->ns >= AS_LONG * longest &&
            (!best || program_cpu_s(r, w->program) > program_cpu_s(r, best->program)))
            best = w;
    }
    return best ? best->program : NULL;
}
