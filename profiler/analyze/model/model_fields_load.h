/* The part of profile.json that is about lines that load and about disks: model_fields_io.h, which
 * includes it. */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_LOAD_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_LOAD_H

/* clang-format off */

/* A line that reads, with all that it calls: where its time goes. Calls by their own clocks, the
 * rest by samples of CPU time. */
#define MODEL_READING_FIELDS(X)                                                                    \
    X(TEXT, _, file, "key of files; null: threads without a line of the program (a pool)")         \
    X(INT, _, line, "")                                                                            \
    X(REAL, _, mb, "read by it")                                                                   \
    X(REAL, _, calls, "of read")                                                                   \
    X(REAL, _, storage_s, "calls on files that waited for more than memory")                       \
    X(REAL, _, ready_s, "calls on files that lost their CPU: the kernel fetched next to nothing")  \
    X(REAL, _, network_s, "calls on sockets that waited")                                          \
    X(REAL, _, copy_s, "the other calls: copies from the page cache")                              \
    X(REAL, _, decode_s, "CPU time in codecs")                                                     \
    X(REAL, _, unnamed_s, "part of decode_s: functions without a name, in a library with a codec") \
    X(TEXT, _, codec, "that took most of it")                                                      \
    X(REAL, _, convert_s, "CPU time in changes of type")                                           \
    X(REAL, _, place_s, "CPU time in copies within memory")                                        \
    X(REAL, _, other_s, "its other CPU time")
/* Counts the whole machine, while the program ran: all programs together. */
#define MODEL_DISK_FIELDS(X)                                                                       \
    X(TEXT, _, name, "as the kernel calls it")                                                     \
    X(INT, _, reads, "requests that ended")                                                        \
    X(REAL, _, read_mb, "")                                                                        \
    X(REAL, _, read_wait_ms, "mean time of a read, in the queue and in the device; null: no reads") \
    X(REAL, _, reads_per_s, "")                                                                    \
    X(INT, _, writes, "")                                                                          \
    X(REAL, _, write_mb, "")                                                                       \
    X(REAL, _, write_wait_ms, "likewise")                                                          \
    X(REAL, _, busy, "0..1 of the time: at least one request was in the device")                   \
    X(REAL, _, busy_most, "the same of the busiest second; null where the run was shorter")        \
    X(REAL, _, queue, "mean requests in queue and device")
#define MODEL_GROUP_IO_FIELDS(X)                                                                   \
    X(INT, _, reads, "")                                                                           \
    X(REAL, _, read_mb, "")                                                                        \
    X(INT, _, writes, "")                                                                          \
    X(REAL, _, write_mb, "")

/* clang-format on */

#endif
