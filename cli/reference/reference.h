/* Prints the tables of commands and options for the man page and for shells, on stdout. `commands`:
 * ended by NULL. */
#ifndef TP_CLI_REFERENCE_REFERENCE_H
#define TP_CLI_REFERENCE_REFERENCE_H

#include "cli/cli.h"

void reference_man(const struct command *const *commands);
void reference_bash(const struct command *const *commands);
void reference_zsh(const struct command *const *commands);
void reference_fish(const struct command *const *commands);

#endif
