/* The traces of a run to its profile.json. */
#ifndef TP_CLI_RUNS_PROFILE_H
#define TP_CLI_RUNS_PROFILE_H

#include "base/err.h"
#include "base/run_folder.h"
#include "profiler/analyze/analyze.h"

struct profile_options {
    const char *include, *exclude; /* comma lists of globs of source files, NULL none */
    int libraries, paths;          /* 1: lines of libraries too; paths as recorded */
    int no_source;                 /* 1: no text of the program's files */
    double from, until;            /* seconds of the run; 0: all of it */
    int after_imports;             /* 1: from the end of the start-up's imports on */
    struct what_if *what_if;       /* to be answered too; NULL: nothing is asked */
    int just_ended;                /* 1: the run ended a moment ago */
};

/* Rows of a command's options. */
/* clang-format off */
#define PROFILE_OPTIONS(o)                                                                         \
    OPTION_TEXT("include", 0, (o).include, "GLOB,...",                                             \
                "attribute time only to source files that match ('*/myproject/*'),\nthe rest to its callers"),\
    OPTION_TEXT("exclude", 0, (o).exclude, "GLOB,...", "attribute what matches to its callers"),      \
    OPTION_FLAG("libraries", 0, (o).libraries, "lines of libraries too, not of user code alone"),  \
    OPTION_FLAG("absolute-paths", 0, (o).paths, "keep paths as they were recorded"),               \
    OPTION_FLAG("no-source", 0, (o).no_source, "no text of the program's files in the profile")
/* clang-format on */

/* Analyses folder/trace and writes folder/profile.json, in a process of its own so that nothing in
 * it changes how this one ends. `top`: see profile_top. ERR_INTERRUPTED after
 * Ctrl-C; the traces stay as they were. */
enum err profile_make_in_child(const char *folder, const struct profile_options *o, char top[256]);

/* The same in this process, with the model in hand; folder/profile.json is written. */
enum err profile_make(const char *folder, const struct profile_options *o, struct model **out);

/* rootcause.md and rootcause.json of a run from its model; none where no finding has a test. */
enum err profile_causes(const char *folder, const struct model *m);

/* The headline: "recon.py:12 takes 34 % of the CPU time (1.2 of 3.5 s).", of the suite's runs that
 * of their times; "" without answers. `m` may be NULL. */
void profile_top(const char *folder, const struct model *m, char top[256]);

/* report.html of a run from what its folder holds; path: its name, `bytes` its size (optional). */
enum err profile_page(const char *folder, char path[RUN_PATH + 16], long long *bytes);

/* Prints the answer and where the page is: one line, and on a terminal two, the path as a link. */
void profile_announce(const char *page, const char *note, const char *top);

/* Opens a page in the browser of this desktop. 0: there is none. */
int profile_open(const char *page);

#endif
