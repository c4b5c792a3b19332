/* Runs the program once: recorded by this program as a child, or bare, with the import hook or
 * without, and reads what it left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json/tables.h"
#include "base/text.h"
#include "cli/common/context.h"
#include "cli/runs/record_json.h"
#include "cli/trial/trial.h"
#include "profiler/findings/advice/replacements.h"
#include "profiler/record/record.h"

#define REPORT_LIMIT ((size_t)16 << 20)
#define HOOK         "hook/sitecustomize.py"
#define HOOK_LIMIT   ((size_t)1 << 16)
#define LIBRARY      "libtomoprof.so.0"

JSON_RECORD(trial_call, TRIAL_CALL_FIELDS)
JSON_RECORD(trial_process, TRIAL_PROCESS_FIELDS)

enum err trial_hook(char package[RUN_PATH])
{
    /* of a wheel, of an installation, of a build folder in the checkout */
    static const char *const places[] = {"..", "../share/tomoprof/python/tomoprof",
                                         "../python/tomoprof"};
    const char *program;
    TRY(cli_program(&program));
    const int folder = (int)(base_name(program) - program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[RUN_PATH + 64];
        snprintf(path, sizeof path, "%.*s%s/" HOOK, folder, program, places[i]);
        char *real = realpath(path, NULL);
        if (!real)
            continue;
        const int n =
            snprintf(package, RUN_PATH, "%.*s", (int)(strlen(real) - sizeof "/" HOOK + 1), real);
        const int colon = strchr(real, ':') != NULL;
        free(real);
        FAIL_IF(n >= RUN_PATH || colon, ERR_UNSUPPORTED,
                "%s: Python takes the colon in this path for a separator. Move tomoprof to another "
                "folder.",
                package);
        return ERR_OK;
    }
    return FAIL(
        ERR_UNSUPPORTED,
        "tomoprof's Python package is missing beside %s; `try` needs it. Install tomoprof by "
        "pip or by `cmake --install`.",
        program);
}

/* A variable of the environment while a child is started. */
static enum err variable_set(const char *name, const char *value)
{
    FAIL_IF(setenv(name, value, 1), ERR_MEMORY, "no memory for the environment");
    return ERR_OK;
}

/* The packages that the table's modules belong to, with colons between them, once each. */
static void packages_text(char *out, size_t room)
{
    *out = 0;
    for (size_t i = 0; i < replacements_count; i++) {
        const char *name = replacements[i].hook;
        const size_t bytes = strcspn(name, ".");
        int before = 0;
        for (size_t k = 0; k < i; k++)
            before |= strcspn(replacements[k].hook, ".") == bytes &&
                      !strncmp(replacements[k].hook, name, bytes);
        if (!before)
            text_append(out, room, "%s%.*s", *out ? ":" : "", (int)bytes, name);
    }
}

/* Copies the hook into the folder of the trial, where Python may keep bytecode beside it. The
 * package's own folder serves where that path has a colon. */
static enum err hook_copy(const struct try_job *t, const char *package, char folder[RUN_PATH])
{
    char path[RUN_PATH + 64], *text;
    size_t bytes;
    struct outfile f = {0};
    FAIL_IF(!text_print(folder, RUN_PATH, "%s/hook", strchr(t->folder, ':') ? package : t->folder),
            ERR_INPUT, "the path %.100s... is too long", t->folder);
    snprintf(path, sizeof path, "%s/sitecustomize.py", folder);
    if (!access(path, F_OK))
        return ERR_OK;
    TRY(dir_make(folder));
    snprintf(path, sizeof path, "%s/" HOOK, package);
    TRY(file_read_all(path, HOOK_LIMIT, &text, &bytes));
    snprintf(path, sizeof path, "%s/sitecustomize.py", folder);
    enum err e = outfile_open(&f, path);
    if (!e)
        e = outfile_write(&f, text, bytes);
    if (!e)
        e = outfile_commit(&f);
    outfile_abort(&f);
    free(text);
    return e;
}

