/* Commands: one row each, defined in its own file and listed in main.c. */
#ifndef TP_CLI_CLI_H
#define TP_CLI_CLI_H

#include <stdint.h>

#include "base/err.h"
#include "base/options.h"
#include "cli/common/context.h"
#include "host/store/store.h"

enum command_flags {
    CMD_HIDDEN = 1,  /* not in --help */
    CMD_STOPS = 2,   /* ends by itself, with what it has, once cli_stop is set */
    CMD_WRAPS = 4,   /* its words are another command: options end at the first of them */
    CMD_REMAKES = 8, /* writes profile.json of the run that it reads */
    CMD_WRITES = 16, /* its last word is what it writes */
};

struct command {
    const char *name;
    const char *summary; /* one line of `tomoprof --help` and the first of `tomoprof CMD --help` */
    const char *words;   /* positional words as --help shows them ("FILE"), "" for none */
    const char *text;    /* the rest of --help: what it reads and writes, examples */
    struct opt *options; /* ended by a row of zeros; the parser sets the command's variables */
    int min_words, max_words;
    int flags;
    enum err (*run)(int words, char **word); /* after the options were parsed */
    const char *older; /* an earlier name, which works and which nothing lists; NULL: none */
};

extern const struct command cmd_run, cmd_record, cmd_report, cmd_apply, cmd_recon, cmd_simulate,
    cmd_info, cmd_load, cmd_convert, cmd_doctor, cmd_child, cmd_export, cmd_compare, cmd_triage,
    cmd_reference, cmd_width, cmd_import, cmd_menu, cmd_list, cmd_try, cmd_dump, cmd_top;

/* Rows that several commands share. The macro's arguments are the variables. */
#define CLI_BACKEND_CHOICES "auto|cpu|cuda"
#define CLI_OPT_BACKEND(variable)                                                                  \
    OPTION_TEXT("backend", 0, variable, CLI_BACKEND_CHOICES,                                       \
                "where to compute; auto: cuda where it works, else cpu"),                          \
        OPTION_TEXT("device-memory", 0, cli_device_memory, "SIZE",                                 \
                    "use no more of the GPU's memory, to simulate a smaller card (4GiB)")
#define CLI_OPT_THREADS(variable)                                                                  \
    OPTION_INT("threads", 't', variable, "N", "CPU threads; 0: all that this process may use", 0,  \
               4096)
#define CLI_OPT_LINKS                                                                              \
    OPTION_FLAG("follow-links", 0, store_follow_links,                                             \
                "let links of HDF5 files and Zarr stores lead\nout of their folder; for files "    \
                "that you trust")
#define CLI_OPT_JSON(variable)                                                                     \
    OPTION_FLAG("json", 0, variable, "print the answer as JSON on stdout")

#endif
