/* Records of the host side: texts, stacks, samples, allocations, ranges (kinds: format.h). `id`s
 * are 64-bit hashes of the content (trace_hash), so any thread may write a definition, twice does
 * no harm, and a reference may come before it. 0 = none. Tails: bytes are not terminated; their
 * length is in the record. */
#ifndef TP_TRACE_RECORDS_HOST_H
#define TP_TRACE_RECORDS_HOST_H

#include "profiler/trace/format.h"

struct trace_text { /* STRING: a text by its id. META: one fact, `key` '\0' value; id unused */
    struct trace_record r;
    uint64_t id;
    uint32_t bytes, reserved; /* tail */
};
struct trace_code { /* Python code object: tail = file name, qualified name */
    struct trace_record r;
    uint64_t id;
    int32_t first_line;
    uint16_t file_bytes, name_bytes;
};

/* Frames from the leaf to the root in the tail: `native` program counters, then `python` pairs
 * {line | flags, code id}. Native: counters of callers are return addresses (their line is that of
 * address - 1), the first is exact when TRACE_STACK_EXACT. */
enum trace_stack_flags {
    TRACE_STACK_EXACT = 1,      /* from a signal context */
    TRACE_STACK_CUT = 2,        /* native part does not reach the thread's root */
    TRACE_STACK_PYTHON_CUT = 4, /* Python part is incomplete */
    TRACE_STACK_NO_PYTHON = 8,  /* no interpreter, or the thread has no state */
    TRACE_STACK_DEEP = 16,      /* frames in the middle are left out */
};
/* In the place of a counter or of a pair's first word: frames are left out there, how many (0
 * unknown) in its lower 32 bits. */
#define TRACE_LEFT_OUT       (1ull << 63)
#define TRACE_PYTHON_ENTRY   (1ull << 32) /* outermost frame of a call into Python's C loop */
#define TRACE_PYTHON_NO_LINE (1ull << 33) /* its line could not be read; then it is 0 */
struct trace_stack {
    struct trace_record r;
    uint64_t id;
    uint16_t native, python;
    uint32_t flags;
};
struct trace_module { /* tail = path, build id; bias = address here - address in the ELF file */
    struct trace_record r;
    uint64_t start, end, bias;
    uint16_t path_bytes, build_id_bytes;
    uint32_t reserved;
};
/* Code announced by GDB's JIT interface, or withdrawn (`gone`, all but `entry`, its address, is 0).
 * Its ELF image lies in PID-START.jit beside the trace, of this process or of a forking parent. */
struct trace_jit_code {
    struct trace_record r;
    uint64_t entry, file_start, offset, bytes;
    int32_t file_pid;
    uint32_t gone;
};
struct trace_thread { /* start or first sight of a thread, or its new name (tail) */
    struct trace_record r;
    uint32_t tid, name_bytes;
    uint32_t flags; /* 1: main thread. 2: belongs to the capture library */
    uint32_t parent_tid;
};
struct trace_thread_end {
    struct trace_record r;
    uint32_t tid, start_ns;      /* start_ns of its CPU time came before it could be sampled */
    uint64_t user_ns, system_ns; /* of the thread by the kernel; 0, 0 = unknown */
    uint64_t sampled_ns;         /* sum of the weights of its SAMPLEs */
};

enum trace_mode { TRACE_USER, TRACE_SYSTEM };
struct trace_sample { /* the thread of the chunk was on a CPU */
    struct trace_record r;
    uint64_t stack, weight_ns; /* CPU time that this sample stands for */
    uint32_t tid, mode;        /* enum trace_mode */
};
enum trace_state {
    TRACE_ON_CPU,
    TRACE_RUNNABLE,
    TRACE_SLEEP,
    TRACE_DISK,
    TRACE_IN_CUDA,
    TRACE_STOPPED
};
struct trace_wait { /* wall time of thread `tid` in a state other than on-CPU, seen from outside */
    struct trace_record r;
    uint64_t stack, weight_ns; /* wall time that this sample stands for */
    uint32_t tid;
    int16_t state;   /* enum trace_state */
    int16_t syscall; /* number, -1 unknown */
};

