/* The fields of loading.json: names, kinds and meanings, once. */
#ifndef TP_LOAD_LOADING_FIELDS_H
#define TP_LOAD_LOADING_FIELDS_H

/* clang-format off */

#define LOAD_FILE_FIELDS(X)                                                                        \
    X(TEXT, _, format, "")                                                                         \
    X(TEXT, _, array, "name of the array that was read")                                           \
    X(COUNTS, _, shape, "")                                                                        \
    X(TEXT, _, dtype, "")                                                                          \
    X(COUNTS, _, chunk, "elements of a chunk; empty for tiles that form no grid")                  \
    X(INT, _, chunks, "of the array, or of its channel that was asked for")                        \
    X(TEXT, _, channel, "that was asked for; null: all of them")                                   \
    X(TEXT, _, layout, "how chunks lie: a grid, tiles that overlap, holes")                        \
    X(REAL, _, seams, "mean step of values across borders of tiles over that inside; null: no tiles") \
    X(TEXT, _, codec, "none, or the codecs in the order of decoding")                              \
    X(INT, _, bytes, "of the array, decoded")                                                      \
    X(INT, _, bytes_stored, "of its chunks")                                                       \
    X(TEXT, _, filesystem, "")                                                                     \
    X(REAL, _, cached_share, "of the file in the page cache before the first measurement")

#define LOAD_PHASE_FIELDS(X)                                                                       \
    X(TEXT, _, name, "key of phases")                                                              \
    X(REAL, _, worker_s, "sum over workers")                                                       \
    X(REAL, _, wall_s, "its part of the elapsed time")

#define LOAD_CHUNK_FIELDS(X)                                                                       \
    X(INT, _, chunk, "")                                                                           \
    X(INT, _, box, "that it was read for; 0 where all is read at once")                            \
    X(INT, _, queue_ns, "between its fetch and its decoding, behind others of its batch")          \
    X(INT, _, fetch_ns, "") X(INT, _, decode_ns, "")                                               \
    X(INT, _, convert_ns, "") X(INT, _, place_ns, "")                                              \
    X(INT, _, cpu_wait_ns, "its worker was ready to run and had no CPU; null: unknown")            \
    X(INT, _, stored, "bytes")                                                                     \
    X(INT, _, decoded, "bytes")                                                                    \
    X(INDEX, _, worker, "")

#define LOAD_KEPT_FIELDS(X)                                                                        \
    X(INT, _, bytes_most, "limit of `keep`; null: nothing was kept")                               \
    X(INT, _, bytes_peak, "")                                                                      \
    X(INT, _, hits, "decoded chunks that were still there")                                        \
    X(INT, _, misses, "chunks that were decoded")                                                  \
    X(REAL, _, hit_share, "")                                                                      \
    X(INT, _, bytes_saved, "decoded bytes of the hits")                                            \
    X(INT, _, dropped, "chunks that left, the least recently used first")

#define LOAD_SPREAD_FIELDS(X)                                                                      \
    X(INT, _, n, "chunks; of the work on one: fetch, decode, convert and place")                   \
    X(REAL, _, mean_s, "") X(REAL, _, min_s, "")                                                   \
    X(REAL, _, p5_s, "") X(REAL, _, p25_s, "")                                                     \
    X(REAL, _, p50_s, "") X(REAL, _, p75_s, "")                                                    \
    X(REAL, _, p95_s, "") X(REAL, _, max_s, "")                                                    \
    X(COUNTS, _, histogram, "chunks in 20 bins of equal width on a logarithmic axis from min to max")

#define LOAD_ESTIMATE_FIELDS(X)                                                                    \
    X(REAL, _, low, "s")                                                                           \
    X(REAL, _, mid, "s, of the whole array with opening, index and memory; measured where all of it was read") \
    X(REAL, _, high, "s; the whole lies between low and high in 19 of 20 cases")

#define LOAD_RATING_FIELDS(X)                                                                      \
    X(TEXT, _, name, "")                                                                           \
    X(REAL, _, value, "")                                                                          \
    X(TEXT, _, unit, "")                                                                           \
    X(TEXT, _, rating, "Fast, Moderate or Slow")                                                   \
    X(REAL, _, fast, "limit; below that of slow: less is better")                                  \
    X(REAL, _, slow, "")

