/* The program tomoprof-fpga: finds the command, turns errors into a sentence and an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "profiler/fpga/fpga.h"
#include "profiler/fpga/embed/embedded.h"

static struct fpga_data data = FPGA_DATA;
static struct fpga_widths widths = FPGA_WIDTHS;

static struct opt widths_options[] = {
    FPGA_OPT_DATA(data),
    FPGA_OPT_QUALITY(widths),
    FPGA_OPT_OUT(widths),
    {0},
};
static struct opt hls_options[] = {FPGA_OPT_DATA(data), {0}};
static struct opt no_options[] = {{0}};

static enum err run_widths(char **word)
{
    (void)word;
    return fpga_widths_measure(&data, &widths, stdout);
}

static enum err run_hls(char **word)
{
    TRY(fpga_hls_write(&data, word[0], word[1]));
    log_info("%s: `make check` there compares the kernel with its golden vectors", word[1]);
    return ERR_OK;
}

static enum err run_verilog(char **word)
{
    return verilog_export_write(word[0]);
}

static const struct fpga_command {
    const char *name, *summary, *words, *text;
    struct opt *options;
    int words_count;
    enum err (*run)(char **word);
} commands[] = {
    {.name = "widths",
     .summary = "Measures how many bits each stage of a primitive needs.",
     .words = "",
     .text = "Simulates each primitive with rounded stages against itself in float64, on the "
             "two-ellipsoid\n"
             "phantom and on a scan. A line for each: bits of sample, coordinate, coefficient, "
             "product and\n"
             "sum, error and similarity for each data set, small formats that keep the quality "
             "(*: sums in\n"
             "float32). PREFIX.json and PREFIX.svg hold the curves. It takes minutes.\n\n"
             "Example: tomoprof-fpga widths --scan tests/data/tooth.h5\n",
     .options = widths_options,
     .run = run_widths},
    {.name = "hls",
     .summary = "Writes a primitive's C++ kernel for HLS, with test bench and golden vectors.",
     .words = "PRIMITIVE FOLDER",
     .text = "The kernel has the bits that the default quality needs at 64 x 64 pixels:\n"
             "docs/internals/triage-width.md.\n"
             "The vectors are those of the phantom, or of a row of the scan that --scan names.\n"
             "`make check` in FOLDER compiles it with g++ and compares every result.\n\n"
             "PRIMITIVE is one of parallel_forward_project parallel_back_project\n"
             "parallel_hessian_diagonal parallel_fbp_filter cone_forward_project "
             "cone_back_project\n"
             "cone_hessian_diagonal cone_fdk_filter median_filter3d flat_field_and_log.\n\n"
             "Example: tomoprof-fpga hls median_filter3d kernel && make -C kernel check\n",
     .options = hls_options,
     .words_count = 2,
     .run = run_hls},
    {.name = "verilog",
     .summary = "Writes the Verilog cores: median of 3 x 3 x 3, flat field and logarithm.",
     .words = "FOLDER",
     .text = "The cores take a sample per clock and have no back pressure. The first lines of "
             "each file tell\n"
             "its ports and latency; profiler/fpga/README.md tells what they were measured to "
             "need.\n\n"
             "Example: tomoprof-fpga verilog cores\n",
     .options = no_options,
     .words_count = 1,
     .run = run_verilog},
};
#define COMMANDS (int)(sizeof commands / sizeof *commands)

static const char exit_codes[] =
    "Exit codes: 0 done, 1 the work failed, 2 the call or its input is wrong.\n";

static void help_program(FILE *out)
{
    fprintf(out,
            "tomoprof-fpga %s: bit widths and kernels for FPGAs, after `tomoprof triage`.\n\n"
            "Usage: tomoprof-fpga COMMAND [OPTIONS]\n\n",
            TP_VERSION);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`tomoprof-fpga COMMAND --help` teaches one command.\n%s", exit_codes);
}

static void help_command(const struct fpga_command *c)
{
    printf("%s\n\nUsage: tomoprof-fpga %s%s%s [OPTIONS]\n\n%s\nOptions:\n", c->summary, c->name,
           *c->words ? " " : "", c->words, c->text);
    opt_help(c->options);
    printf("  %-24s this text\n\n%s", "-h, --help", exit_codes);
}

static void fpga_on_signal(int number)
{
    outfile_remove_temporaries();
    signal(number, SIG_DFL);
    raise(number); /* delivered when this handler returns: the parent sees the true cause */
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old, action = {.sa_handler = fpga_on_signal, .sa_flags = SA_RESTART};
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup and background jobs of a shell ignore some */
            sigaction(numbers[i], &action, NULL);
    }
}

static int fpga_is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static enum err fpga_run_command(const struct fpga_command *c, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (fpga_is_help(argv[i])) {
            help_command(c);
            return ERR_OK;
        }
    int words = 0;
    TRY(opt_parse(c->options, argc, argv, &words));
    FAIL_IF(words < c->words_count, ERR_USAGE,
            "%s needs %s: `tomoprof-fpga %s --help` has examples", c->name, c->words, c->name);
    FAIL_IF(words > c->words_count, ERR_USAGE,
            "%s: unexpected word \"%s\": `tomoprof-fpga %s --help` has examples", c->name,
            argv[c->words_count], c->name);
    TRY(inputs_check(c->options));
    catch_signals();
    return c->run(argv);
}

static enum err fpga_dispatch(int argc, char **argv)
{
    const char *names[COMMANDS];
    if (argc < 2) {
        help_program(stderr);
        return FAIL(ERR_USAGE, "no command given");
    }
    if (fpga_is_help(argv[1]) || !strcmp(argv[1], "help")) {
        help_program(stdout);
        return ERR_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("tomoprof-fpga %s\n", TP_VERSION);
        return ERR_OK;
    }
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (!strcmp(names[i], argv[1]))
            return fpga_run_command(&commands[i], argc - 2, argv + 2);
    }
    const char *near = opt_nearest(argv[1], names, COMMANDS);
    if (near)
        return FAIL(ERR_USAGE, "unknown command \"%s\": did you mean `tomoprof-fpga %s`?", argv[1],
                    near);
    return FAIL(ERR_USAGE, "unknown command \"%s\": `tomoprof-fpga --help` lists them", argv[1]);
}

static void spell_options(char *text)
{
    for (int i = 0; i < COMMANDS; i++)
        opt_spell(commands[i].options, text);
}

int main(int argc, char **argv)
{
    plain_stdout();
    err_speller = spell_options;
    enum err e = fpga_dispatch(argc, argv);
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && e == ERR_OK)
        e = FAIL(ERR_IO, "standard output: writing failed: %s", strerror(errno ? errno : EIO));
    if (e) {
        progress_end();
        fprintf(stderr, "tomoprof-fpga: %s\n", err_text());
        log_debug("%s at %s", err_name(e), err_where());
    }
    return err_exit_code(e);
}
