/* profile.json, row by row: each list makes a struct of model.h, its writer, its reader and its
 * part of profile.schema.json. X(kind, type, name, meaning); kinds: base/json/json.h. Seconds are
 * doubles, ns and bytes integers, MB = 2^20 bytes. Unknown is null, never 0. */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_H

#include "profiler/analyze/model/model_fields_gpu.h"
#include "profiler/analyze/model/model_fields_inside.h"
#include "profiler/analyze/model/model_fields_io.h"
#include "profiler/analyze/model/model_fields_lock.h"
#include "profiler/analyze/model/model_fields_mpi.h"
#include "profiler/analyze/model/model_fields_own.h"

/* clang-format off */

#define MODEL_FACT_FIELDS(X)                                                                       \
    X(TEXT, _, key, "what")                                                                        \
    X(TEXT, _, value, "as recorded")

#define MODEL_META_FIELDS(X)                                                                       \
    X(TEXT, _, tool_version, "of the analysis")                                                    \
    X(WORDS, _, command, "program and arguments, paths relativised")                               \
    X(TEXT, _, started, "UTC, a label")                                                            \
    X(REAL, _, wall_s, "from the first to the last moment of any traced process")                  \
    X(TEXT, _, end, "how the first process ended: exit, quick_exit, exec, signal, running, filtered")\
    X(INT, _, end_detail, "its exit code or signal number")                                        \
    X(INT, _, exit_code, "of the program; null: a signal killed it, or unknown")                   \
    X(INT, _, signal, "that killed the program; null: none, or unknown")                           \
    X(WORDS, _, modes, "what was recorded")                                                        \
    X(REAL, _, cpu_hz, "samples per second of CPU time of each thread")                            \
    X(REAL, _, wait_hz, "polls per second of waiting threads")                                   \
    X(REAL, _, alloc_mean_bytes, "mean bytes between sampled allocations")                         \
    X(REAL, _, copy_mean_bytes, "mean bytes between sampled host copies")                          \
    X(INT, _, trace_bytes, "size of the trace files")                                              \
    X(FLAG, _, absolute_paths, "paths were kept as recorded")                                      \
    X(REAL, _, from_s, "only the run from this second on is in the profile; null: all")            \
    X(REAL, _, until_s, "only the run up to this second; null: all")                               \
    X(FLAG, _, paused, "from_s is where the first region began, as was asked for")

/* A run of the program without the recorder (`record --runs`). */
#define MODEL_TIMED_FIELDS(X)                                                                      \
    X(REAL, _, wall_s, "")                                                                         \
    X(REAL, _, user_s, "CPU time in user mode, children included")                                 \
    X(REAL, _, sys_s, "likewise, in the kernel")                                                   \
    X(REAL, _, peak_rss_mb, "most resident memory of a process")

/* The place is the innermost own line of its stack. */
#define MODEL_FAILURE_FIELDS(X)                                                                    \
    X(TEXT, _, exception, "type of the exception that nothing caught; null: a signal")             \
    X(INT, _, signal, "fatal signal; null: an exception")                                          \
    X(TEXT, _, outermost, "function that called all others; null unknown")                         \
    X(TEXT, _, file, "key of files")                                                               \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, function, "")

#define MODEL_PROCESS_FIELDS(X)                                                                    \
    X(INT, _, pid, "")                                                                             \
    X(INT, _, parent, "pid")                                                                       \
    X(INT, _, rank, "in MPI_COMM_WORLD; null: it started no MPI")                                  \
    X(TEXT, _, program, "path of the program, relativised")                                        \
    X(TEXT, _, task, "its script, or operation and size of tomoprof's suite; null: its program says it") \
    X(TEXT, _, python, "version of its interpreter")                                               \
    X(REAL, _, start_s, "since the first process's start")                                         \
    X(REAL, _, end_s, "its end, or the last moment that was recorded")                             \
    X(TEXT, _, end, "exit, quick_exit, exec, signal, running, filtered")                           \
    X(INT, _, end_detail, "exit code or signal number")                                            \
    X(MAYBE, model_failure, failure, "what ended it; null: nothing that is known")                 \
    X(REAL, _, cpu_s,                                                                              \
      "user and system time that was sampled; without a sample, the kernel's count")               \
    X(REAL, _, peak_rss_mb, "most resident memory")                                                \
    X(REAL, _, peak_heap_mb, "most live heap, estimated")

