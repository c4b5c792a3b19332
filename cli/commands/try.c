/* The command `try`: the program again, unchanged, with functions replaced by tomoprof's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/record_json.h"
#include "cli/trial/trial.h"
#include "profiler/findings/advice/replacements.h"
#include "profiler/record/record.h"
#include "profiler/trace/secrets.h"

static struct try_request {
    const char *out;
    int64_t checks;
    int json;
} request = {.checks = 1};

static struct opt options[] = {
    OPTION_INT("check", 'c', request.checks, "N",
               "compute the first N calls from each line twice and compare (default 1);\n"
               "0: compare no results, which saves one run",
               0, 1000000),
    OPTION_PLACE("out", 'o', request.out, "DIR",
                 "write to DIR/<UTC stamp>/ (default tomoprof-runs/try)"),
    CLI_OPT_JSON(request.json),
    {0},
};

/* The command and folder of a recorded run. */
static enum err command_of_run(struct try_job *t, const char *run)
{
    struct record_facts facts;
    struct run_list list = {0};
    char full[RUN_PATH];
    TRY(record_facts_read(run, &facts));
    enum err e = ERR_OK;
    int n = 0;
    for (; facts.command && facts.command[n]; n++)
        if (strstr(facts.command[n], SECRET_MASK))
            e = FAIL(ERR_INPUT,
                     "%s: its command line held a secret, which was not kept. Give the command: "
                     "tomoprof try -- PROGRAM ARGS",
                     run);
    if (!e && !n)
        e = FAIL(ERR_INPUT,
                 "%s: has no record.json with a command. Give a run of `tomoprof record`, or the "
                 "command: tomoprof try -- PROGRAM ARGS",
                 run);
    t->command = e ? NULL : calloc((size_t)n + 1, sizeof *t->command);
    for (int i = 0; i < n && t->command; i++)
        t->command[i] = (char *)arena_text(t->arena, facts.command[i]);
    record_facts_free(&facts);
    TRY(e);
    FAIL_IF(!t->command, ERR_MEMORY, "no memory for %d words", n);
    if (!realpath(run, full) || run_list_read(&list))
        return ERR_OK; /* it is run from this folder */
    for (size_t i = 0; i < list.runs.count && !t->from; i++)
        if (!strcmp(list.runs.items[i].folder, full))
            t->from = arena_text(t->arena, list.runs.items[i].from);
    run_list_free(&list);
    return ERR_OK;
}

/* Takes one word for a run where it is one, else all of them for a program. */
static enum err command_find(struct try_job *t, int words, char **word)
{
    char run[RUN_PATH];
    struct record_facts facts;
    const int named = words == 1 && (!strcmp(word[0], "latest") || !strcmp(word[0], "previous"));
    if (words == 1 && (named || !run_is_file(word[0])) && !run_find(word[0], run)) {
        TRY(record_facts_read(run, &facts));
        record_facts_free(&facts);
        return command_of_run(t, run);
    }
    FAIL_IF(named, ERR_INPUT,
            "%s: no run is remembered. Record the program first, or give it: "
            "tomoprof try -- PROGRAM ARGS",
            word[0]);
    t->command = calloc((size_t)words + 2, sizeof *t->command);
    FAIL_IF(!t->command, ERR_MEMORY, "no memory for %d words", words);
    const int script = record_is_script(word[0]);
    if (script)
        t->command[0] = (char *)arena_text(t->arena, "python3");
    memcpy(t->command + script, word, (size_t)words * sizeof *word);
    return ERR_OK;
}

/* Runs the next stage. `only`: NULL as it is, "" with all functions replaced. */
static enum err stage_run(struct try_job *t, const char *name, const char *only,
                          const char *package, int recorded, const char *what,
                          struct trial_stage **out)
{
    struct trial_stage *s = &t->stage[t->stages];
    *s = (struct trial_stage){.name = name, .only = only};
    log_info("tomoprof: runs the program %s", what);
    TRY(trial_run(t, s, package, recorded));
    t->stages++;
    *out = s;
    return ERR_OK;
}

/* Returns what can be replaced alone: a package as a whole, or a function. */
static const char *call_unit(struct try_job *t, const struct trial_call *c)
{
    return strchr(c->module, '.') ? arena_print(t->arena, "%s.%s", c->module, c->name) : c->module;
}

/* Lists the units that were replaced in a stage; returns their number. */
static int units_find(struct try_job *t, const struct trial_stage *s, const char *units[])
{
    int n = 0;
    for (int i = 0; i < s->calls_count && n < TRIAL_STAGES - 3; i++) {
        const struct trial_call *c = &s->calls[i];
        const char *unit = c->refused && !(c->ours_s > 0) ? NULL : call_unit(t, c);
        for (int k = 0; k < n && unit; k++)
            unit = strcmp(units[k], unit) ? unit : NULL;
        if (unit && !(c->failed && !c->checked && s->name[0] == 'c'))
            units[n++] = unit;
    }
    return n;
}

