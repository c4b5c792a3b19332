/* The command triage: the verdicts of a run, of times or of a profile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/run_files.h"

static struct triage_request {
    const char *cards, *weights, *out;
    int64_t size;
    int json;
} request;

static struct opt options[] = {
    {.name = "device",
     .letter = 'd',
     .kind = OPT_TEXT,
     .value = &request.cards,
     .meta = "A,B",
     .help = "cards to consider (default: all of the table)"},
    {.name = "weights",
     .letter = 'w',
     .kind = OPT_INPUT,
     .value = &request.weights,
     .meta = "FILE",
     .help = "JSON object of weights that differ from the defaults"},
    {.name = "size",
     .letter = 'n',
     .kind = OPT_INT,
     .value = &request.size,
     .meta = "N",
     .help = "edge of the volume (default: the largest measured)",
     .min = 4,
     .max = 65536},
    {.name = "out",
     .letter = 'o',
     .kind = OPT_PLACE,
     .value = &request.out,
     .meta = "DIR",
     .help = "where triage.json, .md and .svg go (default: beside the input)"},
    CLI_OPT_JSON(request.json),
    {0},
};

/* A file is times or a profile by what its "schema" says, or by its content: the format that
 * timing.json extends has none. */
static enum err take_file(const char *word, struct triage_paths *p)
{
    char *text;
    size_t bytes;
    FAIL_IF(strlen(word) >= RUN_PATH, ERR_INPUT, "the path is longer than %d bytes", RUN_PATH);
    path_folder(word, p->folder, RUN_PATH);
    TRY(file_read_all(word, (size_t)1 << 30, &text, &bytes));
    int is_profile = strstr(text, "\"tomoprof-profile/") != NULL;
    int is_timing = strstr(text, "\"measurements\"") != NULL;
    free(text);
    FAIL_IF(!is_profile && !is_timing, ERR_INPUT,
            "%s is neither a timing.json nor a profile.json of a tomoprof run", word);
    snprintf(is_profile ? p->profile : p->timing, RUN_PATH + 16, "%s", word);
    return ERR_OK;
}

static enum err find_input(const char *word, struct triage_paths *p)
{
    if (run_is_file(word) && strstr(word, ".json"))
        return take_file(word, p);
    TRY(run_find(word, p->folder));
    return triage_find(p);
}

static void print_candidates(const struct triage *t, const char *folder)
{
    plain_print(stdout, "%s\n\n%-26s %-7s %5s  %-20s %s\n", t->headline, "operation", "verdict",
                "score", "speedup to the best", "share of a reconstruction");
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        char speed[48] = "-", share[TIMING_NAME + 24] = "-";
        if (c->speedup_rival.low > 0)
            snprintf(speed, sizeof speed, "%.2g to %.2g", c->speedup_rival.low,
                     c->speedup_rival.high);
        if (c->ceiling)
            snprintf(share, sizeof share, "%.3g %% of %s%s", 100 * c->ceiling->share,
                     c->ceiling->workload, c->ceiling->follows ? " and itself" : "");
        plain_print(stdout, "%-26s %-7s %5.0f  %-20s %s\n", c->primitive->name,
                    verdict_name(c->verdict), c->score.total, speed, share);
    }
    for (int i = 0; i < t->notes.count; i++)
        log_info("note: %s", t->notes.text[i]);
    log_info("tomoprof: %s/triage.md and triage.json; `tomoprof report %s` shows them in its page",
             folder, folder);
}

static enum err run_triage(int words, char **word)
{
    struct triage_paths p = {0};
    struct triage *t;
    (void)words;
    TRY(find_input(word[0], &p));
    TRY(triage_of(&p,
                  (struct triage_options){.cards = request.cards,
                                          .weights = request.weights,
                                          .size = (double)request.size},
                  &t));
    const char *folder = request.out ? request.out : p.folder;
    if (!request.out)
        run_private();
    enum err e = request.out ? dir_make(request.out) : ERR_OK;
    if (e == ERR_OK)
        e = triage_files(t, folder);
    if (e == ERR_OK && request.json)
        e = triage_write_json(t, stdout);
    else if (e == ERR_OK)
        print_candidates(t, folder);
    triage_destroy(t);
    return e;
}

const struct command cmd_triage = {
    .name = "triage",
    .summary = "Estimates which operations would benefit from an FPGA, and why.",
    .words = "RUN",
    .text =
        "RUN is a run folder, `latest`, a timing.json or a profile.json. With times alone the "
        "confidence is\n"
        "lower; a profile alone needs --size. Writes triage.json, triage.md and triage.svg beside "
        "the input.\n"
        "A sass.json there (cuda/sass.py --json) adds the instructions of the run's kernels.\n\n"
        "  HIGH     faster than any alternative, with less energy, even at the pessimistic end\n"
        "  MEDIUM   worth a study: measure what it names first\n"
        "  LOW      an FPGA can do it, but little is gained\n"
        "  NO       an alternative is better, or nothing can be gained\n\n"
        "Cards: u55c u280 u250 v80 vck5000 kv260 zu7ev agilex7m. Weights: docs/triage.md.\n\n"
        "Example: tomoprof triage latest --device u55c,v80\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_triage,
};
