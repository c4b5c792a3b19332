/* The hidden command `reference`: the build calls it for man page and completions. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/reference/reference.h"
#include "host/load/load.h"
#include "profiler/findings/findings.h"

/* Writes the rules of root causes as they stand in docs/internals. */
static void reference_rules(const struct command *const *commands)
{
    (void)commands;
    puts("<!-- rules of recordings -->");
    findings_rules_write(stdout);
    puts("<!-- rules end -->\n\n<!-- rules of loading -->");
    load_rules_write(stdout);
    puts("<!-- rules end -->");
}

static struct opt options[] = {
    {0},
};

static const struct {
    const char *name;
    void (*write)(const struct command *const *commands);
} forms[] = {
    {"man", reference_man},   {"bash", reference_bash},   {"zsh", reference_zsh},
    {"fish", reference_fish}, {"rules", reference_rules},
};

static enum err run_reference(int words, char **word)
{
    (void)words;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(word[0], forms[i].name)) {
            forms[i].write(cli_commands);
            return ERR_OK;
        }
    return FAIL(ERR_USAGE, "reference %s: must be one of man, bash, zsh, fish, rules", word[0]);
}

const struct command cmd_reference = {
    .name = "reference",
    .summary = "Prints the man page, completion for a shell, or the rules of findings.",
    .words = "man|bash|zsh|fish|rules",
    .text = "The build installs the first four; this prints them for elsewhere. `rules` prints the "
            "tables of rules\n"
            "for the docs.\n\n"
            "Examples:\n"
            "  tomoprof reference man | man -l -\n"
            "  source <(tomoprof reference bash)\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .flags = CMD_HIDDEN,
    .run = run_reference,
};
