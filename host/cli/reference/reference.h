/* What the tables of commands and options say, in words and for shells: --help, the man page,
 * completion. All on stdout unless a stream is given. */
#ifndef TP_CLI_REFERENCE_REFERENCE_H
#define TP_CLI_REFERENCE_REFERENCE_H

#include <stdio.h>

#include "host/cli/cli.h"

void help_program(FILE *out);
void help_command(const struct command *c);

void reference_man(void);
void reference_bash(void);
void reference_zsh(void);
void reference_fish(void);

/* What may stand in the place of a value: its choices ("auto|cpu|cuda"), NULL where they are not
 * known or the value is a file's name. */
const char *reference_choices(const struct opt *row);

#endif