enum trace_heap { TRACE_MALLOC, TRACE_NEW, TRACE_MMAP, TRACE_PYTHON_HEAP };
struct trace_alloc {
    struct trace_record r;
    uint64_t address, bytes, stack;
    double
        weight; /* bytes of allocation that this record stands for; its count is weight / bytes */
    uint32_t heap, tid;
};
struct trace_free { /* of an address that an ALLOC recorded, or part of a mapping */
    struct trace_record r;
    uint64_t address, bytes, stack;
    uint32_t heap, tid;
};
struct trace_footprint {
    struct trace_record r;
    uint64_t rss, heap_live; /* resident bytes by the kernel; estimate of live heap bytes */
};
struct trace_copy { /* sampled memcpy, memmove: `weight` bytes for this stack */
    struct trace_record r;
    uint64_t stack;
    double weight;
    uint32_t tid, reserved;
};

enum trace_range_op { TRACE_PUSH, TRACE_POP, TRACE_START, TRACE_STOP, TRACE_MARK };
/* The domain of regions, which programs name themselves. */
#define TRACE_REGION_DOMAIN "tomoprof"
enum trace_payload { TRACE_PAYLOAD_NONE, TRACE_PAYLOAD_U64, TRACE_PAYLOAD_I64, TRACE_PAYLOAD_F64 };
struct trace_range { /* NVTX */
    struct trace_record r;
    uint64_t domain, message, stack; /* STRING ids; domain 0 = default */
    uint64_t handle;                 /* START and STOP: which */
    uint64_t payload;                /* bits by payload_kind */
    uint32_t op, payload_kind, category, color;
    uint32_t tid, reserved;
};

enum trace_process_op {
    TRACE_FORKED,
    TRACE_EXECED,
    TRACE_SPAWNED,
    TRACE_NOT_SPAWNED /* the exec that the SPAWNED before spoke of has failed */
};
struct trace_process { /* `child` was made by tid; tail = path of the new program where known */
    struct trace_record r;
    int32_t child;
    uint32_t op, tid, path_bytes;
};
struct trace_failure { /* it ends by a signal, or (0) an uncaught exception: tail = its type */
    struct trace_record r;
    uint64_t stack;
    uint32_t signal, bytes;
};
struct trace_note { /* tail = key '\0' sentence; severity 0 info, 1 warning, 2 error */
    struct trace_record r;
    uint32_t severity, bytes;
};
enum trace_part {
    TRACE_PART_SAMPLER,
    TRACE_PART_WAIT,
    TRACE_PART_ALLOC,
    TRACE_PART_COPY,
    TRACE_PART_NVTX,
    TRACE_PART_CUDA,
    TRACE_PART_WRITER,
    TRACE_PART_MALLOC_CALLS,
    TRACE_PART_FREE_CALLS,
    TRACE_PART_COPY_CALLS, /* these three: calls that record nothing */
    TRACE_PART_IO,
    TRACE_PART_LOCKS,
    TRACE_PART_LOCK_CALLS, /* that did not have to wait */
    TRACE_PART_MPI,
    TRACE_PART_THREADS, /* their begin and end */
    TRACE_PART_SECOND,  /* locks and system calls that the C library makes safe for two threads */
    TRACE_PART_WAKE,    /* a process that was asleep begins to be recorded */
    TRACE_PART_STDIO,   /* calls that a stream's buffer served: an estimate of their number */
    TRACE_PARTS
};
struct trace_cost { /* our own time so far, by enum trace_part, of a thread; the last counts */
    struct trace_record r;
    uint32_t tid, part;
    uint64_t ns, calls;
};
enum trace_account_at {
    TRACE_AT_LOAD,  /* the library begins: exec, loader and constructors were before */
    TRACE_AT_START, /* what it set up for itself is done, or a fork has made the process */
    TRACE_AT_END    /* the last records are written; the last such record counts */
};
struct trace_account { /* CPU time of the process until now, since it was made (not since exec) */
    struct trace_record r;
    uint64_t user_ns, system_ns;
    uint32_t at, reserved; /* enum trace_account_at */
};
struct trace_clock { /* one bracketed reading of three clocks; cupti_ns 0 = not read */
    struct trace_record r;
    uint64_t realtime_ns, cupti_ns, bracket_ns;
};

#endif
