/* Rules about the memory and the CPU time of the host. */
#include <string.h>

#include "base/text.h"
#include "profiler/findings/quiet.h"
#include "profiler/findings/rules.h"

static double line_allocated(const struct model_line *l)
{
    return l->mem.alloc_mb;
}

int rule_mem_churn(const struct run_facts *f, struct finding *out)
{
    const struct model_totals *t = &f->m->totals;
    if (!(t->alloc_mb > CHURN_TIMES * t->peak_heap_mb) || !(t->alloc_mb > CHURN_MIB))
        return 0;
    finding_gain(out, (double)NAN, (double)NAN, "low");
    finding_evidence(out, "%.0f MiB were allocated in all, at most %.0f MiB live at once.",
                     t->alloc_mb, t->peak_heap_mb);
    finding_lines_by(out, f->m, line_allocated);
    return 1;
}

int rule_mem_leak(const struct run_facts *f, struct finding *out)
{
    const struct model_memory *memory = &f->m->memory;
    double live = 0;
    for (int i = 0; i < memory->leaks_count; i++) {
        const struct model_leak *l = &memory->leaks[i];
        live += l->live_mb;
        finding_line(out, l->file, l->line, MODEL_UNKNOWN, l->live_mb);
    }
    if (!memory->leaks_count)
        return 0;
    finding_gain(out, (double)NAN, (double)NAN, "medium");
    finding_evidence(out,
                     "%d lines hold %.1f MiB at the end of what they allocated again and again.",
                     memory->leaks_count, live);
    return 1;
}

static double line_copied(const struct model_line *l)
{
    return l->copy.host_mb;
}

int rule_copy_host(const struct run_facts *f, struct finding *out)
{
    double mb = f->m->totals.copy_mb, rate = mb / f->wall;
    if (!(rate > HOST_COPY_MIB_S))
        return 0;
    finding_gain(out, 0, mb / HOST_COPY_MOST, "low");
    finding_evidence(out, "%.0f MiB were copied, %.0f MiB/s on average.", mb, rate);
    finding_lines_by(out, f->m, line_copied);
    return 1;
}

static double line_system(const struct model_line *l)
{
    return l->cpu.sys;
}

int rule_cpu_system(const struct run_facts *f, struct finding *out)
{
    const struct model_cpu *c = &f->m->totals.cpu;
    if (quiet_few(f->m) || !(c->sys > SHARE(SYSTEM_OF_CPU) * (c->user + c->sys)) ||
        !(c->sys > SHARE(LEAST) * f->wall))
        return 0;
    finding_gain(out, (double)NAN, c->sys / 2, "low");
    finding_evidence(out, "The kernel took %s s of %s s of CPU time.", NUMBER(3, c->sys),
                     NUMBER(3, c->user + c->sys));
    finding_lines_by(out, f->m, line_system);
    return 1;
}

static double line_python(const struct model_line *l)
{
    return l->cpu.python;
}

int rule_cpu_python(const struct run_facts *f, struct finding *out)
{
    const struct model_cpu *c = &f->m->totals.cpu;
    const double python = c->python - imports_s(f->m); /* which have a sentence of their own */
    if (quiet_few(f->m) || !(python > SHARE(PYTHON_OF_CPU) * (c->user + c->sys)) ||
        !(python > SHARE(PYTHON_LEAST) * f->wall))
        return 0;
    finding_gain(out, (double)NAN, python * 0.9, "medium");
    finding_evidence(out, "The interpreter took %s s of %s s of CPU time.", NUMBER(3, python),
                     NUMBER(3, c->user + c->sys));
    finding_lines_by(out, f->m, line_python);
    return 1;
}

/* CPU time of a node of own code in which threads of a pool wait, or wake each other. */
static double node_spins_ns(const struct model *m, int own)
{
    double ns = 0;
    for (int i = 0; i < m->works_count; i++)
        ns += m->works[i].own == own && !strcmp(m->works[i].kind, "spin")
                  ? (double)m->works[i].cpu_ns
                  : 0;
    return ns;
}

/* 1: threads of a pool wait there, or below. */
static int node_has_pool(const struct model *m, int own)
{
    if (node_spins_ns(m, own) > 0)
        return 1;
    for (int i = own + 1; i < m->own_count; i++)
        if (m->own[i].parent == own && m->own[i].kind && !strcmp(m->own[i].kind, "workers") &&
            node_spins_ns(m, i) > 0)
            return 1;
    return 0;
}

/* Threads beyond the CPUs cost nothing while each computes alone. They do where a pool waits for all
 * of them again and again: a thread without a CPU then holds up the others. */
int rule_cpu_crowd(const struct run_facts *f, struct finding *out)
{
    const struct model *m = f->m;
    const struct model_own *line = NULL;
    double spins = 0, lost = 0, most = 0;
    if (quiet_few(m) || !(f->cpus > 0) || f->threads <= f->cpus)
        return 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        const double cpu = positive_or_0((double)o->cpu_ns), spin = node_spins_ns(m, i);
        const int waits = o->waits_for && !strcmp(o->waits_for, "lock") && node_has_pool(m, i);
        spins += spin;
        lost += cpu > 0 ? positive_or_0((double)o->path_cpu_ns) * fmin(1, spin / cpu) : 0;
        lost += waits ? positive_or_0((double)o->path_wait_ns) : 0;
        if (o->file && cpu - spin > most && (node_has_pool(m, i) || !o->parent)) {
            most = cpu - spin;
            line = o;
        }
    }
    if (!(1e-9 * spins > SHARE(CROWD_OF_CPU) * f->cpu) || !(1e-9 * lost > SHARE(LEAST) * f->own))
        return 0;
    finding_gain(out, 0.5e-9 * lost, 1e-9 * lost, "medium");
    finding_evidence(out, "%lld threads share %d CPU%s", (long long)f->threads, f->cpus,
                     f->cpus == 1 ? "" : "s");
    if (line)
        finding_evidence(out, " at %.100s:%lld", line->file, (long long)line->line);
    finding_evidence(out,
                     ": waking each other and waiting took %.0f %% of the CPU time (%s of %s s).",
                     1e-7 * spins / f->cpu, NUMBER(3, 1e-9 * spins), NUMBER(3, f->cpu));
    if (line)
        finding_line(out, line->file, line->line, MODEL_UNKNOWN, 1e-9 * lost);
    return 1;
}
