/* The composition root: registers the back ends, finds the command, turns errors into a sentence
 * and an exit code. Nobody else prints errors or exits. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/reference/reference.h"
#include "cuda/cuda.h"
#include "host/backend/registry.h"
#include "host/cluster/cluster.h"
#include "host/cpu/cpu.h"
#include "profiler/trace/secrets.h"

static const char exit_codes[] =
    "Exit codes: 0 done, 1 the work failed, 2 the call or its input is wrong, 130 interrupted.\n";

/* `commands`: ended by NULL. */
static void help_program(FILE *out, const struct command *const *commands)
{
    fprintf(out,
            "tomoprof %s: profiles programs line by line, and reconstructs scans.\n\n"
            "Usage: tomoprof COMMAND [OPTIONS]\n\n",
            TP_VERSION);
    for (const struct command *const *c = commands; *c; c++)
        if (!((*c)->flags & CMD_HIDDEN))
            fprintf(out, "  %-8s %s\n", (*c)->name, (*c)->summary);
    fprintf(out,
            "\n`tomoprof COMMAND --help` teaches one command. Start with: tomoprof record python3 "
            "SCRIPT\n"
            "Environment: TOMOPROF_LOG=error|warn|info|debug, TOMOPROF_MEMORY=12GiB (use no\n"
            "more), TOMOPROF_ISA=plain|avx2|avx512, NO_COLOR=1.\n%s",
            exit_codes);
}

static void help_command(const struct command *c)
{
    printf("%s\n\nUsage: tomoprof %s%s%s [OPTIONS]\n\n%s\nOptions:\n", c->summary, c->name,
           *c->words ? " " : "", c->words, c->text);
    opt_help(c->options);
    printf("  %-24s this text\n\n%s", "-h, --help", exit_codes);
}

static const struct command *const commands[] = {
    &cmd_record, &cmd_try,    &cmd_report,    &cmd_compare, &cmd_export, &cmd_import,
    &cmd_recon,  &cmd_apply,  &cmd_simulate,  &cmd_info,    &cmd_load,   &cmd_convert,
    &cmd_run,    &cmd_triage, &cmd_doctor,    &cmd_top,     &cmd_dump,   &cmd_list,
    &cmd_menu,   &cmd_child,  &cmd_reference, &cmd_width,   NULL,
};
#define COMMANDS (int)(sizeof commands / sizeof *commands - 1)

static int is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name) ||
            (commands[i]->older && !strcmp(commands[i]->older, name)))
            return commands[i];
    return NULL;
}

static enum err unknown_command(const char *name)
{
    const char *names[COMMANDS];
    int n = 0;
    FAIL_IF(!strcmp(name, "bench"), ERR_USAGE,
            "the command `bench` was removed: `tomoprof run --group benchmark` times its "
            "operations, `tomoprof compare A B` compares two runs");
    for (int i = 0; i < COMMANDS; i++)
        if (!(commands[i]->flags & CMD_HIDDEN))
            names[n++] = commands[i]->name;
    const char *near = opt_nearest(name, names, n);
    if (near)
        return FAIL(ERR_USAGE, "unknown command \"%s\": did you mean `tomoprof %s`?", name, near);
    return FAIL(ERR_USAGE, "unknown command \"%s\": `tomoprof --help` lists them", name);
}

/* A variable with a typing error would otherwise be ignored in silence. */
static enum err check_environment(void)
{
    static const char *const levels[] = {"error", "warn", "info", "debug", NULL};
    static const char *const sets[] = {"plain", "avx2", "avx512", NULL};
    static const struct {
        const char *name, *choices;
        const char *const *values;
    } rows[] = {{"TOMOPROF_LOG", "error|warn|info|debug", levels},
                {"TOMOPROF_ISA", "plain|avx2|avx512", sets}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = getenv(rows[i].name);
        int known = !value || !*value;
        for (int k = 0; !known && rows[i].values[k]; k++)
            known = !strcmp(value, rows[i].values[k]);
        FAIL_IF(!known, ERR_USAGE, "%s=%s: must be one of %s", rows[i].name, value,
                rows[i].choices);
    }
    static const char *const amounts[] = {"TOMOPROF_MEMORY", BACKEND_DEVICE_MEMORY};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        size_t bytes;
        const char *memory = getenv(amounts[i]);
        enum err e = memory && *memory ? mem_parse(memory, &bytes) : ERR_OK;
        if (e)
            return err_prefix(e, "%s", amounts[i]);
    }
    return ERR_OK;
}

/* --device-memory, handed on as the environment has it, where nothing means no limit. */
static enum err limit_device(void)
{
    size_t bytes;
    if (!cli_device_memory)
        return ERR_OK;
    enum err e = mem_parse(cli_device_memory, &bytes);
    if (e)
        return err_prefix(e, "--device-memory");
    FAIL_IF(bytes == 0, ERR_USAGE,
            "--device-memory: \"%s\" leaves no memory: write 512MiB or 12GiB, or leave it out",
            cli_device_memory);
    FAIL_IF(setenv(BACKEND_DEVICE_MEMORY, cli_device_memory, 1), ERR_MEMORY,
            "no memory for the environment");
    return ERR_OK;
}