#define MODEL_THREAD_FIELDS(X)                                                                     \
    X(INDEX, _, process, "in processes")                                                           \
    X(INT, _, tid, "")                                                                             \
    X(TEXT, _, name, "")                                                                           \
    X(FLAG, _, main, "the process's main thread")                                                  \
    X(REAL, _, user_s, "sampled")                                                                  \
    X(REAL, _, sys_s, "sampled")                                                                   \
    X(REAL, _, wait_s, "wall time in states other than on a CPU, sampled")                         \
    X(REAL, _, kernel_cpu_s, "user and system time by the kernel's account")                       \
    X(REAL, _, coverage, "sampled / kernel_cpu_s")

#define MODEL_ITEM_FIELDS(X)                                                                       \
    X(TEXT, _, id, "stable key")                                                                   \
    X(TEXT, _, severity, "info, warning, error")                                                   \
    X(INT, _, count, "how many")                                                                   \
    X(REAL, _, share, "0..1 of what `text` names")                                                 \
    X(TEXT, _, text, "what happened")                                                              \
    X(TEXT, _, effect, "what it does to the numbers")                                              \
    X(TEXT, _, fix, "what to do")

#define MODEL_CHECK_FIELDS(X)                                                                      \
    X(TEXT, _, id, "stable key")                                                                   \
    X(FLAG, _, ok, "")                                                                             \
    X(REAL, _, expected, "")                                                                       \
    X(REAL, _, found, "")                                                                          \
    X(TEXT, _, text, "the law that must hold")

#define MODEL_COST_FIELDS(X)                                                                       \
    X(TEXT, _, part, "of the capture library")                                                     \
    X(REAL, _, s, "time it took in the program's threads")                                         \
    X(INT, _, calls, "")

#define MODEL_QUALITY_FIELDS(X)                                                                    \
    X(FLAG, _, complete, "nothing is known to be missing")                                         \
    X(LIST, model_item, items, "what is missing or uncertain")                                     \
    X(LIST, model_check, checks, "conservation laws")                                              \
    X(INT, _, unrecorded, "processes of the program that left no data")                            \
    X(TEXT, _, unrecorded_names, "at most 3 of their programs; null where none is known")          \
    X(REAL, _, cpu_sample_coverage,                                                                \
      "recorded / kernel's CPU time of the run less that of the recorder's threads")               \
    X(REAL, _, unattributed_cpu_share, "of totals.cpu: no source line")                            \
    X(REAL, _, borrowed_cpu_share, "of totals.cpu: attributed to the main thread's Python line")      \
    X(REAL, _, unresolved_frame_share, "native frames without a name / native frames of stacks")   \
    X(TEXT, _, clock_method, "of GPU times: monotonic, interpolated, none")                        \
    X(REAL, _, clock_error_ns, "largest half bracket of a clock reading")                          \
    X(INT, _, clock_steps, "jumps of more than 100 us between readings")                           \
    X(LIST, model_cost, overhead,                                                                  \
      "the profiler's own time: calls that are measured, or samples where these say more")         \
    X(REAL, _, overhead_share, "its sum / (CPU time of the threads)")                              \
    X(INT, _, capture_bytes, "memory of the capture library")

