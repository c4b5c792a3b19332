/* Answers about imports, of a program that was idle, of one with too few samples, and of programs without own
 * lines. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"
#include "profiler/findings/run_facts.h"

#define MOST    0.5  /* of the CPU time: that program's name helps */
#define LITTLE  0.05 /* of the CPU time: no line to name */
#define NOBODYS 0.2  /* of the own time: imports that no own line asks for, the interpreter's own */

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

/* The program whose processes used half of the CPU time; NULL: none. *all: of all processes. */
static const struct model_process *program_with_most(const struct model *m, double *all)
{
    const struct model_process *most = NULL;
    *all = 0;
    for (int i = 0; i < m->processes_count; i++) {
        const struct model_process *p = &m->processes[i];
        *all += p->cpu_s > 0 ? p->cpu_s : 0;
        if (*process_name(p) && (!most || program_cpu_s(m, p) > program_cpu_s(m, most)))
            most = p;
    }
    return most && *all > 0 && program_cpu_s(m, most) >= MOST * *all ? most : NULL;
}

/* How a program is started so that its lines can be read, where it keeps them to itself. */
static const char *program_advice(const struct model_process *p)
{
    static const char *const programs[][2] = {
        {"node", "V8 does not tell the names of its functions. Record `node --perf-prof ...` "
                 "instead of `node ...`: then lines of JavaScript are named."}};
    for (size_t i = 0; p && i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(process_name(p), programs[i][0]))
            return programs[i][1];
    return "Look at all lines with `tomoprof report --libraries`.";
}

const struct model_item *quiet_busy(const struct model *m)
{
    return quality_item(m, "cpu.busy");
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
             "%s waits for requests or jobs for %s of the %s s that the program ran: it was "
             "idle.",
             name, NUMBER(3, out->cost_s), NUMBER(3, m->meta.wall_s));
    out->text = arena_text(m->arena, text);
    out->advice = "Record it while it has work to do.";
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

