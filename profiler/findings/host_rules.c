/* Rules about the memory and the CPU time of the host. */
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
    finding_evidence(out, "The kernel took %.3g s of %.3g s of CPU time.", c->sys,
                     c->user + c->sys);
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
    if (quiet_few(f->m) || !(c->python > SHARE(PYTHON_OF_CPU) * (c->user + c->sys)) ||
        !(c->python > SHARE(PYTHON_LEAST) * f->wall))
        return 0;
    finding_gain(out, (double)NAN, c->python * 0.9, "medium");
    finding_evidence(out, "The interpreter took %.3g s of %.3g s of CPU time.", c->python,
                     c->user + c->sys);
    finding_lines_by(out, f->m, line_python);
    return 1;
}