/* Seconds of CPU and waiting, self. */
#define MODEL_CPU_FIELDS(X)                                                                        \
    X(REAL, _, user, "s in user mode")                                                             \
    X(REAL, _, sys, "s in the kernel")                                                             \
    X(REAL, _, wait, "wall s blocked or runnable")                                                 \
    X(REAL, _, python, "part of user: the interpreter itself")                                     \
    X(REAL, _, native, "part of user: compiled code")                                              \
    X(REAL, _, borrowed, "part of user + sys: threads without Python, attributed to this line")       \
    X(REAL, _, error, "standard error of user + sys")                                              \
    X(INT, _, samples, "CPU samples")                                                              \
    X(REAL, _, share, "(user + sys) / totals.cpu (user + sys)")
#define MODEL_INCL_FIELDS(X)                                                                       \
    X(REAL, _, user, "s, with everything called from here; recursion counts once")                 \
    X(REAL, _, sys, "s, likewise")                                                                 \
    X(REAL, _, wait, "s, likewise")                                                                \
    X(REAL, _, share, "(user + sys) / totals.cpu (user + sys)")
#define MODEL_MEM_FIELDS(X)                                                                        \
    X(REAL, _, alloc_mb, "allocated in all, estimated")                                            \
    X(REAL, _, error_mb, "standard error of alloc_mb")                                             \
    X(REAL, _, n, "allocations, estimated")                                                        \
    X(REAL, _, n_error, "standard error of n")                                                     \
    X(REAL, _, peak_mb, "most that was live at once")                                              \
    X(REAL, _, at_peak_mb, "live when the process was at its peak")                                \
    X(REAL, _, avg_mb, "live, mean over the process's time")                                       \
    X(REAL, _, live_end_mb, "never freed")                                                         \
    X(REAL, _, share, "alloc_mb / totals.alloc_mb")                                                \
    X(REAL, _, leak_score, "0..1, see leaks")
#define MODEL_DEV_MEM_FIELDS(X)                                                                    \
    X(REAL, _, alloc_mb, "device memory allocated in all")                                         \
    X(INT, _, n, "allocations")                                                                    \
    X(REAL, _, peak_mb, "most that was live at once")                                              \
    X(REAL, _, live_end_mb, "never freed")
#define MODEL_AMOUNT_FIELDS(X)                                                                     \
    X(INT, _, n, "")                                                                               \
    X(INT, _, bytes, "")                                                                           \
    X(REAL, _, s, "on the device")
#define MODEL_COPY_FIELDS(X)                                                                       \
    X(REAL, _, host_mb, "memcpy and memmove, estimated")                                           \
    X(REAL, _, host_mb_s, "host_mb / meta.wall_s")                                                 \
    X(ONE, model_amount, h2d, "host to device")                                                    \
    X(ONE, model_amount, d2h, "device to host")                                                    \
    X(ONE, model_amount, d2d, "within a device")                                                   \
    X(ONE, model_amount, p2p, "between devices")                                                   \
    X(INT, _, pageable_bytes, "of h2d and d2h: from or to pageable memory")
#define MODEL_TOP_KERNEL_FIELDS(X)                                                                 \
    X(INDEX, _, kernel, "in kernels")                                                              \
    X(INT, _, n, "launches")                                                                       \
    X(REAL, _, s, "on the device")
/* Scalene's names for what means the same, so that its users and scripts find their way. */
#define MODEL_SCALENE_FIELDS(X)                                                                    \
    X(INT, _, lineno, "")                                                                          \
    X(TEXT, _, line, "source text")                                                                \
    X(REAL, _, n_cpu_percent_python, "100 * python / totals.cpu (user + sys)")                     \
    X(REAL, _, n_cpu_percent_c, "100 * native / totals.cpu (user + sys)")                          \
    X(REAL, _, n_sys_percent, "100 * sys / totals.cpu (user + sys)")                               \
    X(REAL, _, n_core_utilization, "(user + sys) / (meta.wall_s * cores)")                         \
    X(REAL, _, n_gpu_percent, "100 * gpu_self_s / totals.gpu_sum_s: exact kernels, not polled")    \
    X(REAL, _, n_malloc_mb, "mem.alloc_mb")                                                        \
    X(REAL, _, n_mallocs, "mem.n")                                                                 \
    X(REAL, _, n_peak_mb, "mem.peak_mb")                                                           \
    X(REAL, _, n_growth_mb, "mem.peak_mb")                                                         \
    X(REAL, _, n_avg_mb, "mem.avg_mb")                                                             \
    X(REAL, _, n_usage_fraction, "mem.share")                                                      \
    X(REAL, _, n_copy_mb_s, "copy.host_mb_s")