/* A word is a file, a run, or a name of another kind. */
static enum err note_input(const char *word, int remade)
{
    char folder[RUN_PATH];
    if (run_is_file(word) || run_find(word, folder))
        return inputs_note(word, remade);
    return inputs_note(folder, remade);
}

static enum err run_command(const struct command *c, int argc, char **argv)
{
    int wraps = (c->flags & CMD_WRAPS) != 0;
    const int own = wraps ? opt_leading(c->options, argc, argv) : argc;
    for (int i = 0; i < own && strcmp(argv[i], "--"); i++)
        if (is_help(argv[i])) {
            help_command(c);
            return ERR_OK;
        }
    int words = 0;
    TRY(check_environment());
    TRY((wraps ? opt_parse_leading : opt_parse)(c->options, argc, argv, &words));
    TRY(limit_device());
    FAIL_IF(words < c->min_words, ERR_USAGE, "%s needs %s: `tomoprof %s --help` has examples",
            c->name, c->words, c->name);
    FAIL_IF(words > c->max_words, ERR_USAGE,
            "%s: unexpected word \"%s\": `tomoprof %s --help` has examples", c->name,
            argv[c->max_words], c->name);
    const int inputs = words - ((c->flags & CMD_WRITES) != 0);
    for (int i = 0; !wraps && i < inputs; i++)
        TRY(note_input(argv[i], (c->flags & CMD_REMAKES) != 0));
    TRY(inputs_check(c->options));
    cli_catch_signals((c->flags & CMD_STOPS) != 0);
    return c->run(words, argv);
}

static enum err dispatch_command(int argc, char **argv)
{
    if (argc < 2) {
        help_program(stdout, commands);
        return ERR_OK;
    }
    if (is_help(argv[1]) || !strcmp(argv[1], "help")) {
        const struct command *c = argc > 2 ? find_command(argv[2]) : NULL;
        if (c)
            help_command(c);
        else
            help_program(stdout, commands);
        return argc > 2 && !c ? unknown_command(argv[2]) : ERR_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("tomoprof %s\n", TP_VERSION);
        return ERR_OK;
    }
    const struct command *c = find_command(argv[1]);
    if (!c)
        return unknown_command(argv[1]);
    return run_command(c, argc - 2, argv + 2);
}

/* As the program did, without a second core file. */
static void die_of(int number)
{
    sigset_t set;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    cli_end.exit_code = 128 + number; /* a signal whose default is not to kill */
}

/* In what libraries say, parameters become options: of any command, for advice names those of others. Secrets in
 * addresses are masked; a value of one or two bytes costs the sentence its end. */
static void spell_options(char *text)
{
    char copy[4096];
    for (int i = 0; i < COMMANDS; i++)
        opt_spell(commands[i]->options, text);
    if (strstr(text, "://") && strlen(text) < sizeof copy) {
        strcpy(copy, text);
        secrets_mask_addresses(copy, text, strlen(copy) + 1); /* logs are kept and sent */
    }
}

static int whole_program(int argc, char **argv)
{
    plain_stdout();
    cli_commands = commands;
    err_speller = spell_options;
    file_limit_is_error();
    backend_register_loader("cuda", cuda_load);
    backend_register(&cpu_backend);
    enum err e = dispatch_command(argc, argv);
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && e == ERR_OK)
        e = FAIL(ERR_IO, "standard output: writing failed: %s", strerror(errno ? errno : EIO));
    if (e) {
        progress_end();
        if (!cli_end.silent)
            fprintf(stderr, "tomoprof: %s\n", err_text());
        log_debug("%s at %s", err_name(e), err_where());
    }
    cluster_end(e ? err_exit_code(e) : cli_end.exit_code);
    if (!e && cli_end.signal)
        die_of(cli_end.signal);
    return e ? err_exit_code(e) : cli_end.exit_code;
}

#define STACK_LEAST ((rlim_t)1 << 20)
#define STACK_BYTES ((size_t)8 << 20)

static struct {
    int argc;
    char **argv;
} call;

static void *on_thread(void *unused)
{
    (void)unused;
    exit(whole_program(call.argc, call.argv));
}

/* Under a small limit (ulimit -s 64) on the stack of a thread, which is memory like any other: the
 * limit stays what it is for a program that is recorded. */
int main(int argc, char **argv)
{
    struct rlimit stack;
    pthread_attr_t attr;
    pthread_t thread;
    if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur >= STACK_LEAST)
        return whole_program(argc, argv);
    call.argc = argc;
    call.argv = argv;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (!pthread_create(&thread, &attr, on_thread, NULL))
        pthread_join(thread, NULL); /* ends with the process */
    return whole_program(argc, argv);
}
