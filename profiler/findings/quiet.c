/* Answers of a program that was idle, of one with too few samples, and of programs without own
 * lines. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"

#define MOST 0.5 /* of the CPU time: that program's name helps */

static const char *process_name(const struct model_process *p)
{
    return p->program ? base_name(p->program) : "";
}

/* CPU seconds of all processes of p's program. */
static double program_cpu_s(const struct model *m, const struct model_process *p)
{
    double s = 0;
    for (int i = 0; i < m->processes_count; i++)
        if (m->processes[i].cpu_s > 0 && !strcmp(process_name(&m->processes[i]), process_name(p)))
            s += m->processes[i].cpu_s;
    return s;
}

int quiet_busiest(const struct model *m, int others, char *out, size_t size)
{
    const struct model_process *most = NULL;
    double all = 0;
    for (int i = 0; i < m->processes_count; i++) {
        const struct model_process *p = &m->processes[i];
        all += p->cpu_s > 0 ? p->cpu_s : 0;
        if (*process_name(p) &&
            !(others && !strcmp(process_name(p), process_name(&m->processes[0]))) &&
            (!most || program_cpu_s(m, p) > program_cpu_s(m, most)))
            most = p;
    }
    if (!most || !(all > 0) || !(program_cpu_s(m, most) >= MOST * all))
        return 0;
    snprintf(out, size, "%.60s used %.3g of the %.3g s of CPU time", process_name(most),
             program_cpu_s(m, most), all);
    return 1;
}

static double own_idle_s(const struct model_own *o)
{
    int idle = o->waits_for && !strcmp(o->waits_for, "requests");
    return idle && o->path_wait_ns > 0 ? 1e-9 * (double)o->path_wait_ns : 0;
}

double quiet_idle_s(const struct model *m)
{
    double all = 0;
    for (int i = 0; i < m->own_count; i++)
        all += own_idle_s(&m->own[i]);
    return all * m->meta.wait_hz >= QUIET_ENOUGH ? all : 0;
}

enum err quiet_idle(const struct model *m, struct model_answer *out)
{
    const struct model_own *most = NULL;
    char text[600], name[400] = "The program";
    json_blank(&record_model_answer, out);
    for (int i = 0; i < m->own_count; i++)
        most = !most || own_idle_s(&m->own[i]) > own_idle_s(most) ? &m->own[i] : most;
    if (most && (most->file || most->function)) {
        own_place_and_text(m, most, name);
        out->file = most->file;
        out->line = most->line;
        out->function = most->function;
    }
    out->kind = "idle";
    out->cost_s = quiet_idle_s(m);
    out->share = out->cost_s / m->meta.wall_s;
    out->of = "wall time";
    snprintf(text, sizeof text,
             "%s waits for requests or jobs for %.3g of the %.3g s that the program ran: it was "
             "idle.",
             name, out->cost_s, m->meta.wall_s);
    out->text = arena_text(m->arena, text);
    out->advice = "Record it while it has work to do.";
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

enum err quiet_too_few(const struct model *m, struct model_answer *out)
{
    int64_t n = m->totals.cpu.samples;
    char text[300], program[160];
    json_blank(&record_model_answer, out);
    out->kind = "none";
    if (n == 0)
        snprintf(text, sizeof text, "No CPU sample was taken, so no hotspot is known.");
    else if (n != MODEL_UNKNOWN && n < QUIET_ENOUGH)
        snprintf(text, sizeof text, "Only %lld CPU sample%s taken: too few to name a hotspot.",
                 (long long)n, n == 1 ? " was" : "s were");
    else if (quiet_busiest(m, 0, program, sizeof program))
        snprintf(text, sizeof text, "No own line took a large part of the time: %s.", program);
    else
        snprintf(text, sizeof text, "No own line took a large part of the time.");
    out->text = arena_text(m->arena, text);
    out->advice = n != MODEL_UNKNOWN && n < QUIET_ENOUGH
                      ? "Record more work, or sample more often: `tomoprof record --rate 1000`."
                      : "Look at all lines with `tomoprof report --libraries`.";
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