/* Shared by a line and a function. */
#define MODEL_COSTS(X)                                                                             \
    X(ONE, model_cpu, cpu, "self")                                                  \
    X(ONE, model_incl, cpu_incl, "inclusive")                                         \
    X(ONE, model_mem, mem, "host memory")                                                          \
    X(REAL, _, gpu_self_s, "device time of what was launched exactly here")                        \
    X(REAL, _, gpu_incl_s, "device time of what was launched here or below")                       \
    X(ONE, model_gpu, gpu, "")                                                                     \
    X(ONE, model_dev_mem, dev_mem, "device memory")                                                \
    X(ONE, model_copy, copy, "")                                                                   \
    X(MAYBE, model_line_io, io, "calls on descriptors; null where none was seen")                 \
    X(ONE, model_scalene, scalene, "the same numbers by Scalene's names")
#define MODEL_IN_RANGE_FIELDS(X)                                                                   \
    X(INDEX, _, range, "in ranges")                                                                \
    X(REAL, _, cpu_s, "CPU time while it was open")
#define MODEL_IN_THREAD_FIELDS(X)                                                                  \
    X(INDEX, _, thread, "in threads")                                                              \
    X(REAL, _, cpu_s, "part of cpu.user + cpu.sys")                                                \
    X(REAL, _, cpu_incl_s, "part of cpu_incl.user + cpu_incl.sys")                                 \
    X(REAL, _, wait_s, "part of cpu.wait")                                                         \
    X(REAL, _, gpu_s, "part of gpu_self_s")
#define MODEL_SOURCE_FIELDS(X)                                                                     \
    X(INT, _, line, "number")                                                                      \
    X(TEXT, _, text, "")
#define MODEL_LINE_FIELDS(X)                                                                       \
    X(INT, _, line, "number")                                                                      \
    X(TEXT, _, text, "source; null where the file could not be read")                              \
    X(INDEX, _, function, "in functions of this file: the innermost that was seen")                \
    X(LIST, model_in_range, ranges, "its CPU time by outermost range, at most 20, by time")         \
    X(LIST, model_in_thread, threads, "its costs by thread, by CPU time; they add up to the line's") \
    X(NUMBERS, _, live_mb, "most memory it held in each memory.bin_s; of lines with 1 % of a heap")\
    MODEL_COSTS(X)
#define MODEL_FUNCTION_FIELDS(X)                                                                   \
    X(TEXT, _, name, "")                                                                           \
    X(INT, _, line, "where it begins")                                                             \
    MODEL_COSTS(X)
#define MODEL_FILE_FIELDS(X)                                                                       \
    X(TEXT, _, path, "key")                                                                        \
    X(TEXT, _, language, "python, c, cuda, other")                                                 \
    X(FLAG, _, user, "own code: of the program's folder, package or executable")                   \
    X(REAL, _, cpu_share, "sum of its lines' cpu.share")                                           \
    X(REAL, _, gpu_share, "sum of its lines' gpu.share")                                           \
    X(INT, _, length, "lines in the file; null where it could not be read")                        \
    X(LIST, model_line, lines, "that cost anything, by number")                                    \
    X(TABLE, model_source, source, "lines that cost nothing, as far as there is room")             \
    X(LIST, model_function, functions, "by number of line")
#define MODEL_MODULE_FIELDS(X)                                                                     \
    X(TEXT, _, module, "path, or [no stack], [jit], [start-up], [tomoprof], [threads], [shutdown]") \
    X(ONE, model_cpu, cpu, "")                                                                     \
    X(REAL, _, gpu_s, "device time")                                                               \
    X(REAL, _, alloc_mb, "")                                                                       \
    X(REAL, _, copy_mb, "host copies")

