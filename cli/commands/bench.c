/* The command `bench`: measures or reads rows, then prints, draws, saves or compares them. */
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/results/bench_report.h"
#include "cli/cli.h"

#define TOLERANCE 5 /* percent, where --fail-over says nothing */

static const char *ops, *sizes, *threads, *backend = "auto", *save, *against, *svg;
static int64_t repeat = 5, seed = 42;
static double fail_over = TOLERANCE;
static int markdown, list;

/* The first rows, up to ROW_AGAINST, say what to measure. */
enum { ROW_AGAINST = 8, ROW_FAIL_OVER };

static struct opt options[] = {
    OPTION_TEXT("ops", 0, ops, "A,B,...", "operations, by name (default: all; --list shows them)"),
    OPTION_TEXT("sizes", 0, sizes, "N,M,...",
                "edges N of the N^3 volume, odd ones too (default 256)"),
    OPTION_TEXT("threads", 't', threads, "N,M,...", "numbers of CPU threads (default: 1 and all)"),
    OPTION_INT("repeat", 0, repeat, "N", "measured runs of each, after a warm-up run (default 5)",
               1, 1e6),
    CLI_OPT_BACKEND(backend),
    OPTION_INT("seed", 0, seed, "N", "seed of the noise (default 42)", 0, 4294967295.0),
    OPTION_OUTPUT("save", 0, save, "FILE", "write the rows as JSON"),
    [ROW_AGAINST] = OPTION_INPUT("against", 0, against, "FILE",
                                 "compare with an earlier --save of the same class of machine"),
    [ROW_FAIL_OVER] =
        OPTION_NUMBER("fail-over", 0, fail_over, "PERCENT",
                      "exit 1 when a row is slower than that against FILE\n(default: report only, "
                      "same within 5)",
                      0.001, 1e6),
    OPTION_FLAG("markdown", 0, markdown, "print targets, rows and growth as Markdown"),
    OPTION_OUTPUT("svg", 0, svg, "FILE", "draw seconds against N, one line for each operation"),
    OPTION_FLAG("list", 0, list, "print the operations and stop"),
    {0},
};

static enum err read_files(int words, char **word, struct bench_results *r)
{
    for (int i = 0; i < ROW_AGAINST; i++)
        FAIL_IF(options[i].seen, ERR_USAGE, "--%s is for measuring, but %s was measured already",
                options[i].name, word[0]);
    for (int i = 0; i < words; i++)
        TRY(bench_read(word[i], r));
    bench_report_head();
    for (int i = 0; i < r->count; i++)
        bench_report_row(&r->rows[i]);
    return ERR_OK;
}

static enum err draw(const struct bench_results *r)
{
    struct outfile file = {0};
    TRY(outfile_open(&file, svg));
    enum err e = bench_report_svg(file.stream, r);
    if (!e)
        e = outfile_commit(&file);
    outfile_abort(&file);
    return e;
}

/* Rows that failed or were not reached are part of the file. */
static enum err measure(struct outfile *file, struct bench_results *r,
                        const struct bench_results *then)
{
    struct bench_plan plan = {.ops = ops,
                              .sizes = sizes,
                              .threads = threads,
                              .repeat = repeat,
                              .backend = backend,
                              .version = TP_VERSION,
                              .seed = (uint64_t)seed,
                              .stop = &cli_stop};
    TRY(cli_program(&plan.program));
    TRY(bench_prepare(&plan, r));
    if (against)
        TRY(bench_same_class(against, then, r, NULL));
    if (save)
        TRY(outfile_open(file, save));
    bench_report_head();
    enum err e = bench_run(&plan, r, bench_report_row);
    if (save && (!e || e == ERR_FAILED || e == ERR_INTERRUPTED)) {
        bench_write(file->stream, r);
        TRY(outfile_commit(file));
    }
    return e;
}

static enum err run(int words, char **word)
{
    struct bench_results now = {0}, then = {0};
    struct outfile file = {0};
    enum err e = ERR_OK;
    if (list) {
        bench_report_list();
        return ERR_OK;
    }
    FAIL_IF(options[ROW_FAIL_OVER].seen && !against, ERR_USAGE, "--fail-over needs --against FILE");
    if (against)
        TRY_OUT(bench_read(against, &then));
    TRY_OUT(words ? read_files(words, word, &now) : measure(&file, &now, &then));
    if (markdown)
        bench_report_markdown(&now);
    if (svg)
        TRY_OUT(draw(&now));
    if (against)
        e = bench_report_against(&now, against, &then, fail_over, options[ROW_FAIL_OVER].seen);
out:
    outfile_abort(&file);
    bench_free(&now);
    bench_free(&then);
    return e;
}

const struct command cmd_bench = {
    .name = "bench",
    .summary = "Times single operations on 1 to all threads.",
    .words = "[FILE...]",
    .text = "Each operation at each size with each number of threads runs in a process of its own, "
            "between\n"
            "two calibrations of the machine. The table gives the least time, spread, rate, share "
            "of the\n"
            "measured peak, and efficiency of the threads. --against compares time x calibration, "
            "so that\n"
            "a slower moment of the machine is not a regression. FILEs of --save are shown, not "
            "measured.\n"
            "\n"
            "Examples:\n"
            "  tomoprof bench --ops '*_project' --sizes 64,128,255,256 --save now.json\n"
            "  tomoprof bench --save new.json --against old.json --fail-over 10\n"
            "  tomoprof bench new.json --markdown --svg scaling.svg\n",
    .options = options,
    .min_words = 0,
    .max_words = 64,
    .flags = CMD_STOPS,
    .run = run,
};
