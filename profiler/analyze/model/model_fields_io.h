/* The part of profile.json that is about input and output, row by row: model_fields.h, which
 * includes it. */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_IO_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_IO_H

#include "profiler/analyze/model/model_fields_load.h"

/* clang-format off */

#define MODEL_IO_CALLS_FIELDS(X)                                                                   \
    X(INT, _, calls, "of the kernel; those of stdio as far as they show")                          \
    X(REAL, _, mb, "bytes moved")                                                                  \
    X(REAL, _, s, "in these calls, threads added; of a socket also in poll and select before them") \
    X(INT, _, waited, "calls that took so long that they waited for more than memory")             \
    X(REAL, _, waited_mb, "their bytes")                                                           \
    X(REAL, _, waited_s, "their time, part of s")                                                  \
    X(INT, _, errors, "calls that failed")                                                         \
    X(REAL, _, p50_us, "median time of a call, within 12 %; of reads and writes")                  \
    X(REAL, _, p95_us, "likewise")                                                                 \
    X(REAL, _, p99_us, "likewise")                                                                 \
    X(REAL, _, sequential_share, "of the bytes: continued an earlier call, at most 128 KiB behind it")\
    X(INT, _, next, "calls that began where an earlier one ended, or first of all")                \
    X(INT, _, near, "calls up to 128 KiB behind that")                                             \
    X(INT, _, forward, "calls further on")                                                         \
    X(INT, _, back, "calls before it")                                                             \
    X(REAL, _, jump_mb, "median distance of forward and back, within a factor of 1.4")             \
    X(COUNTS, _, sizes, "calls of up to 100 B, 1 KiB, 10 KiB, 100 KiB, 1, 4, 10, 100 MiB, 1 GiB, more")
#define MODEL_IO_PLACE_FIELDS(X)                                                                   \
    X(TEXT, _, file, "key of files; null where no source line is known")                           \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, module, "of native code without lines")                                             \
    X(TEXT, _, op, "read, write, open, seek, sync, connect, map")                                  \
    X(REAL, _, calls, "estimated where stacks were not taken for each call")                       \
    X(REAL, _, mb, "likewise")                                                                     \
    X(REAL, _, s, "likewise")                                                                      \
    X(REAL, _, waited_s, "likewise")
#define MODEL_IO_MOMENT_FIELDS(X)                                                                  \
    X(INT, _, t_us, "since the first process's start")                                             \
    X(INT, _, offset, "in the file")                                                               \
    X(INT, _, bytes, "")                                                                           \
    X(INT, _, op, "0 read, 1 write")
#define MODEL_IO_FILE_FIELDS(X)                                                                    \
    X(TEXT, _, path, "of a file; host:port of a socket; * for many files of a folder")             \
    X(TEXT, _, kind, "file, memory, kernel, pipe, terminal, socket, other")                        \
    X(TEXT, _, file_system, "its name by the kernel; null unknown")                                \
    X(TEXT, _, mount, "where that is mounted")                                                     \
    X(REAL, _, size_mb, "when it was opened last")                                                 \
    X(REAL, _, cached_share, "of its size, in the page cache when it was opened first; null below 1 MiB")\
    X(FLAG, _, direct, "opened past the page cache")                                               \
    X(INT, _, processes, "that used it")                                                           \
    X(ONE, model_io_calls, read, "")                                                               \
    X(ONE, model_io_calls, write, "")                                                              \
    X(INT, _, opens, "calls of open and close")                                                    \
    X(REAL, _, open_s, "")                                                                         \
    X(INT, _, seeks, "")                                                                           \
    X(REAL, _, seek_s, "")                                                                         \
    X(INT, _, syncs, "fsync and its like")                                                         \
    X(REAL, _, sync_s, "")                                                                         \
    X(INT, _, connects, "")                                                                        \
    X(REAL, _, connect_s, "")                                                                      \
    X(REAL, _, s, "in all these calls")                                                            \
    X(REAL, _, waited_s, "part of s: waited for more than memory")                                 \
    X(REAL, _, mapped_mb, "in memory by mmap, added up")                                           \
    X(REAL, _, touched_mb, "of that, what the processes had in their page tables: at most this was used")\
    X(REAL, _, unique_mb, "bytes read at least once, by each process")                             \
    X(REAL, _, unique_error_mb, "standard error of it at most; 0: exact to 64 bytes")              \
    X(REAL, _, reread, "read.mb / unique_mb: how often each byte was read")                        \
    X(INT, _, requests, "of a socket: times that it was read after it had been written")           \
    X(REAL, _, first_byte_ms, "mean time from the last write to what was read then")               \
    X(REAL, _, in_flight, "requests that waited for their first byte, mean while there was one")   \
    X(LIST, model_io_place, lines, "where the calls are made, at most 20, by s")                   \
    X(INT, _, moment_stride, "moments are one call in so many")                                    \
    X(TABLE, model_io_moment, moments, "calls over time; of the 32 files with most time")
#define MODEL_IO_FIELDS(X)                                                                         \
    X(LIST, model_io_file, files, "by s, at most 300")                                             \
    X(INT, _, files_more, "files that are not in the list")                                        \
    X(LIST, model_io_file, endpoints, "sockets, by s")                                             \
    X(ONE, model_io_calls, read, "of all files and endpoints")                                     \
    X(ONE, model_io_calls, write, "likewise")                                                      \
    X(REAL, _, open_s, "open and close")                                                           \
    X(REAL, _, sync_s, "")                                                                         \
    X(REAL, _, kernel_read_mb, "rchar by the kernel, without what the recorder read itself")       \
    X(REAL, _, kernel_write_mb, "wchar, likewise")                                                 \
    X(REAL, _, seen_read_mb, "of read.mb: what rchar counts, which recv is not")                   \
    X(REAL, _, seen_write_mb, "of write.mb, likewise")                                             \
    X(REAL, _, unseen_read_mb, "kernel_read_mb - seen_read_mb")                                    \
    X(REAL, _, unseen_write_mb, "kernel_write_mb - seen_write_mb")                                 \
    X(REAL, _, storage_read_mb, "that the kernel fetched from storage")                            \
    X(REAL, _, storage_write_mb, "that will go to storage, or went")                               \
    X(INT, _, major_faults, "page faults that waited for storage")                                 \
    X(INT, _, minor_faults, "other page faults")                                                   \
    X(INT, _, unplaced, "calls that found their file's row in use: in no histogram")               \
    X(INT, _, ring_calls, "on queues of io_uring and AIO")                                         \
    X(INT, _, ring_requests, "of them whose results were seen: in files, endpoints and lines")     \
    X(INT, _, ring_lost, "requests whose results were not seen: in no sum")                        \
    X(LIST, model_reading, reading, "lines that read, by time, at most 20")                        \
    X(LIST, model_disk, disks, "of /proc/diskstats, that had requests, by time busy")              \
    X(TEXT, _, disks_reason, "why disks are not known; null where they are")                       \
    X(MAYBE, model_group_io, group, "of the control group's io.stat")                              \
    X(TEXT, _, group_reason, "why that is null")
/* Calls and bytes of a line or a function, self. */
#define MODEL_LINE_IO_FIELDS(X)                                                                    \
    X(REAL, _, calls, "estimated where stacks were not taken for each call")                       \
    X(REAL, _, read_mb, "likewise")                                                                \
    X(REAL, _, write_mb, "likewise")                                                               \
    X(REAL, _, s, "in these calls")                                                                \
    X(REAL, _, waited_s, "part of s: waited for more than memory")

/* clang-format on */

#endif