#define MODEL_WAITS_FIELDS(X)                                                                      \
    X(REAL, _, runnable, "wall s ready but without a CPU")                                         \
    X(REAL, _, sleep, "")                                                                          \
    X(REAL, _, disk, "")                                                                           \
    X(REAL, _, cuda, "in a CUDA call")                                                             \
    X(REAL, _, stopped, "")
#define MODEL_TOTALS_FIELDS(X)                                                                     \
    X(ONE, model_cpu, cpu, "of all processes")                                                     \
    X(ONE, model_waits, wait, "wall time of threads by state; threads add up")                     \
    X(REAL, _, path_ready_s, "part of the run's wall time that waited for a CPU, see docs/profile.md") \
    X(REAL, _, gpu_busy_s, "union over each device, devices added")                                \
    X(REAL, _, gpu_sum_s, "sum of kernels, copies and memsets")                                    \
    X(REAL, _, gpu_idle_s, "gaps between first and last operation")                                \
    X(REAL, _, kernel_s, "sum")                                                                    \
    X(REAL, _, copy_s, "sum")                                                                      \
    X(REAL, _, set_s, "sum")                                                                       \
    X(INT, _, kernels, "kernels that ran")                                                         \
    X(INT, _, launches, "calls that launch")                                                       \
    X(INT, _, launches_without_record, "calls that launch, without any activity seen")             \
    X(INT, _, no_origin_n, "device operations without a host call")                                \
    X(REAL, _, no_origin_s, "their time, part of gpu_sum_s")                                       \
    X(REAL, _, gpu_wait_s, "host blocked in synchronising calls")                                  \
    X(REAL, _, gpu_wait_busy_s, "part of it while a device was busy")                              \
    X(REAL, _, api_s, "host in CUDA calls")                                                        \
    X(INT, _, h2d_bytes, "")                                                                       \
    X(INT, _, d2h_bytes, "")                                                                       \
    X(REAL, _, alloc_mb, "host heap, allocated in all, estimated")                                 \
    X(REAL, _, allocs, "allocations, estimated")                                                   \
    X(REAL, _, copy_mb, "host memcpy and memmove, estimated")                                      \
    X(REAL, _, peak_rss_mb, "most resident memory, processes added")                               \
    X(REAL, _, peak_heap_mb, "most live heap of one process")                                      \
    X(REAL, _, peak_device_mb, "most device memory, devices added")

/* A stack is a chain of nodes; weights are those of samples that end exactly there. */
#define MODEL_FRAME_FIELDS(X)                                                                      \
    X(TEXT, _, function, "null unknown")                                                           \
    X(TEXT, _, file, "as a key of files; null unknown")                                            \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, module, "of native frames")                                                         \
    X(TEXT, _, kind, "python, native, inlined, kernel, copy, set, thread")                         \
    X(INDEX, _, thread, "in threads; of kind thread, the root of its stacks")
#define MODEL_STACK_FIELDS(X)                                                                      \
    X(INDEX, _, parent, "node towards the root, always before this one")                           \
    X(INDEX, _, frame, "in frames")                                                                \
    X(INT, _, cpu_ns, "")                                                                          \
    X(INT, _, wait_ns, "")                                                                         \
    X(INT, _, gpu_ns, "")                                                                          \
    X(INT, _, alloc_bytes, "")                                                                     \
    X(INT, _, peak_bytes, "not freed when the largest process was at its peak; null unknown")

#define MODEL_STAT_FIELDS(X)                                                                       \
    X(INT, _, n, "")                                                                               \
    X(REAL, _, total_s, "")                                                                        \
    X(REAL, _, min_s, "")                                                                          \
    X(REAL, _, median_s, "exact up to 512 values, else within 2 %")                                \
    X(REAL, _, p95_s, "likewise")                                                                  \
    X(REAL, _, max_s, "")                                                                          \
    X(REAL, _, sd_s, "null below 2 values")
