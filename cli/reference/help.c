/* --help of the program and of a command. */
#include <stdio.h>

#include "cli/reference/reference.h"

static const char exit_codes[] =
    "Exit codes: 0 done, 1 the work failed, 2 the call or its input is wrong, 130 interrupted.\n";

void help_program(FILE *out, const struct command *const *commands)
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

void help_command(const struct command *c)
{
    printf("%s\n\nUsage: tomoprof %s%s%s [OPTIONS]\n\n%s\nOptions:\n", c->summary, c->name,
           *c->words ? " " : "", c->words, c->text);
    opt_help(c->options);
    printf("  %-24s this text\n\n%s", "-h, --help", exit_codes);
}
