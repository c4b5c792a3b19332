/* profile.json: the call tree of own code, what its lines did, and ranges of its time (see model_fields.h for the form). */
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

/* Regions and NVTX ranges. */
#define MODEL_RANGE_OWN_FIELDS(X)                                                                  \
    X(INDEX, _, own, "in own")                                                                     \
    X(INT, _, cpu_ns, "CPU time meanwhile, threads added")                                         \
    X(INT, _, wait_ns, "waiting meanwhile, of the range's thread, for a CPU left out")
#define MODEL_RANGE_PAYLOAD_FIELDS(X)                                                              \
    X(INT, _, payload, "")                                                                         \
    X(ONE, model_stat, time, "of ranges with it")                                                  \
    X(REAL, _, cpu_s, "CPU time meanwhile")
#define MODEL_RANGE_FIELDS(X)                                                                      \
    X(TEXT, _, domain, "NVTX; null is the default one")                                            \
    X(TEXT, _, name, "")                                                                           \
    X(TEXT, _, style, "push_pop, start_stop, mark")                                                \
    X(INT, _, open, "instances that never ended, not part of time")                                \
    X(ONE, model_stat, time, "on the host")                                                        \
    X(REAL, _, cpu_s, "CPU time meanwhile, see docs/profile.md")                                   \
    X(REAL, _, wait_s, "its threads waited meanwhile, for a CPU left out")                         \
    X(REAL, _, ready_s, "its threads waited for a CPU meanwhile")                                  \
    X(TEXT, _, answer, "what takes its time; null: it is too short to tell")                       \
    X(TEXT, _, advice, "what to do about it; null: none")                                          \
    X(LIST, model_range_own, own, "its time by row of own; rows of 1 % of it")                     \
    X(LIST, model_range_payload, payloads, "by NVTX payload, of the suite the size; empty where it has none, or above 30") \
    X(TEXT, _, file, "key of files, of the own line with most of it; null: none")                  \
    X(INT, _, line, "likewise")                                                                    \
    X(REAL, _, line_cpu_s, "part of cpu_s at that line")                                           \
    X(INT, _, gpu_n, "device operations launched inside, on the range's thread")                   \
    X(REAL, _, gpu_sum_s, "sum of them")                                                           \
    X(REAL, _, gpu_projected_s, "sum of the spans from each instance's first to its last")

#define MODEL_RANGE_STRUCTS(X)                                                                     \
    X(model_range_own, MODEL_RANGE_OWN_FIELDS)                                                     \
    X(model_range_payload, MODEL_RANGE_PAYLOAD_FIELDS)                                             \
    X(model_range, MODEL_RANGE_FIELDS)

/* clang-format on */

#endif