/* Sets what hook/sitecustomize.py reads. */
static enum err hook_environment(const struct try_job *t, const struct trial_stage *s,
                                 const char *package, int recorded)
{
    char text[2 * RUN_PATH], folder[RUN_PATH], library[RUN_PATH], number[16];
    const char *old = getenv("PYTHONPATH"), *program;
    TRY(cli_program(&program));
    TRY(hook_copy(t, package, folder));
    FAIL_IF(
        !text_print(text, sizeof text, "%s%s%s", folder, old && *old ? ":" : "", old ? old : ""),
        ERR_INPUT, "PYTHONPATH: is too long");
    TRY(variable_set("PYTHONPATH", text));
    FAIL_IF(!text_print(text, sizeof text, "%s/hook", package), ERR_INPUT,
            "the path %.100s... is too long", package);
    TRY(variable_set("TOMOPROF_TRY_HOOK", text));
    packages_text(text, sizeof text);
    TRY(variable_set("TOMOPROF_TRY_PACKAGES", text));
    TRY(variable_set("TOMOPROF_TRY", recorded ? "replace" : "check"));
    TRY(variable_set("TOMOPROF_TRY_ONLY", s->only));
    TRY(variable_set("TOMOPROF_TRY_OUT", s->folder));
    snprintf(number, sizeof number, "%d", t->checks);
    TRY(variable_set("TOMOPROF_TRY_CHECK", number));
    snprintf(library, sizeof library, "%.*s" LIBRARY, (int)(base_name(program) - program), program);
    return getenv("TOMOPROF_LIBRARY") || access(library, R_OK)
               ? ERR_OK
               : variable_set("TOMOPROF_LIBRARY", library);
}

