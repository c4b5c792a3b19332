/* The command `compare`: two runs as text, JSON or a page, and an exit code for gates. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "profiler/report/compare/compare.h"

static struct compare_request {
    const char *limit_text, *out;
    int json, force;
    int64_t top;
} request = {.top = 20};

static struct opt options[] = {
    OPTION_TEXT("fail-over", 0, request.limit_text, "PERCENT",
                "exit with 1 when an operation, or a program recorded with\n--runs, takes that "
                "much longer in B (10%)"),
    OPTION_TWIN("fail-above", OPT_TEXT, request.limit_text, "PERCENT"),
    OPTION_OUTPUT("out", 'o', request.out, "FILE", "also write the comparison as HTML"),
    OPTION_INT("top", 0, request.top, "N", "lines to print (default 20)", 1, 1e6),
    OPTION_FLAG("force", 0, request.force,
                "judge --fail-over although the machines differ, or without\nrepeated runs"),
    CLI_OPT_JSON(request.json),
    {0},
};

/* "10%" or "10" to 0.1 */
static enum err read_limit(double *limit)
{
    char *end;
    double percent = strtod(request.limit_text, &end);
    int number = end != request.limit_text;
    end += *end == '%';
    FAIL_IF(!number || *end || !(percent >= 0) || percent > 1e6, ERR_USAGE,
            "--fail-over %s: give a percentage of at least 0, as 10%%", request.limit_text);
    *limit = percent / 100;
    return ERR_OK;
}

/* A file as it is, else the run that the word means. */
static enum err find_compared(const char *word, char path[RUN_PATH])
{
    if (!run_is_file(word))
        return run_find(word, path);
    FAIL_IF(!text_print(path, RUN_PATH, "%s", word), ERR_INPUT, "the path %s is too long", word);
    return ERR_OK;
}

/* A recording's own time does not measure a change: one run a side has no known noise. */
static enum err judge_program(const struct comparison *c, double limit)
{
    FAIL_IF(!c->totals_count, ERR_INPUT,
            "--fail-over: no time is known in both runs. Give two runs of `tomoprof run`, `load`, "
            "or `record --runs 5`.");
    const struct compare_total *wall = &c->totals[0];
    FAIL_IF(isnan(wall->low) && !request.force, ERR_INPUT,
            "--fail-over: each side has one run, so the noise is unknown. Record both with --runs "
            "5, or judge the single runs with --force.");
    FAIL_IF(compare_total_over(c, limit), ERR_FAILED,
            "the program's wall time is %.1f %% longer in B, the limit is %g %%%s",
            100 * (wall->ratio - 1), 100 * limit,
            isnan(wall->low) ? "; with one run on a side this may be noise" : "");
    return ERR_OK;
}

static enum err judge_limit(const struct comparison *c, double limit)
{
    FAIL_IF(c->machines_differ && !request.force, ERR_INPUT,
            "the two runs come from different machines (%s): their times must not be judged by "
            "--fail-over; --force does it all the same",
            c->warnings[0]);
    if (!c->operations_count)
        return judge_program(c, limit);
    const struct compare_operation *o = compare_over(c, limit);
    if (!o)
        return ERR_OK;
    char name[COMPARE_NAME];
    compare_operation_name(o, name);
    return FAIL(ERR_FAILED, "%s takes %.1f %% longer in B, the limit is %g %%%s", name,
                100 * (o->ratio - 1), 100 * limit,
                isnan(o->low) ? "; with one warm run on a side this may be noise" : "");
}

static enum err run_compare(int words, char **word)
{
    (void)words;
    double limit = 0;
    char a[RUN_PATH], b[RUN_PATH];
    struct comparison *c;
    if (request.limit_text)
        TRY(read_limit(&limit));
    TRY(find_compared(word[0], a));
    TRY(find_compared(word[1], b));
    TRY(compare_runs(a, b, &c));
    if (request.json)
        compare_json(c, stdout);
    else
        compare_text(c, stdout, (int)request.top);
    enum err e = request.out ? compare_html(c, request.out) : ERR_OK;
    if (e == ERR_OK && request.limit_text)
        e = judge_limit(c, limit);
    compare_free(c);
    return e;
}

const struct command cmd_compare = {
    .name = "compare",
    .summary = "Compares two runs: total time, operations, functions and lines.",
    .words = "A B",
    .text =
        "A and B are run folders of record, run or load, or a timing.json, profile.json or\n"
        "loading.json of each. Times are medians: of warm, untraced runs; of a recorded program, "
        "of\n"
        "the runs that `record --runs` made without the recorder. Each ratio B / A has a 99 %\n"
        "interval: by ranks from 5 runs a side on, by Student's t with fewer. `slower` means that "
        "the\n"
        "whole interval lies above 1.03, `unchanged` that it lies within 10 % of 1; all else is\n"
        "`undecided`. Functions and lines are judged by the sampling error of their CPU time and "
        "by "
        "the\n"
        "noise of the runs, and followed through edits; `gone` and `new` functions have samples on "
        "one\n"
        "side only. Differences of machine and program come first.\n"
        "Between two recordings, rootcause.md of A gets the time that B saved of each cause.\n\n"
        "Examples:\n"
        "  tomoprof compare previous latest\n"
        "  tomoprof compare runs/before runs/after --fail-over 10% --out compare.html\n",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run_compare,
};
