/* How a program failed: by its exit status, the signal that killed it, the exception that it did
 * not catch, and the line. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/quiet.h"

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
    char place[300] = "";
    if (f->file)
        own_place(&at, place);
    if (f->exception)
        snprintf(out, 400, ": %.80s%s%s", f->exception, f->file ? " at " : "", place);
    else if (name || f->file)
        snprintf(out, 400, " (%s%.80s%s%s%s)", name ? "in " : "", name ? name : "",
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

enum err failed_lead(struct model *m)
{
    const int killed = m->meta.signal != MODEL_UNKNOWN;
    const int failed = m->meta.exit_code != MODEL_UNKNOWN && m->meta.exit_code != 0;
    const struct model_answer *costs = m->answers;
    const int count = m->answers_count;
    if (!killed && !failed)
        return ERR_OK;
    struct model_answer first;
    TRY(failed_answer(m, &first));
    char text[1400];
    snprintf(text, sizeof text, "%s Its costs until then: %.700s", first.text, m->headline);
    TRY(model_list(m, model_answer, m, answers, (size_t)count + 1));
    m->answers[0] = first;
    array_copy(m->answers + 1, costs, (size_t)count, sizeof first);
    m->headline = count && strcmp(costs[0].kind, "none") ? arena_text(m->arena, text) : first.text;
    FAIL_IF(!m->headline, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
