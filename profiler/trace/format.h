/* Trace file: what one process image recorded. Native little-endian integers, 8-byte aligned, times
 * in ns of CLOCK_MONOTONIC unless a field says otherwise. One file per process image,
 * `PID-START.tpt` (START: its first time in hex, so that a reused pid or an exec makes a new file),
 * all in the folder `trace/` of a run; those that live for some milliseconds share one (brief.h).
 *
 *   file    = struct trace_header (padded to TRACE_HEADER_BYTES), chunks at multiples of TRACE_PAGE
 *   chunk   = struct trace_chunk, records; written by one thread only, `sequence` counts per thread
 *   record  = struct trace_record, the fields of its kind, a tail of `words` * 8 bytes in all
 *
 * Header and chunks are mapped shared: what was committed survives any end of the process. `used`
 * grows with every record (release order); a full chunk is sealed with its CRC. A reader trusts no
 * length. It skips unknown kinds; other fields in a record mean another TRACE_VERSION. */
#ifndef TP_TRACE_FORMAT_H
#define TP_TRACE_FORMAT_H

#include "profiler/trace/clock.h"

#define TRACE_MAGIC        "tptrace\n"
#define TRACE_VERSION      1
#define TRACE_CHUNK_MAGIC  0x4b435054u /* "TPCK" */
#define TRACE_HEADER_BYTES 4096
#define TRACE_PAGE         4096
#define TRACE_CHUNK_FIRST  8192        /* of a thread; a thread that records little costs little */
#define TRACE_CHUNK_BYTES  (64 * 1024) /* all further ones */
#define TRACE_RECORD_MAX   (32 * 1024) /* longer tails are cut, TRACE_CUT is set */

enum trace_end {                /* how the process image ended, as far as it could say */
                 TRACE_RUNNING, /* it could not: SIGKILL, power, or still alive */
                 TRACE_EXIT,    /* exit or return from main; `end_detail` = exit code */
                 TRACE_QUICK,   /* _exit, _Exit, quick_exit; `end_detail` = exit code */
                 TRACE_EXEC,    /* became another program */
                 TRACE_SIGNAL,  /* fatal signal number `end_detail` */
                 TRACE_LEFT,    /* it went on: the recording ended before */
                 TRACE_FILTERED /* the program filtered its system calls, and lives on unseen */
};

/* Losses, counted in trace_header.lost where they happen. Names are part of profile.json. */
#define TRACE_LOSS_LIST(X)                                                                         \
    X(RECORDS, "records", "records were dropped: disk full or file size limit")                    \
    X(SAMPLES, "samples", "CPU samples came too late to say where their time went")                \
    X(THREADS, "threads", "threads could not be sampled")                                          \
    X(FRAMES, "frames", "stacks do not reach their root: not unwindable, or too deep")             \
    X(PYTHON, "python", "Python frames could not be read")                                         \
    X(ALLOCATIONS, "allocations", "sampled allocations did not fit into the table")                \
    X(GPU_BUFFERS, "gpu_buffers", "CUPTI was out of buffers")                                      \
    X(GPU_DROPPED, "gpu_dropped", "records of GPU activities were dropped")                        \
    X(GPU_UNKNOWN, "gpu_unknown", "CUPTI activity of kinds that are not known")                    \
    X(GPU_ZERO, "gpu_zero_time", "GPU activities came without timestamps")                         \
    X(STRINGS, "strings", "texts were cut")                                                        \
    X(GPU_SAMPLES, "gpu_samples", "samples inside kernels were dropped")

enum trace_loss {
#define X(name, key, text) TRACE_LOST_##name,
    TRACE_LOSS_LIST(X)
#undef X
        TRACE_LOSSES
};

struct trace_header {
    char magic[8];
    uint32_t version, header_bytes;
    int32_t pid, parent;
    uint64_t start_ns, start_realtime_ns;
    uint64_t end_ns; /* 0 while running */
    uint32_t end;    /* enum trace_end */
    int32_t end_detail;
    uint64_t file_bytes;     /* space given to chunks so far, header included */
    uint64_t lost[32];       /* by enum trace_loss */
    uint64_t capture_bytes;  /* memory of the capture library now: tables and mapped chunks */
    uint8_t run_id[16];      /* the same in all files of one run */
    uint64_t inode, born_ns; /* of this file: a copy has others. born_ns 0: unknown */
    struct trace_own_clock clock;
};