#define MODEL_PLACE_FIELDS(X)                                                                      \
    X(TEXT, _, file, "key of files")                                                               \
    X(INT, _, line, "")                                                                            \
    X(INT, _, n, "")                                                                               \
    X(REAL, _, value, "s or MB, as its owner says")
#define MODEL_SERIES_FIELDS(X)                                                                     \
    X(INDEX, _, process, "in processes")                                                           \
    X(NUMBERS, _, t_s, "since the first process's start")                                          \
    X(NUMBERS, _, rss_mb, "resident")                                                              \
    X(NUMBERS, _, heap_mb, "live heap, estimated")
#define MODEL_LEAK_FIELDS(X)                                                                       \
    X(TEXT, _, file, "key of files")                                                               \
    X(INT, _, line, "")                                                                            \
    X(REAL, _, score, "1 - (frees + 1) / (allocations + 2) of its samples; listed from 0.9 on")    \
    X(REAL, _, live_mb, "at the end")                                                              \
    X(REAL, _, velocity_mb_s, "live_mb / time since its first allocation")
#define MODEL_MEMORY_FIELDS(X)                                                                     \
    X(LIST, model_series, series, "one per process, at most 1000 points")                          \
    X(REAL, _, peak_s, "when the process with the largest heap was at its peak")                   \
    X(REAL, _, bin_s, "length of the bins of files.lines.live_mb, from the first process's start") \
    X(LIST, model_place, peak_lines, "its live heap then, value in MB; at most 50")                \
    X(LIST, model_leak, leaks, "by live_mb; rule in docs/profile.md")                              \
    X(LIST, model_place, device_peak_lines, "live device memory at its peak, value in MB")

/* Events merged where a track had too many: `count` events in [start, start + length), busy_ns of
 * it in them, `what` that of the longest. */
#define MODEL_EVENT_FIELDS(X)                                                                      \
    X(INT, _, start, "ns since the event before; of the first: since the first process began") \
    X(INT, _, length, "ns")                                                                        \
    X(INT, _, busy, "ns")                                                                          \
    X(INT, _, count, "")                                                                           \
    X(INDEX, _, what, "by kind of track: in stacks, kernels, transfers, memsets, ranges, apis")
#define MODEL_TRACK_FIELDS(X)                                                                      \
    X(TEXT, _, kind, "cpu wait kernel copy set range api")                                         \
    X(INDEX, _, process, "in processes")                                                           \
    X(INDEX, _, thread, "in threads")                                                              \
    X(INDEX, _, device, "in devices")                                                              \
    X(INT, _, context, "")                                                                         \
    X(INT, _, stream, "")                                                                          \
    X(INT, _, resolution_ns, "0: all events are there; else closer ones were merged")              \
    X(TABLE, model_event, events, "by start")

#define MODEL_FINDING_FIELDS(X)                                                                    \
    X(TEXT, _, id, "of the rule")                                                                  \
    X(TEXT, _, severity, "info, warning")                                                          \
    X(TEXT, _, title, "")                                                                          \
    X(TEXT, _, evidence, "with its numbers")                                                       \
    X(TEXT, _, advice, "")                                                                         \
    X(REAL, _, gain_s, "estimated upper limit of what can be saved, wall s")                       \
    X(REAL, _, gain_low_s, "lower end of that estimate; null: only the limit is known")            \
    X(TEXT, _, refuted_by, "what would show that this is not the cause; null none")                \
    X(TEXT, _, test, "how to find out")                                                            \
    X(TEXT, _, confidence, "high, medium, low")                                                    \
    X(LIST, model_place, lines, "value in s or MB; at most 50")

