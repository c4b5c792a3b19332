/* Tables of the file that the import hook leaves of a process, and of try.json. X(kind, type, name, meaning);
 * kinds: base/json/json.h. */
#ifndef TP_CLI_TRIAL_TRIAL_FIELDS_H
#define TP_CLI_TRIAL_TRIAL_FIELDS_H

#include "base/json/json.h"

/* clang-format off */

/* Calls of a function from one line. */
#define TRIAL_CALL_FIELDS(X)                                                                       \
    X(TEXT, _, module, "as the program imports it")                                                \
    X(TEXT, _, name, "of the function")                                                            \
    X(TEXT, _, ours, "module to import in its place")                                              \
    X(TEXT, _, label, "what computed in its place")                                                \
    X(TEXT, _, equal, "how equal it is, in words")                                                 \
    X(REAL, _, tolerance, "relative l2 that the row allows")                                       \
    X(TEXT, _, file, "that calls it")                                                              \
    X(INT, _, line, "")                                                                            \
    X(INT, _, calls, "")                                                                           \
    X(REAL, _, ours_s, "seconds in ours")                                                          \
    X(REAL, _, original_s, "seconds in the original, where it was called")                         \
    X(INT, _, checked, "calls that both computed")                                                 \
    X(REAL, _, relative_l2, "largest of the checked calls; null: none was checked")                \
    X(REAL, _, largest, "difference of two values")                                                \
    X(REAL, _, scale, "largest value of the original's result")                                    \
    X(TEXT, _, refused, "why the original was called; null: ours was")                             \
    X(TEXT, _, failed, "exception that it raised; the original was called then")                          \
    X(TEXT, _, mismatch, "why results cannot be compared value by value; null: they can")

#define TRIAL_PROCESS_FIELDS(X)                                                                    \
    X(TEXT, _, schema, "")                                                                         \
    X(LIST, trial_call, calls, "")                                                                 \
    X(WORDS, _, notes, "what was not replaced")

#define TRIAL_RUN_FIELDS(X)                                                                        \
    X(TEXT, _, name, "of its folder")                                                              \
    X(TEXT, _, replaced, "functions; null: none")                                                  \
    X(REAL, _, wall_s, "")                                                                         \
    X(REAL, _, ready_s, "part of wall_s that waited for a CPU; null unknown")                      \
    X(REAL, _, peak_rss_mb, "")                                                                    \
    X(INT, _, exit_code, "null after a signal")                                                    \
    X(INT, _, signal, "null where it exited")                                                      \
    X(TEXT, _, output, "first difference of stdout from that of the first run, and how many lines; null: none")

#define TRIAL_LINE_FIELDS(X)                                                                       \
    X(TEXT, _, file, "")                                                                           \
    X(INT, _, line, "")                                                                            \
    X(REAL, _, before_s, "wall time at the line")                                                  \
    X(REAL, _, after_s, "with all functions replaced")

#define TRIAL_FILE_FIELDS(X)                                                                       \
    X(TEXT, _, schema, "")                                                                         \
    X(TEXT, _, sentence, "the result")                                                             \
    X(WORDS, _, command, "")                                                                       \
    X(LIST, trial_run, runs, "the program as it is first")                                         \
    X(LIST, trial_line, lines, "that call what was replaced")                                      \
    X(LIST, trial_call, calls, "with all functions replaced; checks from a run of their own")      \
    X(WORDS, _, notes, "what was not replaced")                                                    \
    X(TEXT, _, patch, "file; null: not one import")                                                \
    X(TEXT, _, root, "folder for `git apply`")                                                     \
    X(TEXT, _, page, "file")

JSON_DEFINE(trial_call, TRIAL_CALL_FIELDS)
JSON_DEFINE(trial_process, TRIAL_PROCESS_FIELDS)
JSON_DEFINE(trial_run, TRIAL_RUN_FIELDS)
JSON_DEFINE(trial_line, TRIAL_LINE_FIELDS)
JSON_DEFINE(trial_file, TRIAL_FILE_FIELDS)
JSON_DECLARE(trial_call, TRIAL_CALL_FIELDS)
JSON_DECLARE(trial_process, TRIAL_PROCESS_FIELDS)
JSON_DECLARE(trial_run, TRIAL_RUN_FIELDS)
JSON_DECLARE(trial_line, TRIAL_LINE_FIELDS)
JSON_DECLARE(trial_file, TRIAL_FILE_FIELDS)

/* clang-format on */

#endif