#define LOAD_SWEEP_FIELDS(X)                                                                       \
    X(TEXT, _, backend, "way to fetch that was used")                                              \
    X(INT, _, workers, "threads or processes")                                                     \
    X(FLAG, _, processes, "workers are processes")                                                 \
    X(INT, _, batch, "chunks that are fetched together")                                           \
    X(TEXT, _, order, "")                                                                          \
    X(INT, _, gap, "unwanted bytes that join two requests, at most; -1: never; 0: the default")    \
    X(INT, _, requests, "fetches of a run")                                                        \
    X(INT, _, runs, "")                                                                            \
    X(REAL, _, seconds, "median of the runs")                                                      \
    X(NUMBERS, _, times, "seconds of each run")                                                    \
    X(REAL, _, seconds_min, "") X(REAL, _, seconds_max, "")                                        \
    X(REAL, _, cpu_s, "of the median run")                                                         \
    X(REAL, _, speedup, "median of the sequential row over this one's")                            \
    X(REAL, _, mpx_per_s, "10^6 elements")                                                         \
    X(REAL, _, mbytes_per_s, "decoded, 10^6 bytes")                                                \
    X(REAL, _, stored_mbytes_per_s, "fetched, 10^6 bytes")                                         \
    X(INT, _, peak_bytes, "output and the buffers of all workers")                                 \
    X(REAL, _, cached_share, "of the file before the run, mean of the runs")                       \
    X(TEXT, _, status, "ok, failed or skipped")                                                    \
    X(TEXT, _, reason, "of failed and skipped rows; of ok ones, why another way was used")

#define LOAD_EVIDENCE_FIELDS(X)                                                                    \
    X(TEXT, _, name, "")                                                                           \
    X(REAL, _, value, "")                                                                          \
    X(TEXT, _, unit, "")

#define LOAD_CAUSE_FIELDS(X)                                                                       \
    X(TEXT, _, rule, "")                                                                           \
    X(TEXT, _, statement, "")                                                                      \
    X(LIST, load_evidence, evidence, "the numbers that fired the rule")                            \
    X(TEXT, _, refuted_by, "a measurement that would prove it wrong")                              \
    X(TEXT, _, test, "the command that makes it")                                                  \
    X(REAL, _, gain_low_s, "")                                                                     \
    X(REAL, _, gain_high_s, "estimated upper limit of what can be saved")                          \
    X(WORDS, _, actions, "")

#define LOAD_DISK_FIELDS(X)                                                                        \
    X(TEXT, _, name, "of the device of the file; null: unknown")                                   \
    X(INT, _, requests, "that it served during the profile, those of other programs too")          \
    X(INT, _, bytes, "")                                                                           \
    X(REAL, _, requests_per_s, "")                                                                 \
    X(REAL, _, wait_s, "mean of a request, with its queue; null: there was none")                  \
    X(REAL, _, busy_share, "of the time in which it had requests")                                 \
    X(TEXT, _, reason, "of missing numbers")

#define LOAD_KIND_FIELDS(X)                                                                        \
    X(COUNTS, _, shape, "")                                                                        \
    X(TEXT, _, dtype, "")                                                                          \
    X(INT, _, files, "")

#define LOAD_SET_FIELDS(X)                                                                         \
    X(INT, _, files, "null: one file was given")                                                   \
    X(INT, _, failed, "that cannot be read")                                                       \
    X(INT, _, bytes, "decoded") X(INT, _, bytes_stored, "")                                        \
    X(REAL, _, seconds, "of all files: opening, index and reading, without making memory")         \
    X(REAL, _, mpx_per_s, "10^6 elements")                                                         \
    X(TEXT, _, median, "the file whose time is in the middle")                                     \
    X(LIST, load_kind, kinds, "shapes and types, the most frequent first")

#define LOAD_MEMBER_FIELDS(X)                                                                      \
    X(TEXT, _, path, "") X(TEXT, _, format, "")                                                    \
    X(COUNTS, _, shape, "") X(TEXT, _, dtype, "")                                                  \
    X(INT, _, bytes, "decoded") X(INT, _, bytes_stored, "")                                        \
    X(REAL, _, seconds, "") X(REAL, _, mpx_per_s, "")                                              \
    X(TEXT, _, outlier, "how it differs from the others; null: it does not")                       \
    X(TEXT, _, failure, "why it cannot be read")

#define LOAD_SCALING_FIELDS(X)                                                                     \
    X(INT, _, factor, "by which y and x are shorter")                                              \
    X(TEXT, _, level, "array of the file that holds it; null: means of the whole array")           \
    X(COUNTS, _, shape, "")                                                                        \
    X(REAL, _, seconds, "to open the file and read the level; or to read all and make the means")  \
    X(REAL, _, full_s, "to open the file and read the whole array")                                \
    X(REAL, _, speedup, "")                                                                        \
    X(REAL, _, rmse, "of each element of the array against the smaller version at its place")      \
    X(REAL, _, psnr_db, "for the array's range; null: they are equal")