/* Names the first change: a card of the first screen. */
#define MODEL_ANSWER_FIELDS(X)                                                                     \
    X(TEXT, _, kind, "failed, unseen, cpu, gpu, wait, idle, lock, threads, ranks, imports, compile, finding, none")                                   \
    X(TEXT, _, text, "a sentence")                                                                 \
    X(TEXT, _, file, "key of files; null where it is about no line")                               \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, function, "")                                                                       \
    X(REAL, _, cost_s, "seconds of what `of` names")                                               \
    X(REAL, _, share, "0..1 of what `of` names")                                                   \
    X(TEXT, _, of, "CPU time, GPU time, own time (wall time without waiting for a CPU), wall time") \
    X(REAL, _, gain_s, "upper limit of what can be saved, wall s")                                 \
    X(TEXT, _, advice, "")

#define MODEL_FIELDS(X)                                                                            \
    X(ONE, model_meta, meta, "")                                                                   \
    X(MAP, model_fact, environment, "facts about machine, libraries and variables, by name")       \
    X(LIST, model_timed, timed_runs, "without the recorder, in their order; empty: none were asked for") \
    X(LIST, model_device, devices, "")                                                             \
    X(ONE, model_quality, quality, "")                                                             \
    X(ONE, model_totals, totals, "")                                                               \
    X(MAP, model_file, files, "by path")                                                           \
    X(LIST, model_module, unattributed, "what has no source line, by module")                      \
    X(TABLE, model_frame, frames, "")                                                              \
    X(TABLE, model_stack, stacks, "")                                                              \
    X(LIST, model_kernel, kernels, "by total time")                                                \
    X(LIST, model_device_line, device_lines, "lines inside kernels, by time, at most 2000; empty: not sampled")\
    X(LIST, model_transfer, transfers, "")                                                         \
    X(LIST, model_set, memsets, "")                                                                \
    X(LIST, model_api, apis, "by total time")                                                      \
    X(LIST, model_range, ranges, "")                                                               \
    X(ONE, model_gpu_total, gpu, "")                                                               \
    X(ONE, model_memory, memory, "")                                                               \
    X(ONE, model_io, io, "input and output; all null where it was not recorded")                  \
    X(LIST, model_lock, locks, "by wait_s")                                                        \
    X(LIST, model_contention, contention, "one for each process with threads, by any_s")           \
    X(ONE, model_mpi, mpi, "ranks; all null where the program started none")                       \
    X(LIST, model_process, processes, "by start")                                                  \
    X(LIST, model_thread, threads, "")                                                             \
    X(LIST, model_track, timeline, "")                                                             \
    X(TABLE, model_flow, flows, "calls and the device operations that they started, at most 4,096") \
    X(LIST, model_finding, findings, "by gain")                                                    \
    X(TABLE, model_own, own, "")                                                                   \
    X(TABLE, model_work, works, "largest first")                                                   \
    X(TEXT, _, headline, "the first screen's sentence")                                            \
    X(LIST, model_answer, answers, "what the headline is about first, then by gain")

