/* Answers of a program that was idle, and of one with too few samples. */
#include <stdio.h>
#include <string.h>

#include "profiler/report/findings/own_place.h"
#include "profiler/report/findings/quiet.h"

static double idle_of(const struct model_own *o)
{
    int idle = o->waits_for && !strcmp(o->waits_for, "requests");
    return idle && o->path_wait_ns > 0 ? 1e-9 * (double)o->path_wait_ns : 0;
}

double quiet_idle_s(const struct model *m)
{
    double all = 0;
    for (int i = 0; i < m->own_count; i++)
        all += idle_of(&m->own[i]);
    return all * m->meta.wait_hz >= QUIET_ENOUGH ? all : 0;
}

enum err quiet_idle(const struct model *m, struct model_answer *out)
{
    const struct model_own *most = NULL;
    char text[600], name[400] = "The program";
    json_blank(&record_model_answer, out);
    for (int i = 0; i < m->own_count; i++)
        most = !most || idle_of(&m->own[i]) > idle_of(most) ? &m->own[i] : most;
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
    char text[120];
    json_blank(&record_model_answer, out);
    out->kind = "none";
    if (n == 0)
        snprintf(text, sizeof text, "No CPU sample was taken, so no hotspot is known.");
    else if (n != MODEL_UNKNOWN && n < QUIET_ENOUGH)
        snprintf(text, sizeof text, "Only %lld CPU samples were taken: too few to name a hotspot.",
                 (long long)n);
    else
        snprintf(text, sizeof text, "No own line took a large part of the time.");
    out->text = arena_text(m->arena, text);
    out->advice = n != MODEL_UNKNOWN && n < QUIET_ENOUGH
                      ? "Record more work, or sample more often: tomoprof record --rate 1000."
                      : "Look at all lines with `tomoprof report --libraries`.";
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
