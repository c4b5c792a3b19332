/* record.json, row by row, as profile.json's model_fields.h: each list makes a struct, its writer
 * and its reader. X(kind, type, name, meaning); kinds: base/json/json.h. */
#ifndef TP_CLI_RUNS_RECORD_FIELDS_H
#define TP_CLI_RUNS_RECORD_FIELDS_H

/* clang-format off */

#define LAUNCH_END_FIELDS(X)                                                                       \
    X(INT, _, exit_code, "null after a signal")                                                    \
    X(INT, _, signal, "null where it exited")                                                      \
    X(REAL, _, wall_s, "")                                                                         \
    X(REAL, _, user_s, "CPU time of the program and its children")                                 \
    X(REAL, _, system_s, "likewise")                                                               \
    X(REAL, _, own_user_s, "of its own process alone; null unknown")                               \
    X(REAL, _, own_system_s, "likewise")                                                           \
    X(INT, _, peak_rss_bytes, "")                                                                  \
    X(INT, _, left_running, "processes of it that live on")

/* While it ran, of the whole machine. */
#define LAUNCH_DISK_FIELDS(X)                                                                      \
    X(TEXT, _, name, "")                                                                           \
    X(INT, _, reads, "")                                                                           \
    X(INT, _, read_sectors, "of 512 bytes")                                                        \
    X(INT, _, read_ms, "requests added")                                                           \
    X(INT, _, writes, "")                                                                          \
    X(INT, _, write_sectors, "")                                                                   \
    X(INT, _, write_ms, "")                                                                        \
    X(INT, _, busy_ms, "")                                                                         \
    X(INT, _, queue_ms, "")                                                                        \
    X(REAL, _, busy_most, "share of the busiest second; null: a shorter run")
#define LAUNCH_GROUP_FIELDS(X)                                                                     \
    X(INT, _, reads, "")                                                                           \
    X(INT, _, read_bytes, "")                                                                      \
    X(INT, _, writes, "")                                                                          \
    X(INT, _, write_bytes, "")
#define LAUNCH_CLOCK_FIELDS(X)                                                                     \
    X(TEXT, _, uuid, "of the GPU, hex")                                                            \
    X(REAL, _, most_mhz, "")                                                                       \
    X(REAL, _, mean_mhz, "while it worked")                                                        \
    X(REAL, _, least_mhz, "likewise")                                                              \
    X(INT, _, samples, "in which it worked")                                                       \
    X(INT, _, limited, "of them, in which something limited the clock")                            \
    X(INT, _, why, "bits of NVML's reasons")

#define LAUNCH_PRICES_FIELDS(X)                                                                    \
    X(REAL, _, fork_s, "a forked process that does nothing; null: few processes")                  \
    X(REAL, _, load_s, "a program that does nothing, beside its fork; likewise")                   \
    X(REAL, _, start_s, "the same as the one that is recorded; null: it was longer")               \
    X(REAL, _, signal_s, "delivery of a sample's signal, without its handler")

#define LAUNCH_FILE_FIELDS(X)                                                                      \
    X(TEXT, _, schema, "")                                                                         \
    X(TEXT, _, tomoprof_version, "")                                                               \
    X(WORDS, _, command, "")                                                                       \
    X(INT, _, pid, "")                                                                             \
    X(TEXT, _, modes, "null: all")                                                                 \
    X(TEXT, _, cpu, "model of the processor; null unknown")                                        \
    X(INT, _, cpus, "that the program could use")                                                  \
    X(REAL, _, rate_hz, "null: the capture library's own")                                         \
    X(MAYBE, launch_end, end, "")                                                                  \
    X(MAYBE, launch_end, baseline, "of a bare run before it")                                      \
    X(LIST, launch_end, timed, "`record --runs`: runs without the recorder, after the warm-up")    \
    X(FLAG, _, paused, "the profile begins with the first region")                                 \
    X(INT, _, warmup, "runs before them, which are not kept; null: there were no timed runs")      \
    X(WORDS, _, notes, "what could not be had")                                                    \
    X(REAL, _, disks_s, "time of disks")                                                           \
    X(LIST, launch_disk, disks, "that had requests")                                               \
    X(TEXT, _, disks_reason, "why disks are not known; null where they are")                       \
    X(MAYBE, launch_group, group, "of the control group's io.stat")                                \
    X(TEXT, _, group_reason, "why that is null")                                                   \
    X(LIST, launch_clock, clocks, "of GPUs")                                                       \
    X(TEXT, _, clocks_reason, "why they are not known; null where they are")                       \
    X(MAYBE, launch_prices, prices, "CPU seconds that recording costs; null: not measured")

/* clang-format on */

#endif
