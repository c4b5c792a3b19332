/* The hidden command `reference`, which the build calls for man page and completions. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/reference/reference.h"

static struct opt options[] = {
    {0},
};

static const struct {
    const char *name;
    void (*write)(const struct command *const *commands);
} forms[] = {
    {"man", reference_man},
    {"bash", reference_bash},
    {"zsh", reference_zsh},
    {"fish", reference_fish},
};

static enum err run_reference(int words, char **word)
{
    (void)words;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(word[0], forms[i].name)) {
            forms[i].write(cli_commands);
            return ERR_OK;
        }
    return FAIL(ERR_USAGE, "reference %s: must be one of man, bash, zsh, fish", word[0]);
}

const struct command cmd_reference = {
    .name = "reference",
    .summary = "Prints the man page, or completion for a shell, made from the tables of options.",
    .words = "man|bash|zsh|fish",
    .text = "The build installs all four; this prints them for elsewhere.\n\n"
            "Examples:\n"
            "  tomoprof reference man | man -l -\n"
            "  source <(tomoprof reference bash)\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .flags = CMD_HIDDEN,
    .run = run_reference,
};
