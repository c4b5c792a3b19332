/* profile.json: waits for locks (see model_fields.h for the form). */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_LOCK_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_LOCK_H

/* clang-format off */

#define MODEL_HOLDER_FIELDS(X)                                                                     \
    X(TEXT, _, file, "key of files; null where no line is known")                                  \
    X(INT, _, line, "where the thread was that held the lock, in the function that took it")       \
    X(TEXT, _, function, "")                                                                       \
    X(TEXT, _, native, "compiled function that it was in; null: the interpreter itself")           \
    X(TEXT, _, locked_file, "where a function called from the line took the lock; null: it took it itself") \
    X(INT, _, locked_line, "")                                                                     \
    X(FLAG, _, asleep, "it slept meanwhile: a lock is held across a wait")                         \
    X(REAL, _, held_s, "seconds that threads of the row waited meanwhile, sampled")                \
    X(REAL, _, share, "held_s / wait_s of the row")
#define MODEL_LOCK_FIELDS(X)                                                                       \
    X(INDEX, _, process, "in processes")                                                           \
    X(TEXT, _, kind, "gil mutex rwlock condition semaphore python_lock futex")                     \
    X(TEXT, _, role, "contention: another thread held it; work: it waits for a signal or for work")\
    X(INT, _, locks, "how many different locks")                                                   \
    X(TEXT, _, file, "key of files; null where no line is known")                                  \
    X(INT, _, line, "where threads wait for it")                                                   \
    X(TEXT, _, function, "")                                                                       \
    X(INT, _, waits, "of 100 us or more")                                                          \
    X(INT, _, threads, "that waited")                                                              \
    X(REAL, _, wait_s, "threads added; with the time until a CPU was free")                        \
    X(REAL, _, longest_s, "of one wait")                                                           \
    X(REAL, _, bin_s, "length of the parts of waited_s, from the first process's start")           \
    X(NUMBERS, _, waited_s, "wait_s over time; of rows with 0.1 % of their process's longest")      \
    X(LIST, model_holder, holders, "by held_s; at most 20")                                        \
    X(REAL, _, unknown_s, "part of wait_s for which no holder's line is known; null for work")     \
    X(REAL, _, cpu_wait_s, "part of wait_s: the holder itself waited for a CPU")                   \
    X(TEXT, _, reason, "why; null where all is known")
#define MODEL_CONTENTION_FIELDS(X)                                                                 \
    X(INDEX, _, process, "in processes")                                                           \
    X(INT, _, threads, "that waited for a lock which another one held")                            \
    X(INT, _, at_once, "most threads at a moment that waited for a lock or held it")                 \
    X(REAL, _, wait_s, "sum of their waits")                                                       \
    X(REAL, _, gil_s, "part of wait_s: the interpreter's lock")                                    \
    X(REAL, _, any_s, "wall time in which at least one waited so")                                 \
    X(REAL, _, both_s, "wall time in which at least two threads wanted to run")                    \
    X(REAL, _, ran, "threads at a time then that no lock held up, mean: on a CPU or ready for one")\
    X(REAL, _, on_cpu, "part of ran: on a CPU; the others waited for one")                         \
    X(REAL, _, wanted, "ran, and those that waited for a lock another thread held")                \
    X(REAL, _, python_share, "of the GIL's holders: the interpreter itself, no compiled code")     \
    X(REAL, _, work_s, "waits for signals and for work (idle threads)")                            \
    X(REAL, _, unseen_s, "waits in futexes without a record: joins, barriers, OpenMP, the C library")

/* clang-format on */

#endif
