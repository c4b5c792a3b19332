/* Makes the sentences that come before the costs: how a program failed, by its exit status, the
 * signal that killed it, the exception that it did not catch, and the line; and what of the run
 * could not be recorded. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"
#include "profiler/findings/run_facts.h"

#define MOST      0.5 /* of the CPU time */
#define FOLLOWED  0.2 /* of the wall time: shorter waits are left out */
#define MISSING_S 0.5 /* of CPU time: short programs are quick to start, not to record */
#define ALONE_S   0.1 /* likewise, where the rest has no answer */

/* CPython's, after an exception; and where what it had to print could not be written besides. */
enum { UNCAUGHT = 1, UNCAUGHT_UNWRITTEN = 120 };

static void signal_name(int64_t number, char *out, size_t room)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},       {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"},
        {SIGPIPE, "SIGPIPE"}, {SIGPROF, "SIGPROF"},     {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"},
        {SIGSYS, "SIGSYS"},   {SIGTERM, "SIGTERM"},     {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"},
        {SIGUSR2, "SIGUSR2"}, {SIGVTALRM, "SIGVTALRM"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}};
    snprintf(out, room, "signal %lld", (long long)number);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            snprintf(out, room, "%s", names[i].name);
}

/* Code that cannot be compiled has no frames. */
static int is_of_syntax(const char *exception)
{
    return text_ends(exception, "SyntaxError") || text_ends(exception, "IndentationError") ||
           text_ends(exception, "TabError");
}

/* The exception came from the program's outermost code, and the status is that of an uncaught one:
 * an interpreter remembers those too that somebody printed and went on. */
static int exception_ended_it(const struct model_meta *meta, const struct model_failure *f)
{
    const int outermost = f->outermost ? !strcmp(f->outermost, "<module>") ||
                                             !strcmp(f->outermost, "_run_module_as_main")
                                       : is_of_syntax(f->exception);
    const int interrupted = meta->signal == SIGINT && !strcmp(f->exception, "KeyboardInterrupt");
    return outermost &&
           (interrupted || meta->exit_code == UNCAUGHT || meta->exit_code == UNCAUGHT_UNWRITTEN);
}

/* Finds what ended the program's own process, in the last image that it had; NULL: unknown. */
static const struct model_failure *failed_by(const struct model *m)
{
    const struct model_process *last = NULL;
    for (int i = 0; i < m->processes_count; i++)
        if (m->processes[i].pid == m->processes[0].pid)
            last = &m->processes[i];
    const struct model_failure *f = last && m->mpi.size == MODEL_UNKNOWN ? last->failure : NULL;
    if (!f)
        return NULL;
    const int so = f->exception ? exception_ended_it(&m->meta, f) : f->signal == m->meta.signal;
    return so ? f : NULL;
}

static void failed_place(const struct model_failure *f, char out[400])
{
    const struct model_own at = {.file = f->file, .line = f->line, .function = f->function};
    const char *name = f->function && *f->function != '<' ? f->function : NULL;
    const char *call = name && !strchr(name, '(') ? "()" : "";
    char place[300] = "", shown[NAME_TEXT];
    if (f->file)
        own_place(&at, place);
    if (f->exception)
        snprintf(out, 400, ": %.80s%s%s", f->exception, f->file ? " at " : "", place);
    else if (name || f->file)
        snprintf(out, 400, " (%s%s%s%s%s)", name ? "in " : "", name ? name_text(name, shown) : "",
                 name ? call : "", name && f->file ? ", " : "", place);
}

static enum err failed_answer(struct model *m, struct model_answer *a)
{
    const struct model_failure *f = failed_by(m);
    const char *program = m->meta.command_count ? base_name(m->meta.command[0]) : "";
    char text[600], end[40], place[400] = "";
    json_blank(&record_model_answer, a);
    if (m->meta.signal != MODEL_UNKNOWN)
        signal_name(m->meta.signal, end, sizeof end);
    else
        snprintf(end, sizeof end, "%lld", (long long)m->meta.exit_code);
    if (f)
        failed_place(f, place);
    snprintf(text, sizeof text, "%.80s %s %s%s.", *program ? program : "The program",
             m->meta.signal != MODEL_UNKNOWN ? "was killed by" : "exited with", end, place);
    a->kind = "failed";
    a->text = arena_text(m->arena, text);
    a->advice = "The profile ends there: fix this first.";
    if (f && f->file) {
        a->file = f->file;
        a->line = f->line;
        a->function = f->function;
    }
    FAIL_IF(!a->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

/* Puts an answer before the others, and its text before the headline, `between` them; alone where
 * the headline says nothing of costs. */
static enum err failed_put_first(struct model *m, const struct model_answer *first,
                                 const char *between)
{
    const struct model_answer *others = m->answers;
    const int count = m->answers_count;
    char text[1400];
    snprintf(text, sizeof text, "%.600s %s%.700s", first->text, between, m->headline);
    TRY(model_list(m, model_answer, m, answers, (size_t)count + 1));
    m->answers[0] = *first;
    array_copy(m->answers + 1, others, (size_t)count, sizeof *first);
    m->headline =
        count && strcmp(others[0].kind, "none") ? arena_text(m->arena, text) : first->text;
    FAIL_IF(!m->headline, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

/* Most of the CPU time was spent where the recorder was not. */
static enum err failed_to_record(struct model *m)
{
    const double recorded = positive_or_0(m->totals.cpu.user) + positive_or_0(m->totals.cpu.sys),
                 coverage = m->quality.cpu_sample_coverage,
                 missing = recorded / coverage - recorded;
    const char *names = m->quality.unrecorded_names;
    const int alone = m->answers_count && !strcmp(m->answers[0].kind, "none");
    char text[600];
    struct model_answer a;
    if (m->quality.unrecorded < 1 || !(coverage < MOST) ||
        !(missing > (alone ? ALONE_S : MISSING_S)))
        return ERR_OK;
    json_blank(&record_model_answer, &a);
    a.kind = "unseen";
    a.cost_s = missing;
    a.share = 1 - coverage;
    a.of = "CPU time";
    snprintf(text, sizeof text,
             "%.0f %% of the CPU time (%s of %s s) was in processes that were not recorded%s%s.",
             100 * a.share, NUMBER(3, missing), NUMBER(3, recorded + missing), names ? ": " : "",
             names ? names : "");
    a.text = arena_text(m->arena, text);
    a.advice =
        "The recorder is not loaded into programs that are statically linked, set-user-id, of "
        "another user, or started with a cleared environment. Put `tomoprof record` behind "
        "what changes user or environment, or sample one while it runs: `tomoprof record "
        "--pid PID`.";
    FAIL_IF(!a.text, ERR_MEMORY, "no memory for the profile");
    return failed_put_first(m, &a, "In the rest: ");
}

static enum err failed_append(struct model *m, const char *sentence)
{
    char text[1400];
    snprintf(text, sizeof text, "%.700s %.600s", m->headline, sentence);
    m->headline = arena_text(m->arena, text);
    FAIL_IF(!m->headline, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

/* An interpreter's lines cannot be read, and the headline names no other. */
static enum err failed_to_read(struct model *m)
{
    for (int i = 0; i < m->quality.items_count && m->answers_count; i++) {
        const struct model_item *item = &m->quality.items[i];
        if (item->id && !strcmp(item->id, "python") && item->text && !m->answers[0].file)
            return failed_append(m, item->text);
    }
    return ERR_OK;
}

enum { IN_HUB = 1, IN_OWN = 2 };

static char frame_inside(const struct model *m, int frame)
{
    const char *path = frame >= 0 ? m->frames[frame].file : NULL;
    const struct model_file *file = hotspots_file(m, path);
    return (char)((path && text_ends(path, "gevent/hub.py") ? IN_HUB : 0) |
                  (file && file->user ? IN_OWN : 0));
}

static int has_hub(const struct model *m)
{
    for (int i = 0; i < m->frames_count; i++)
        if (m->frames[i].file && text_ends(m->frames[i].file, "gevent/hub.py"))
            return 1;
    return 0;
}

/* Adds up the seconds that gevent's event loop waits below no own line; below 0: out of memory. */
static double hub_wait_s(const struct model *m)
{
    const int hub = has_hub(m);
    double ns = 0;
    char *inside = calloc((size_t)m->stacks_count + 1, 1);
    if (!inside)
        return -1;
    for (int i = 0; hub && i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        inside[i] = s->parent >= 0 && s->parent < i ? inside[s->parent] : 0;
        inside[i] = (char)(inside[i] | frame_inside(m, s->frame));
        ns += inside[i] == IN_HUB && s->wait_ns > 0 ? (double)s->wait_ns : 0;
    }
    free(inside);
    return 1e-9 * ns;
}

/* A loop of gevent waits, and the greenlets that wait for it have no stack that is read. */
static enum err failed_to_follow(struct model *m)
{
    const double s = hub_wait_s(m);
    char text[200];
    FAIL_IF(s < 0, ERR_MEMORY, "no memory for the profile");
    if (!(s > FOLLOWED * m->meta.wall_s))
        return ERR_OK;
    snprintf(text, sizeof text,
             "gevent waits for events for %s of %s s. Which greenlet waits is not read.",
             NUMBER(3, s), NUMBER(3, m->meta.wall_s));
    return failed_append(m, text);
}

enum err failed_lead(struct model *m)
{
    const int killed = m->meta.signal != MODEL_UNKNOWN;
    const int failed = m->meta.exit_code != MODEL_UNKNOWN && m->meta.exit_code != 0;
    struct model_answer first;
    TRY(failed_to_read(m));
    TRY(failed_to_follow(m));
    TRY(failed_to_record(m));
    if (!killed && !failed)
        return ERR_OK;
    TRY(failed_answer(m, &first));
    return failed_put_first(m, &first, "Its costs until then: ");
}
