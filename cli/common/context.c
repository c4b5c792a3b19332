/* State of the process that commands share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/common/context.h"
#include "host/store/writer/outdir.h"

volatile sig_atomic_t cli_stop;
const char *cli_device_memory;
struct cli_end cli_end;
const struct command *const *cli_commands;
static volatile sig_atomic_t command_stops;

static void on_signal(int number)
{
    if (command_stops && !cli_stop) {
        cli_stop = 1;
        return;
    }
    outfile_remove_temporaries();
    outdir_remove_temporaries();
    signal(number, SIG_DFL);
    raise(number); /* delivered when this handler returns: the parent sees the true cause */
}

void cli_signals_stop(int stops)
{
    command_stops = stops;
}

void cli_catch_signals(int stops)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    command_stops = stops;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup and background jobs of a shell ignore some */
            sigaction(numbers[i], &action, NULL);
    }
}

enum err cli_program(const char **path)
{
    static char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    FAIL_IF(n <= 0, ERR_IO, "/proc/self/exe: cannot find this program: %s", strerror(errno));
    program[n] = 0;
    *path = program;
    return ERR_OK;
}