#define LOAD_COPY_FIELDS(X)                                                                        \
    X(TEXT, _, path, "null: no copy was made")                                                     \
    X(REAL, _, made_s, "elapsed time of converting, with reading back and comparing")              \
    X(REAL, _, read_s, "to open the copy and read all of it; median, from the page cache")         \
    X(REAL, _, original_s, "the same of the file, in turn with it")                                \
    X(INT, _, reads, "after which the copy has paid; null: it never does")

#define LOADING_FIELDS(X)                                                                          \
    X(TEXT, _, timestamp, "UTC, a label")                                                          \
    X(INT, _, processors, "that the program may use")                                              \
    X(TEXT, _, cpu, "model of the processors")                                                     \
    X(INT, _, memory_bytes, "of the machine")                                                      \
    X(TEXT, _, cache, "state before each run: warm, cold, or as it is")                            \
    X(TEXT, _, to, "memory; pinned: memory that a GPU reads; device: and from there to the GPU")   \
    X(ONE, load_file, file, "")                                                                    \
    X(MAP, load_phase, phases, "of the profile: open, index, allocate, ... cpu_wait, finish")      \
    X(INT, _, chunks_read, "of the profile")                                                       \
    X(REAL, _, read_s, "elapsed time of the profile's reading")                                    \
    X(REAL, _, read_cpu_s, "")                                                                     \
    X(REAL, _, cpu_wait_s, "of workers, while reading: ready, without a CPU; null: unknown")       \
    X(INT, _, workers, "of the profile")                                                           \
    X(REAL, _, amplification, "bytes decoded, or fetched, over bytes wanted")                      \
    X(INT, _, requests, "fetches of the profile; joined ones count once")                          \
    X(INT, _, page_faults, "pages of the array that the kernel gave and cleared for it")           \
    X(INT, _, boxes, "that were read one after the other; null: all was read at once")             \
    X(COUNTS, _, box, "elements of such a box")                                                    \
    X(ONE, load_kept, kept, "decoded chunks that stay in memory between boxes")                    \
    X(ONE, load_spread, spread, "")                                                                \
    X(ONE, load_estimate, estimate_full_s, "")                                                     \
    X(ONE, load_disk, disk, "")                                                                    \
    X(TABLE, load_chunk, chunks, "")                                                               \
    X(LIST, load_rating, ratings, "")                                                              \
    X(LIST, load_sweep, sweep, "the fastest first")                                                \
    X(LIST, load_cause, causes, "")                                                                \
    X(TEXT, _, recommended, "options of the fastest row with the fewest workers; null: none gains") \
    X(REAL, _, recommended_speedup, "of that row, measured again beside the sequential way")       \
    X(TEXT, _, recommended_reader, "what the library that programs read this format with can do")  \
    X(TEXT, _, recommended_reason, "why nothing is recommended after a sweep")                     \
    X(LIST, load_scaling, scalings, "smaller versions of the array")                               \
    X(ONE, load_copy, copy, "")                                                                    \
    X(ONE, load_set, set, "card of a data set of several files; all else is of one of them")       \
    X(LIST, load_member, members, "")                                                              \
    X(FLAG, _, interrupted, "by a signal or the budget: what there is")

#define LOADING_STRUCTS(X)                                                                         \
    X(load_file, LOAD_FILE_FIELDS)                                                                 \
    X(load_phase, LOAD_PHASE_FIELDS)                                                               \
    X(load_chunk, LOAD_CHUNK_FIELDS)                                                               \
    X(load_kept, LOAD_KEPT_FIELDS)                                                                 \
    X(load_spread, LOAD_SPREAD_FIELDS)                                                             \
    X(load_estimate, LOAD_ESTIMATE_FIELDS)                                                         \
    X(load_rating, LOAD_RATING_FIELDS)                                                             \
    X(load_sweep, LOAD_SWEEP_FIELDS)                                                               \
    X(load_evidence, LOAD_EVIDENCE_FIELDS)                                                         \
    X(load_cause, LOAD_CAUSE_FIELDS)                                                               \
    X(load_disk, LOAD_DISK_FIELDS)                                                                 \
    X(load_kind, LOAD_KIND_FIELDS)                                                                 \
    X(load_set, LOAD_SET_FIELDS)                                                                   \
    X(load_member, LOAD_MEMBER_FIELDS)                                                             \
    X(load_scaling, LOAD_SCALING_FIELDS)                                                           \
    X(load_copy, LOAD_COPY_FIELDS)

/* clang-format on */

#endif
