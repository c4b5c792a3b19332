/* The command `compare`: two runs as text, JSON or a page, and an exit code for gates. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/log.h"
#include "host/base/run_folder.h"
#include "host/cli/cli.h"
#include "profiler/report/compare/compare.h"

static const char *limit_text, *out;
static int json, force;
static int64_t top = 20;

static struct opt options[] = {
    OPTION_TEXT("fail-over", 0, limit_text, "PERCENT",
                "exit with 1 when an operation takes that much longer in B (10%)"),
    OPTION_PATH("out", 'o', out, "FILE", "also write the comparison as HTML"),
    OPTION_INT("top", 0, top, "N", "lines to print (default 20)", 1, 1e6),
    OPTION_FLAG("force", 0, force, "judge --fail-over although machine or tool chain differ"),
    CLI_OPT_JSON(json),
    {0},
};

/* "10%" or "10" to 0.1 */
static enum err read_limit(double *limit)
{
    char *end;
    double percent = strtod(limit_text, &end);
    int number = end != limit_text;
    end += *end == '%';
    FAIL_IF(!number || *end || !(percent >= 0) || percent > 1e6, ERR_USAGE,
            "--fail-over %s: give a percentage of at least 0, as 10%%", limit_text);
    *limit = percent / 100;
    return ERR_OK;
}

/* A file as it is, else the run that the word means. */
static enum err find(const char *word, char path[RUN_PATH])
{
    struct stat st;
    if (stat(word, &st) != 0 || !S_ISREG(st.st_mode))
        return run_find(word, path);
    FAIL_IF(snprintf(path, RUN_PATH, "%s", word) >= RUN_PATH, ERR_INPUT, "the path %s is too long",
            word);
    return ERR_OK;
}

static enum err judge(const struct comparison *c, double limit)
{
    FAIL_IF(c->machines_differ && !force, ERR_INPUT,
            "the two runs come from different machines or tool chains (%s): their times must not "
            "be judged by --fail-over; --force does it all the same",
            c->warnings[0]);
    FAIL_IF(c->operations_count == 0, ERR_INPUT,
            "--fail-over needs times of operations in both runs");
    const struct compare_operation *o = compare_over(c, limit);
    FAIL_IF(o, ERR_FAILED, "%s at size %d takes %.1f %% longer in B, the limit is %g %%%s", o->name,
            o->size, 100 * (o->ratio - 1), 100 * limit,
            isnan(o->low) ? "; fewer than 3 runs: this may be noise" : "");
    return ERR_OK;
}

static enum err run(int words, char **word)
{
    (void)words;
    double limit = 0;
    char a[RUN_PATH], b[RUN_PATH];
    struct comparison *c;
    if (limit_text)
        TRY(read_limit(&limit));
    TRY(find(word[0], a));
    TRY(find(word[1], b));
    TRY(compare_runs(a, b, &c));
    if (json)
        compare_json(c, stdout);
    else
        compare_text(c, stdout, (int)top);
    enum err e = out ? compare_html(c, out) : ERR_OK;
    if (e == ERR_OK && limit_text)
        e = judge(c, limit);
    compare_free(c);
    return e;
}

const struct command cmd_compare = {
    "compare",
    "Sets two runs side by side: operations and source lines.",
    "A B",
    "A and B are run folders, or a timing.json or profile.json of each. Times are medians of "
    "warm,\n"
    "untraced runs; from 3 runs a side on, the 95 % interval of their ratio comes from a "
    "bootstrap\n"
    "over the runs, and `slower` means that it lies above 1. Lines are judged by the sampling "
    "error\n"
    "of their CPU time. Differences of machine and tool chain are named first.\n\n"
    "Example: tomoprof compare output/before output/after --fail-over 10% --out compare.html\n",
    options,
    2,
    2,
    0,
    run,
};