/* All of them, what is embedded before what holds it. */
#define MODEL_STRUCTS(X)                                                                           \
    X(model_fact, MODEL_FACT_FIELDS)                                                               \
    X(model_meta, MODEL_META_FIELDS)                                                               \
    X(model_timed, MODEL_TIMED_FIELDS)                                                             \
    X(model_device, MODEL_DEVICE_FIELDS)                                                           \
    X(model_failure, MODEL_FAILURE_FIELDS)                                                         \
    X(model_process, MODEL_PROCESS_FIELDS)                                                         \
    X(model_thread, MODEL_THREAD_FIELDS)                                                           \
    X(model_item, MODEL_ITEM_FIELDS)                                                               \
    X(model_check, MODEL_CHECK_FIELDS)                                                             \
    X(model_cost, MODEL_COST_FIELDS)                                                               \
    X(model_quality, MODEL_QUALITY_FIELDS)                                                         \
    X(model_cpu, MODEL_CPU_FIELDS)                                                                 \
    X(model_incl, MODEL_INCL_FIELDS)                                                               \
    X(model_mem, MODEL_MEM_FIELDS)                                                                 \
    X(model_dev_mem, MODEL_DEV_MEM_FIELDS)                                                         \
    X(model_amount, MODEL_AMOUNT_FIELDS)                                                           \
    X(model_copy, MODEL_COPY_FIELDS)                                                               \
    X(model_top_kernel, MODEL_TOP_KERNEL_FIELDS)                                                   \
    X(model_gpu, MODEL_GPU_FIELDS)                                                                 \
    X(model_line_io, MODEL_LINE_IO_FIELDS)                                                         \
    X(model_scalene, MODEL_SCALENE_FIELDS)                                                         \
    X(model_in_range, MODEL_IN_RANGE_FIELDS)                                                       \
    X(model_in_thread, MODEL_IN_THREAD_FIELDS)                                                     \
    X(model_source, MODEL_SOURCE_FIELDS)                                                           \
    X(model_line, MODEL_LINE_FIELDS)                                                               \
    X(model_function, MODEL_FUNCTION_FIELDS)                                                       \
    X(model_file, MODEL_FILE_FIELDS)                                                               \
    X(model_module, MODEL_MODULE_FIELDS)                                                           \
    X(model_waits, MODEL_WAITS_FIELDS)                                                             \
    X(model_totals, MODEL_TOTALS_FIELDS)                                                           \
    X(model_frame, MODEL_FRAME_FIELDS)                                                             \
    X(model_stack, MODEL_STACK_FIELDS)                                                             \
    X(model_stat, MODEL_STAT_FIELDS)                                                               \
    X(model_place, MODEL_PLACE_FIELDS)                                                             \
    X(model_variant, MODEL_VARIANT_FIELDS)                                                         \
    X(model_kernel, MODEL_KERNEL_FIELDS)                                                           \
    MODEL_INSIDE_STRUCTS(X)                                                                        \
    X(model_transfer, MODEL_TRANSFER_FIELDS)                                                       \
    X(model_set, MODEL_SET_FIELDS)                                                                 \
    X(model_api, MODEL_API_FIELDS)                                                                 \
    MODEL_RANGE_STRUCTS(X)                                                                         \
    X(model_gap, MODEL_GAP_FIELDS)                                                                 \
    X(model_sum, MODEL_SUM_FIELDS)                                                                 \
    X(model_gpu_total, MODEL_GPU_TOTAL_FIELDS)                                                     \
    X(model_series, MODEL_SERIES_FIELDS)                                                           \
    X(model_leak, MODEL_LEAK_FIELDS)                                                               \
    X(model_memory, MODEL_MEMORY_FIELDS)                                                           \
    X(model_io_calls, MODEL_IO_CALLS_FIELDS)                                                       \
    X(model_io_place, MODEL_IO_PLACE_FIELDS)                                                       \
    X(model_io_moment, MODEL_IO_MOMENT_FIELDS)                                                     \
    X(model_io_file, MODEL_IO_FILE_FIELDS)                                                         \
    X(model_reading, MODEL_READING_FIELDS)                                                         \
    X(model_disk, MODEL_DISK_FIELDS)                                                               \
    X(model_group_io, MODEL_GROUP_IO_FIELDS)                                                       \
    X(model_io, MODEL_IO_FIELDS)                                                                   \
    X(model_holder, MODEL_HOLDER_FIELDS)                                                           \
    X(model_lock, MODEL_LOCK_FIELDS)                                                               \
    X(model_contention, MODEL_CONTENTION_FIELDS)                                                   \
    MODEL_MPI_STRUCTS(X)                                                                           \
    X(model_event, MODEL_EVENT_FIELDS)                                                             \
    X(model_track, MODEL_TRACK_FIELDS)                                                             \
    X(model_flow, MODEL_FLOW_FIELDS)                                                               \
    X(model_finding, MODEL_FINDING_FIELDS)                                                         \
    X(model_own, MODEL_OWN_FIELDS)                                                                 \
    X(model_work, MODEL_WORK_FIELDS)                                                               \
    X(model_answer, MODEL_ANSWER_FIELDS)

/* clang-format on */

#endif
