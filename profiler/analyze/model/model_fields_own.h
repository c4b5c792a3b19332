/* profile.json: the call tree of own code, and what its lines did (see model_fields.h for the form). */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_OWN_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_OWN_H

/* clang-format off */

/* The call tree of own code alone. What libraries take belongs to the own line that called them; a
 * line is once on a path, at its innermost place. Values are those of samples that end there. */
#define MODEL_OWN_FIELDS(X)                                                                        \
    X(INDEX, _, parent, "node towards the root, always before this one")                           \
    X(TEXT, _, kind, "run (no own code), code, import (Python's import machinery), workers (of a pool, no own code)")                \
    X(TEXT, _, file, "key of files; null where the program has no line table")                     \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, function, "")                                                                       \
    X(TEXT, _, module, "of native code")                                                           \
    X(INT, _, cpu_ns, "CPU time, threads added")                                                   \
    X(INT, _, samples, "CPU samples")                                                              \
    X(INT, _, wait_ns, "waiting, threads added")                                                   \
    X(INT, _, gpu_ns, "of what was launched there")                                                \
    X(INT, _, path_cpu_ns, "part of the run's wall time that was computing, see docs/profile.md")  \
    X(INT, _, path_wait_ns, "part of the run's wall time that was waiting, likewise")              \
    X(TEXT, _, waits_for, "what most of path_wait_ns was: sleep, io, events, lock, requests (idle), child; null none") \
    X(TEXT, _, child, "while it waited, the program that its process, or one below that, had started and that ran longest; null none")

/* CPU time of rows of own, by what they and the libraries below them did. Rows below 0.05 % of the
 * run's CPU time are left out. */
#define MODEL_WORK_FIELDS(X)                                                                       \
    X(INDEX, _, own, "in own")                                                                     \
    X(TEXT, _, kind, "stable key; call: any other function, python: the interpreter, self: own code") \
    X(TEXT, _, what, "in words, or the function's name")                                           \
    X(INT, _, cpu_ns, "")

/* clang-format on */

#endif