static enum err hook_check(const struct trial_stage *s)
{
    FAIL_IF(s->failed, ERR_UNSUPPORTED,
            "tomoprof cannot be loaded into the program's Python: %s. Its operators need NumPy.",
            s->failed);
    FAIL_IF(
        !s->started, ERR_INPUT,
        "the program started no Python that reads PYTHONPATH (python3 -I, -E and -S do not), so "
        "nothing can be replaced");
    return ERR_OK;
}

/* Runs all stages. *check, *after: NULL where there was none. */
static enum err stages_run(struct try_job *t, const char *package, struct trial_stage **check,
                           struct trial_stage **after)
{
    const char *units[TRIAL_STAGES];
    struct record_target target;
    struct trial_stage *s;
    TRY(record_target(t->command[0], &target));
    TRY(stage_run(t, "before", NULL, package, 1, "as it is", &s));
    FAIL_IF(s->signal || s->exit_code, ERR_FAILED,
            "the program ended with %s %d before anything was replaced: %s/stderr has what it "
            "printed",
            s->signal ? "signal" : "exit code", s->signal ? s->signal : s->exit_code, s->folder);
    if (t->checks) {
        TRY(stage_run(t, "check", "", package, 0, "with both, to compare results", check));
        TRY(hook_check(*check));
        if (!units_find(t, *check, units))
            return ERR_OK;
    }
    TRY(stage_run(t, "after", "", package, 1, "with tomoprof's functions", after));
    TRY(hook_check(*after));
    const int n = units_find(t, *after, units);
    if (!n)
        *after = NULL;
    for (int i = 0; i < n && n > 1; i++) {
        const char *name = arena_print(t->arena, "after-%s", units[i]);
        const char *what = arena_print(t->arena, "with %s replaced alone", units[i]);
        FAIL_IF(!name || !what, ERR_MEMORY, "no memory for the stages");
        TRY(stage_run(t, name, units[i], package, 1, what, &s));
    }
    return ERR_OK;
}

static enum err trial_do(struct try_job *t, const char *package)
{
    struct trial_stage *check = NULL, *after = NULL;
    struct trial_file result;
    TRY(stages_run(t, package, &check, &after));
    TRY(trial_result(t, check, after, &result));
    TRY(trial_result_write(t, &result));
    if (!request.json) {
        trial_result_print(t, &result);
        return ERR_OK;
    }
    struct jsonw w;
    jsonw_init(&w, stdout, 1);
    json_write(&w, &record_trial_file, &result);
    return ERR_OK;
}

static enum err run_try(int words, char **word)
{
    static struct try_job t;
    static char runs[RUN_PATH];
    char package[RUN_PATH], folder[RUN_PATH];
    FAIL_IF(!words, ERR_USAGE,
            "try needs [--] PROGRAM ARGS, or RUN: `tomoprof try --help` has examples");
    t.checks = (int)request.checks;
    if (!request.out && text_print(runs, sizeof runs, "%s/try", run_default_folder()))
        request.out = runs;
    TRY(trial_hook(package));
    TRY(arena_create(&t.arena));
    enum err e = command_find(&t, words, word);
    if (!e)
        e = run_make(request.out, folder);
    if (!e && !realpath(folder, t.folder)) /* the program may change its folder */
        e = FAIL(ERR_IO, "%s: cannot be read", folder);
    if (!e && t.from && chdir(t.from))
        e = FAIL(ERR_INPUT, "%s: the folder in which the run was recorded is gone", t.from);
    if (!e)
        e = trial_do(&t, package);
    free(t.command);
    arena_free(t.arena);
    return e;
}

const struct command cmd_try = {
    .name = "try",
    .summary = "Runs a program with tomoprof's faster functions, without editing it.",
    .words = "[--] PROGRAM ARGS | RUN",
    .text =
        "Runs the unchanged Python program several times: as it is; with both computing the first\n"
        "calls, to compare results; with tomoprof's functions in place of slower ones of other\n"
        "packages (MBIRJAX, scipy.ndimage, skimage.transform, astra, nibabel, tifffile,\n"
        "tomopy, zarr). Where\n"
        "several can be replaced, then each alone. Prints what the line and the program take "
        "before\n"
        "and after, memory, how much results differ, and whether output and exit code stay the\n"
        "same. RUN is a recording, whose command is run again.\n"
        "No file of the program changes: an import hook replaces the functions while it runs. The\n"
        "program gets no input, and writes its own files in each run.\n"
        "Writes DIR/<stamp>/: try.json, compare.html, try.diff (the change as a patch, where it "
        "is\n"
        "an import), and the recordings before/ and after/.\n"
        "\n"
        "Examples:\n"
        "  tomoprof try -- python3 reconstruct.py --views 180\n"
        "  tomoprof try latest\n"
        "  tomoprof try --check 5 -- python3 denoise.py\n",
    .options = options,
    .min_words = 0,
    .max_words = 1 << 20,
    .flags = CMD_STOPS | CMD_WRAPS,
    .run = run_try,
};
