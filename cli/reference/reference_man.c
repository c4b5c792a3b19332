/* The man page, as roff. */
#include <stdio.h>
#include <string.h>

#include "cli/reference/reference.h"

/* Text as it is: roff reads backslashes, hyphens and a line's first dot or quote otherwise. */
static void man_put_text(const char *s)
{
    int begins = 1;
    for (; *s; s++) {
        if (begins && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        begins = *s == '\n';
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

/* Lines broken and indented as the author did. */
static void put_as_written(const char *s)
{
    puts(".PP\n.nf");
    man_put_text(s);
    if (*s && s[strlen(s) - 1] != '\n')
        putchar('\n');
    puts(".fi");
}

static void put_option(const struct opt *r)
{
    fputs(".TP\n\\fB", stdout);
    if (r->letter)
        printf("\\-%c\\fR, \\fB", r->letter);
    fputs("\\-\\-", stdout);
    man_put_text(r->name);
    fputs("\\fR", stdout);
    if (r->meta) {
        fputs(" \\fI", stdout);
        man_put_text(r->meta);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    man_put_text(r->help);
    putchar('\n');
}

static void put_command(const struct command *c)
{
    printf(".SS tomoprof %s", c->name);
    if (*c->words) {
        putchar(' ');
        man_put_text(c->words);
    }
    putchar('\n');
    man_put_text(c->summary);
    putchar('\n');
    put_as_written(c->text);
    for (const struct opt *r = c->options; r->name; r++)
        if (r->help)
            put_option(r);
}

static const char head[] = ".SH NAME\ntomoprof \\- profiles programs and tomographic "
                           "reconstruction, and reconstructs scans\n"
                           ".SH SYNOPSIS\n.B tomoprof\n.I COMMAND\n[\\fIOPTIONS\\fR] "
                           "[\\fIWORDS\\fR]\n";

static const struct {
    const char *name, *help;
} variables[] = {
    {"TOMOPROF_LOG=error|warn|info|debug", "how much is printed on standard error"},
    {"TOMOPROF_MEMORY=12GiB", "use no more memory than this"},
    {"TOMOPROF_DEVICE_MEMORY=4GiB", "the same of a GPU"},
    {"TOMOPROF_ISA=plain|avx2|avx512", "the vector instructions to use"},
    {"TOMOPROF_CAPTURE_CUPTI=FILE", "the libcupti.so to record GPU work with"},
    {"NO_COLOR=1", "no colours on a terminal"},
};

static const struct {
    const char *code, *help;
} codes[] = {
    {"0", "done"},
    {"1", "the work failed"},
    {"2", "the call or its input is wrong"},
    {"130", "interrupted"},
};

static void put_item(const char *name, const char *help)
{
    fputs(".TP\n\\fB", stdout);
    man_put_text(name);
    fputs("\\fR\n", stdout);
    man_put_text(help);
    putchar('\n');
}

void reference_man(const struct command *const *commands)
{
    printf(".TH TOMOPROF 1 \"\" \"tomoprof %s\" \"User Commands\"\n%s", TP_VERSION, head);
    puts(".SH COMMANDS");
    for (const struct command *const *c = commands; *c; c++)
        if (!((*c)->flags & CMD_HIDDEN))
            put_command(*c);
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        put_item(variables[i].name, variables[i].help);
    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        put_item(codes[i].code, codes[i].help);
    puts("record ends as the program ended that it ran.");
}