static enum err output_open(const struct trial_stage *s, const char *name, int *fd)
{
    char path[RUN_PATH + 16];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FAIL_IF(*fd < 0, ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    return ERR_OK;
}

/* Starts the words and waits. */
static enum err words_run(struct trial_stage *s, const char *const *words)
{
    int out = 0, log = 0, number = 0;
    enum child_end end;
    TRY(output_open(s, "stdout", &out));
    enum err e = output_open(s, "stderr", &log);
    const struct child_program p = {
        .argv = words, .output_fd = out, .log_fd = log, .own_group = 1, .stop = &cli_stop};
    const int64_t begun = clock_ns();
    if (!e)
        e = child_run(&p, &end, &number);
    close(out);
    if (log > 0)
        close(log);
    TRY(e);
    FAIL_IF(end == CHILD_STOPPED, ERR_INTERRUPTED, "the trial was interrupted");
    s->wall_s = 1e-9 * (double)(clock_ns() - begun);
    s->exit_code = end == CHILD_EXITED ? number : 0;
    s->signal = end == CHILD_SIGNALLED ? number : 0;
    return ERR_OK;
}

/* Takes times, memory and the program's end from record.json. */
static enum err record_read(struct trial_stage *s)
{
    struct record_facts facts;
    TRY(record_facts_read(s->folder, &facts));
    const int known = facts.end.wall_s > 0;
    s->wall_s = facts.end.wall_s;
    s->peak_rss_bytes = facts.end.peak_rss_bytes;
    s->exit_code = facts.end.exit_code;
    s->signal = facts.end.signal;
    record_facts_free(&facts);
    FAIL_IF(!known, ERR_FAILED, "the program could not be recorded: %s/stderr has the reason",
            s->folder);
    return ERR_OK;
}

/* Adds the calls of a process to those of the same line. */
static enum err call_add(struct try_job *t, struct trial_stage *s, const struct trial_call *c)
{
    for (int i = 0; i < s->calls_count; i++) {
        struct trial_call *old = &s->calls[i];
        if (old->line != c->line || strcmp(old->name, c->name) || strcmp(old->module, c->module) ||
            strcmp(old->file ? old->file : "", c->file ? c->file : ""))
            continue;
        old->calls += c->calls;
        old->ours_s += c->ours_s;
        old->original_s += c->original_s;
        old->refused = old->refused ? old->refused : c->refused;
        old->failed = old->failed ? old->failed : c->failed;
        return ERR_OK;
    }
    struct trial_call *more = arena_take(t->arena, ((size_t)s->calls_count + 1) * sizeof *more);
    FAIL_IF(!more, ERR_MEMORY, "no memory for the calls");
    array_copy(more, s->calls, (size_t)s->calls_count, sizeof *more);
    more[s->calls_count++] = *c;
    s->calls = more;
    return ERR_OK;
}

static enum err note_add(struct try_job *t, struct trial_stage *s, const char *note)
{
    for (int i = 0; i < s->notes_count; i++)
        if (!strcmp(s->notes[i], note))
            return ERR_OK;
    const char **more = arena_take(t->arena, ((size_t)s->notes_count + 1) * sizeof *more);
    FAIL_IF(!more, ERR_MEMORY, "no memory for the notes");
    array_copy(more, s->notes, (size_t)s->notes_count, sizeof *more);
    more[s->notes_count++] = note;
    s->notes = more;
    return ERR_OK;
}

/* Reads what the hook left of one process. */
static enum err process_read(struct try_job *t, struct trial_stage *s, const char *path)
{
    cJSON *root;
    struct trial_process p;
    json_blank(&record_trial_process, &p);
    TRY(json_parse_file(path, REPORT_LIMIT, &root));
    enum err e = json_read(t->arena, &record_trial_process, root, &p, JSON_STRICT);
    cJSON_Delete(root);
    for (int i = 0; i < p.calls_count && !e; i++)
        e = call_add(t, s, &p.calls[i]);
    for (int i = 0; i < p.notes_count && !e; i++)
        e = note_add(t, s, p.notes[i]);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

/* Reads why the hook could replace nothing. */
static enum err failure_read(struct try_job *t, struct trial_stage *s)
{
    char path[RUN_PATH + 16], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/started", s->folder);
    s->started = !access(path, F_OK);
    snprintf(path, sizeof path, "%s/failed", s->folder);
    if (access(path, F_OK))
        return ERR_OK;
    TRY(file_read_all(path, 4096, &text, &bytes));
    s->failed = arena_text_n(t->arena, text, bytes);
    free(text);
    FAIL_IF(!s->failed, ERR_MEMORY, "no memory for the notes");
    return ERR_OK;
}

static enum err processes_read(struct try_job *t, struct trial_stage *s)
{
    DIR *dir = opendir(s->folder);
    FAIL_IF(!dir, ERR_IO, "%s: cannot be read: %s", s->folder, strerror(errno));
    enum err e = ERR_OK;
    for (const struct dirent *d; !e && (d = readdir(dir));) {
        char path[RUN_PATH + 300];
        const size_t digits = strspn(d->d_name, "0123456789");
        snprintf(path, sizeof path, "%s/%s", s->folder, d->d_name);
        if (digits && !strcmp(d->d_name + digits, ".json"))
            e = process_read(t, s, path);
    }
    closedir(dir);
    return e ? e : failure_read(t, s);
}

/* The program's words behind those that record it; ended by NULL, to be freed. */
static enum err words_make(const struct try_job *t, int recorded, const char ***out)
{
    const char *program;
    size_t n = 0, at = 0;
    TRY(cli_program(&program));
    while (t->command[n])
        n++;
    const char **words = calloc(n + 4, sizeof *words);
    FAIL_IF(!words, ERR_MEMORY, "no memory for %zu words", n);
    if (recorded) {
        words[at++] = program;
        words[at++] = "record";
        words[at++] = "--";
    }
    for (size_t i = 0; i < n; i++)
        words[at++] = t->command[i];
    *out = words;
    return ERR_OK;
}

enum err trial_run(struct try_job *t, struct trial_stage *s, const char *package, int recorded)
{
    static const char *const ours[] = {
        "TOMOPROF_TRY",       "TOMOPROF_TRY_PACKAGES", "TOMOPROF_TRY_ONLY", "TOMOPROF_TRY_OUT",
        "TOMOPROF_TRY_CHECK", "TOMOPROF_TRY_HOOK",     RECORD_RUN};
    const char **words = NULL;
    const char *old = getenv("PYTHONPATH");
    char *path = old ? strdup(old) : NULL;
    FAIL_IF(old && !path, ERR_MEMORY, "no memory for the environment");
    FAIL_IF(!text_print(s->folder, RUN_PATH - 64, "%s/%s", t->folder, s->name), ERR_INPUT,
            "the path %.100s... is too long", t->folder);
    enum err e = dir_make(s->folder);
    if (!e)
        e = words_make(t, recorded, &words);
    if (e) {
        free(path);
        return e;
    }
    if (s->only)
        e = hook_environment(t, s, package, recorded);
    if (!e && recorded)
        e = variable_set(RECORD_RUN, s->folder);
    if (!e)
        e = words_run(s, words);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        unsetenv(ours[i]);
    if (path)
        setenv("PYTHONPATH", path, 1);
    else
        unsetenv("PYTHONPATH");
    free(path);
    free(words);
    TRY(e);
    if (recorded)
        TRY(record_read(s));
    return s->only ? processes_read(t, s) : ERR_OK;
}