struct trace_chunk {
    uint32_t magic,
        crc; /* CRC-32C of what lies from `bytes` to the end of the records; 0 until sealed */
    uint32_t sealed; /* 1: crc is valid and `used` final */
    uint32_t bytes;  /* space in the file, this header included */
    uint32_t tid, sequence;
    uint32_t used, reserved; /* bytes of records */
    uint64_t first_ns;
};

enum trace_record_flags {
    TRACE_CUT = 1, /* the tail was longer */
};

struct trace_record {
    uint16_t kind;  /* enum trace_kind */
    uint16_t words; /* of 8 bytes, this header and the tail included */
    uint32_t flags;
    uint64_t time_ns;
};

/* name, number, struct (in records_*.h beside this file). Numbers never change their meaning. */
#define TRACE_KIND_LIST(X)                                                                         \
    X(META, 1, trace_text)                                                                         \
    X(STRING, 2, trace_text)                                                                       \
    X(CODE, 3, trace_code)                                                                         \
    X(STACK, 4, trace_stack)                                                                       \
    X(MODULE, 5, trace_module)                                                                     \
    X(MODULE_GONE, 6, trace_module)                                                                \
    X(THREAD, 7, trace_thread)                                                                     \
    X(THREAD_END, 8, trace_thread_end)                                                             \
    X(SAMPLE, 9, trace_sample)                                                                     \
    X(WAIT, 10, trace_wait)                                                                        \
    X(ALLOC, 11, trace_alloc)                                                                      \
    X(FREE, 12, trace_free)                                                                        \
    X(FOOTPRINT, 13, trace_footprint)                                                              \
    X(COPY, 14, trace_copy)                                                                        \
    X(RANGE, 15, trace_range)                                                                      \
    X(PROCESS, 16, trace_process)                                                                  \
    X(NOTE, 17, trace_note)                                                                        \
    X(COST, 18, trace_cost)                                                                        \
    X(CLOCK, 19, trace_clock)                                                                      \
    X(ACCOUNT, 20, trace_account)                                                                  \
    X(JIT_CODE, 21, trace_jit_code)                                                                \
    X(IO_FILE, 22, trace_io_file)                                                                  \
    X(IO_MOUNT, 23, trace_io_mount)                                                                \
    X(IO_USE, 24, trace_io_use)                                                                    \
    X(IO_SITE, 25, trace_io_site)                                                                  \
    X(IO_STATE, 26, trace_io_state)                                                                \
    X(IO_KERNEL, 27, trace_io_kernel)                                                              \
    X(LOCK, 28, trace_lock)                                                                        \
    X(IO_RING, 29, trace_io_ring)                                                                  \
    X(MPI, 30, trace_mpi)                                                                          \
    X(API, 32, trace_api)                                                                          \
    X(KERNEL, 33, trace_kernel)                                                                    \
    X(GPU_COPY, 34, trace_gpu_copy)                                                                \
    X(GPU_SET, 35, trace_gpu_set)                                                                  \
    X(GPU_SYNC, 36, trace_gpu_sync)                                                                \
    X(GPU_MEMORY, 37, trace_gpu_memory)                                                            \
    X(GPU_OVERHEAD, 38, trace_gpu_overhead)                                                        \
    X(DEVICE, 39, trace_device)                                                                    \
    X(CONTEXT, 40, trace_context)                                                                  \
    X(GPU_STREAM, 41, trace_gpu_stream)                                                            \
    X(GRAPH_NODE, 42, trace_graph_node)                                                            \
    X(CUBIN, 43, trace_cubin)                                                                      \
    X(GPU_FAULT, 44, trace_gpu_fault)                                                              \
    X(FAILURE, 45, trace_failure)                                                                  \
    X(GPU_SAMPLES, 46, trace_gpu_samples)

enum trace_kind {
#define X(name, number, type) TRACE_##name = (number),
    TRACE_KIND_LIST(X)
#undef X
};

#endif
