/* Prints the tables of commands and options, in words and for shells: --help, the man page,
 * completion. All on stdout unless a stream is given. */
#ifndef TP_CLI_REFERENCE_REFERENCE_H
#define TP_CLI_REFERENCE_REFERENCE_H

#include <stdio.h>

#include "cli/cli.h"

/* `commands`: ended by NULL. */
void help_program(FILE *out, const struct command *const *commands);
void help_command(const struct command *c);

void reference_man(const struct command *const *commands);
void reference_bash(const struct command *const *commands);
void reference_zsh(const struct command *const *commands);
void reference_fish(const struct command *const *commands);

/* Returns the choices of a value ("auto|cpu|cuda"), NULL where they are not known or the value is a
 * file's name. */
const char *reference_choices(const struct opt *row);

#endif
