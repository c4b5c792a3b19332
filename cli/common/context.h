/* State of the process that commands share: signals, how it ends, which program it is. */
#ifndef TP_CLI_COMMON_CONTEXT_H
#define TP_CLI_COMMON_CONTEXT_H

#include <signal.h>

#include "base/err.h"

/* All commands, ended by NULL; main sets it. */
extern const struct command *const *cli_commands;

/* 1 after SIGINT or SIGTERM. For `const volatile int *stop` of long work of CMD_STOPS commands; a
 * second signal ends the process at once. Temporaries of half-written outputs are removed either
 * way. */
extern volatile sig_atomic_t cli_stop;
/* `stops`: the first signal sets cli_stop; 0: it ends the process. */
void cli_catch_signals(int stops);
/* From here on the first signal sets cli_stop (1), for what is there would be lost otherwise, or ends
 * this process at once (0). */
void cli_signals_stop(int stops);

/* How main ends after a command that did its work: as the program ended that `record` ran. */
struct cli_end {
    int exit_code, signal; /* signal 0: exits */
    int silent;            /* another process of the job tells the error */
};
extern struct cli_end cli_end;

/* --device-memory of the command at hand, for the back end and for child processes. */
extern const char *cli_device_memory;

/* Finds the absolute path of this program. ERR_IO when the system does not tell. */
enum err cli_program(const char **path);

#endif