enum err quiet_too_few(const struct model *m, struct model_answer *out)
{
    int64_t n = m->totals.cpu.samples;
    char text[500];
    const struct model_item *brief = quiet_few(m) ? quality_item(m, "short.processes") : NULL;
    double all;
    const struct model_process *most = program_with_most(m, &all);
    json_blank(&record_model_answer, out);
    out->kind = "none";
    if (brief && brief->text)
        snprintf(text, sizeof text, "%s", brief->text);
    else if (n == 0)
        snprintf(text, sizeof text, "No CPU sample was taken, so no hotspot is known.");
    else if (n != MODEL_UNKNOWN && n < QUIET_ENOUGH)
        snprintf(text, sizeof text, "Only %lld CPU sample%s taken: too few to name a hotspot.",
                 (long long)n, n == 1 ? " was" : "s were");
    else if (most)
        snprintf(text, sizeof text,
                 "No own line took a large part of the time: %.60s used %s of the %s s of CPU "
                 "time.",
                 process_name(most), NUMBER(3, program_cpu_s(m, most)), NUMBER(3, all));
    else
        snprintf(text, sizeof text, "No own line took a large part of the time.");
    out->text = arena_text(m->arena, text);
    out->advice = brief ? "A process costs more to start than what such a one does: do the same in "
                          "fewer processes."
                  : n != MODEL_UNKNOWN && n < QUIET_ENOUGH ? model_more_samples(m)
                                                           : program_advice(most);
    FAIL_IF(!out->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

/* Own line above node i, outside of modules' own lines where there is one; NULL: none. */
static const struct model_own *import_line(const struct model *m, int i)
{
    const struct model_own *nearest = NULL;
    for (int up = m->own[i].parent; up >= 0; up = m->own[up].parent) {
        const struct model_own *o = &m->own[up];
        if (o->file && o->function && *o->function != '<')
            return o;
        nearest = nearest || !o->file ? nearest : o;
    }
    return nearest;
}

static const char *line_text(const struct model *m, const struct model_own *o)
{
    const struct model_line *line = own_line_of(m, o->file, o->line);
    const char *text = line && line->text ? line->text : "";
    return text + strspn(text, " \t");
}

static int is_import_text(const char *text)
{
    return !strncmp(text, "import ", 7) || !strncmp(text, "from ", 5);
}

/* 1: the import happens inside of a call, not as the program begins. */
static int import_is_late(const struct model *m, const struct model_own *at)
{
    const char *text = at ? line_text(m, at) : "";
    return at && ((at->function && *at->function != '<') || (*text && !strstr(text, "import")));
}

static double import_path_s(const struct model_own *o)
{
    const int import = o->kind && !strcmp(o->kind, "import");
    return import ? 1e-9 * ((double)(o->path_cpu_ns > 0 ? o->path_cpu_ns : 0) +
                            (double)(o->path_wait_ns > 0 ? o->path_wait_ns : 0))
                  : 0;
}

/* Writes what a line imports, "scipy"; "modules" where its text does not tell. */
static void import_name(const char *text, char out[60])
{
    const char *name = is_import_text(text) ? strchr(text, ' ') + 1 : "modules";
    name += strspn(name, " ");
    snprintf(out, 60, "%.*s", (int)strcspn(name, " .,;\t"), name);
    if (!*out)
        snprintf(out, 60, "modules");
}

static void import_answer(const struct model_own *at, double s, double own_s,
                          struct model_answer *out)
{
    json_blank(&record_model_answer, out);
    out->kind = "imports";
    if (at) {
        out->file = at->file;
        out->line = at->line;
        out->function = at->function;
    }
    out->cost_s = out->gain_s = s;
    out->share = s / own_s;
    out->of = "own time";
}

/* Adds the line that imports longest inside of a call. */
static enum err import_late(const struct model *m, double own_s, const char *of,
                            struct model_answer *out, int *n)
{
    const struct model_own *at = NULL;
    char text[600], name[60], place[300];
    double most = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *line = import_path_s(&m->own[i]) > 0 ? import_line(m, i) : NULL;
        double s = 0;
        for (int k = 0; k < m->own_count && line && import_is_late(m, line); k++) {
            const struct model_own *o = import_path_s(&m->own[k]) > 0 ? import_line(m, k) : NULL;
            s +=
                o && o->line == line->line && o->file == line->file ? import_path_s(&m->own[k]) : 0;
        }
        at = s > most ? line : at;
        most = s > most ? s : most;
    }
    if (!at)
        return ERR_OK;
    import_answer(at, most, own_s, out);
    own_place(at, place);
    import_name(line_text(m, at), name);
    const int inside = at->function && *at->function != '<';
    snprintf(text, sizeof text, "%.200s imports %s%s%.80s%s: %s of %s s%s.", place, name,
             inside ? " inside of " : " as it is called first", inside ? at->function : "",
             inside ? "()" : "", NUMBER(3, most), NUMBER(3, own_s), of);
    out->text = arena_text(m->arena, text);
    out->advice = "The first call pays for it: import before the work begins, or import a smaller "
                  "part. `python -X importtime` lists every module.";
    (*n)++;
    return out->text ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the profile");
}

/* Adds what the program imports as it begins, with the line that imports most. */
static enum err import_start(const struct model *m, double own_s, const char *of,
                             struct model_answer *out, int *n)
{
    const struct model_own *first = NULL;
    char text[600], place[300] = "";
    double all = 0, most = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *line = import_line(m, i);
        const double s = import_path_s(&m->own[i]);
        if (import_is_late(m, line))
            continue;
        all += s;
        if (line && s > most) {
            most = s;
            first = line;
        }
    }
    if (!(all > 0) || (!first && all < NOBODYS * own_s))
        return ERR_OK;
    import_answer(first, all, own_s, out);
    if (first)
        own_place(first, place);
    snprintf(text, sizeof text, "Importing modules took %s of %s s%s%s%.200s%s.", NUMBER(2, all),
             NUMBER(2, own_s), of, first ? " (" : "", place, first ? ")" : "");
    out->text = arena_text(m->arena, text);
    out->advice = "Import inside of the functions that need it. `python -X importtime` lists every "
                  "module; `tomoprof report --after imports` leaves this part out.";
    (*n)++;
    return out->text ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the profile");
}

enum err quiet_imports(const struct model *m, double own_s, const char *of,
                       struct model_answer out[2], int *n)
{
    if (quiet_few(m))
        return ERR_OK;
    TRY(import_late(m, own_s, of, &out[*n], n));
    return import_start(m, own_s, of, &out[*n], n);
}

int quiet_is_start(const struct model_answer *a)
{
    return !strcmp(a->kind, "imports") && a->text && !strncmp(a->text, "Importing", 9);
}

static int has_own_code(const struct model *m)
{
    for (int i = 0; i < m->own_count; i++)
        if (m->own[i].kind && !strcmp(m->own[i].kind, "code"))
            return 1;
    return 0;
}

enum err quiet_library_line(const struct model *m, double cpu_s, double own_s,
                            struct model_answer *out, int *found)
{
    const struct model_line *line = NULL;
    const struct model_file *file = NULL;
    char text[600];
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
    if (quiet_few(m) || !(most > LITTLE * cpu_s))
        return ERR_OK;
    json_blank(&record_model_answer, out);
    out->kind = "cpu";
    out->file = file->path;
    out->line = line->line;
    out->cost_s = most;
    out->share = most / cpu_s;
    out->of = "CPU time";
    out->gain_s = most < own_s ? most : own_s;
    snprintf(text, sizeof text, "%.200s:%lld takes %.0f %% of the CPU time (%s).%s", file->path,
             (long long)line->line, 100 * out->share,
             model_cpu_part(m, most, cpu_s, (char[MODEL_PART]){0}),
             has_own_code(m) ? " It is a library's line: the program's own lines took little time."
                             : "");
    out->text = arena_text(m->arena, text);
    out->advice = "Call it less often, or with less data.";
    *found = 1;
    return out->text ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the profile");
}
