/* timing.json, row by row: each list makes a struct of timing.h, its writer and its reader, and
 * timing.schema.json beside this file is checked against them. X(kind, type, name, meaning); kinds:
 * base/json/json.h. Seconds are doubles, bytes integers. Unknown is null, never 0. */
#ifndef TP_TIMING_TIMING_FIELDS_H
#define TP_TIMING_TIMING_FIELDS_H

/* clang-format off */
#define TIMING_CLOCK_FIELDS(X)                                                                     \
    X(TEXT, _, name, "")                                                                           \
    X(REAL, _, read_ns, "cost of one reading")                                                     \
    X(INT, _, smallest_step_ns, "")                                                                \
    X(FLAG, _, went_back, "")

#define TIMING_ENVIRONMENT_FIELDS(X)                                                               \
    X(TEXT, _, backend, "cpu, cuda")                                                               \
    X(WORDS, _, devices, "")                                                                       \
    X(TEXT, _, tomoprof_version, "")                                                               \
    X(TEXT, _, compiler, "")                                                                       \
    X(TEXT, _, cuda_version, "")                                                                   \
    X(TEXT, _, driver, "of the GPU")                                                               \
    X(TEXT, _, cpu, "")                                                                            \
    X(INT, _, threads, "")                                                                         \
    X(TEXT, _, isa, "instruction set of the kernels")                                              \
    X(REAL, _, memory_bytes, "of the machine")                                                     \
    X(TEXT, _, os, "")                                                                             \
    X(TEXT, _, kernel, "")                                                                         \
    X(EXTRA, _, ranks, "processes that shared the work; without it one")                           \
    X(ONE, timing_clock, clock, "self-test of the clock before the run")

#define TIMING_FINGERPRINT_FIELDS(X)                                                               \
    X(REAL, _, sum, "of the result's values, in float64")                                          \
    X(REAL, _, l2, "norm")                                                                         \
    X(REAL, _, min, "") X(REAL, _, max, "")

#define TIMING_CALIBRATION_FIELDS(X)                                                               \
    X(REAL, _, gflops, "float32 multiply-add")                                                     \
    X(REAL, _, gbytes_per_s, "copy of large arrays")                                               \
    X(REAL, _, cached_gbytes_per_s, "copy of arrays of the operation's size")                      \
    X(EXTRA, _, like_runs_gbytes_per_s, "the same, median, each copy looked at before the next")   \
    X(EXTRA, _, kept_s, "since the first two were measured; without it: before these runs")

#define TIMING_CLOCKS_FIELDS(X) /* of processor and GPU: reserved, null so far */

#define TIMING_MEASUREMENT_FIELDS(X)                                                               \
    X(TEXT, _, operation, "")                                                                      \
    X(INT, _, volume_size, "edge N; of another shape: the edge of as many voxels")                 \
    X(TEXT, _, shape, "rows x columns x slices of a volume of unequal edges")                       \
    X(INT, _, run, "from 1; the traced pass counts on from the timed one")                         \
    X(REAL, _, time, "s")                                                                          \
    X(FLAG, _, traced, "measured with the capture library attached")                               \
    X(FLAG, _, cold, "first run of its process")                                                   \
    X(TEXT, _, status, "ok, skipped, failed; other writers: null is ok")                           \
    X(TEXT, _, reason, "why it is not ok")                                                         \
    X(REAL, _, gpu_time, "s")                                                                      \
    X(INT, _, h2d_bytes, "uploaded since the row before")                                          \
    X(INT, _, d2h_bytes, "downloaded since the row before")                                        \
    X(REAL, _, flops, "declared by the launchers; a multiply-add is 2")                            \
    X(REAL, _, bytes, "that must cross main memory at least once")                                 \
    X(EXTRA, _, counted_flops, "by the processor; imported runs alone")                            \
    X(EXTRA, _, counted_bytes, "likewise")                                                         \
    X(EXTRA, _, chunks_touched, "of stores, by reads of group storage")                            \
    X(EXTRA, _, amplification, "bytes decoded, or fetched, for each one wanted; likewise")         \
    X(INT, _, peak_host_bytes, "")                                                                 \
    X(INT, _, peak_device_bytes, "")                                                               \
    X(MAYBE, timing_fingerprint, fingerprint, "")                                                  \
    X(MAYBE, timing_calibration, calibration, "of the machine, in the same process or kept")       \
    X(MAYBE, timing_clocks, clocks, "")

#define TIMING_STATISTICS_FIELDS(X)                                                                \
    X(TEXT, _, operation, "")                                                                      \
    X(INT, _, volume_size, "edge N")                                                               \
    X(REAL, _, min, "s")                                                                           \
    X(REAL, _, median, "s")                                                                        \
    X(REAL, _, mean, "s")                                                                          \
    X(REAL, _, p95, "s")                                                                           \
    X(REAL, _, cv, "sample standard deviation over mean")                                          \
    X(INT, _, n, "runs counted")                                                                   \
    X(FLAG, _, cold, "the one run counted is the cold one")                                        \
    X(REAL, _, gflops, "at the median, like the rates below")                                      \
    X(REAL, _, gbytes_per_s, "")                                                                   \
    X(REAL, _, roof_share, "larger of the arithmetic and the byte share of the calibration")       \
    X(REAL, _, updates_per_s, "voxel-view updates of projections")                                 \
    X(FLAG, _, implausible, "more than 1.05 of the measured peak")

/* t = a + b N^p */
#define TIMING_SCALING_FIELDS(X)                                                                   \
    X(TEXT, _, operation, "")                                                                      \
    X(REAL, _, a, "s") X(REAL, _, b, "s") X(REAL, _, p, "") X(REAL, _, r2, "")                     \
    X(INT, _, sizes, "fitted")                                                                     \
    X(REAL, _, overhead_share, "a over the time at the largest size")                              \
    X(TEXT, _, reason, "the reason where a fit is missing")

#define TIMING_FILE_FIELDS(X)                                                                      \
    X(TEXT, _, schema, "")                                                                         \
    X(TEXT, _, timestamp, "UTC, a label")                                                          \
    X(ONE, timing_environment, environment, "")                                                    \
    X(COUNTS, _, volume_sizes, "")                                                                 \
    X(INT, _, runs_per_size, "")                                                                   \
    X(INT, _, seed, "")                                                                            \
    X(TEXT, _, settings, "`set` of the run: KEY=VALUE with blanks between them; null: none")      \
    X(REAL, _, timeout_s, "for all runs of one operation at one size")                             \
    X(FLAG, _, interrupted, "")                                                                    \
    X(LIST, timing_measurement, measurements, "")                                                  \
    X(LIST, timing_statistics, statistics, "")                                                     \
    X(LIST, timing_scaling, scaling, "")

/* All but the file itself, what is embedded before what holds it. */
#define TIMING_STRUCTS(X)                                                                          \
    X(timing_clock, TIMING_CLOCK_FIELDS)                                                           \
    X(timing_environment, TIMING_ENVIRONMENT_FIELDS)                                               \
    X(timing_fingerprint, TIMING_FINGERPRINT_FIELDS)                                               \
    X(timing_calibration, TIMING_CALIBRATION_FIELDS)                                               \
    X(timing_clocks, TIMING_CLOCKS_FIELDS)                                                         \
    X(timing_measurement, TIMING_MEASUREMENT_FIELDS)                                               \
    X(timing_statistics, TIMING_STATISTICS_FIELDS)                                                 \
    X(timing_scaling, TIMING_SCALING_FIELDS)

/* clang-format on */

#endif
