/* Records of input and output (kinds: format.h). Calls are added up inside the process, by file and
 * by stack: a record says what was added since the one before of the same file or place, unless it
 * says otherwise. Times in ns, `file` is the id of an IO_FILE, which may come later. */
#ifndef TP_TRACE_RECORDS_IO_H
#define TP_TRACE_RECORDS_IO_H

#include "profiler/trace/format.h"

enum trace_io_kind { /* what a descriptor leads to */
                     TRACE_TO_FILE,
                     TRACE_TO_PIPE,
                     TRACE_TO_TERMINAL,
                     TRACE_TO_SOCKET,
                     TRACE_TO_KERNEL, /* /proc, /sys: made as it is read */
                     TRACE_TO_MEMORY, /* memfd, tmpfs: no disk behind it */
                     TRACE_TO_OTHER   /* devices, eventfd and its like */
};
/* How the name of a socket begins that the process accepted; its port follows. */
#define TRACE_CLIENTS "clients of "
enum trace_io_flags {
    TRACE_IO_DIRECT = 1, /* opened past the page cache */
    TRACE_IO_MANY = 2,   /* a row for many files, whose name has a `*` */
};
/* Meaning of a row: written at its first sight, again where more is known. Tail = path or endpoint
 * (host:port). */
struct trace_io_file {
    struct trace_record r;
    uint64_t id, device, inode;
    uint64_t size; /* when it was opened last */
    uint32_t kind, flags, bytes, reserved;
    uint64_t resident; /* of `size`, in the page cache when it was opened first; ~0 unknown */
};
struct trace_io_mount { /* of a device; tail = file system '\0' mount point */
    struct trace_record r;
    uint64_t device;
    uint32_t bytes, reserved;
};

enum trace_io_op {
    TRACE_IO_READ,
    TRACE_IO_WRITE,
    TRACE_IO_OPEN, /* and close, stat, readdir: all but data */
    TRACE_IO_SEEK,
    TRACE_IO_SYNC,
    TRACE_IO_CONNECT,
    TRACE_IO_MAP, /* mmap; bytes: of the mapping */
    TRACE_IO_OPS
};
/* Place of a call among the earlier ones of its descriptor. */
enum trace_io_place {
    TRACE_IO_FIRST,   /* there was none */
    TRACE_IO_NEXT,    /* it begins where an earlier one ended */
    TRACE_IO_NEAR,    /* at most 128 KiB behind that */
    TRACE_IO_FORWARD, /* further on */
    TRACE_IO_BACK,    /* before it */
    TRACE_IO_PLACES
};
/* Counts beside those of the calls, and histograms: cells of one list, by where they begin. */
enum trace_io_cell {
    TRACE_IO_TOUCHED,    /* bytes of mappings that this process had in its page table */
    TRACE_IO_REQUESTS,   /* of a socket: times that it was read after it had been written */
    TRACE_IO_FIRST_BYTE, /* ns from the last write to the end of that read */
    TRACE_IO_OF_READS,   /* enum trace_io_part, of reads; then of writes */
    TRACE_IO_OF_WRITES = TRACE_IO_OF_READS + 256,
    TRACE_IO_IN_FLIGHT = TRACE_IO_OF_WRITES + 256, /* of an endpoint: ns while a request waited for
                                                      its first byte */
    TRACE_IO_CELLS
};
enum trace_io_part {
    TRACE_IO_PLACED,                                       /* calls by enum trace_io_place */
    TRACE_IO_GOING_ON = TRACE_IO_PLACED + TRACE_IO_PLACES, /* bytes of the first three */
    TRACE_IO_SOMEWHERE,                                    /* calls whose offset is not known */
    TRACE_IO_SIZES,                       /* 10: up to 100 B, 1 KiB, 10 KiB, 100 KiB, 1, 4, 10,
                                             100 MiB, 1 GiB, more */
    TRACE_IO_JUMPS = TRACE_IO_SIZES + 10, /* 40: FORWARD and BACK by powers of two */
    TRACE_IO_TIMES = TRACE_IO_JUMPS + 40, /* 128: trace_io_time_cell(ns) */
    TRACE_IO_PARTS = TRACE_IO_TIMES + 128
};
_Static_assert((int)TRACE_IO_PARTS <= 256, "cells of reads and writes do not overlap");
static inline unsigned trace_io_part(enum trace_io_op op, unsigned part)
{
    return (op == TRACE_IO_WRITE ? TRACE_IO_OF_WRITES : TRACE_IO_OF_READS) + part;
}
/* Four cells for each power of two from 2^5 ns on: the lower end of one is at most 25 % below its
 * upper. */
static inline unsigned trace_io_time_cell(uint64_t ns)
{
    if (ns < 32)
        return 0;
    unsigned log = 63u - (unsigned)__builtin_clzll(ns),
             cell = 4 * (log - 5) + (ns >> (log - 2) & 3);
    return cell < 127 ? cell : 127;
}
static inline double trace_io_cell_ns(unsigned cell) /* its middle */
{
    return (double)(1ull << (cell / 4 + 5)) * (1 + (cell % 4) / 4.0 + 0.125);
}

struct trace_io_count {
    uint64_t calls, bytes, ns;
    uint64_t waited, waited_bytes, waited_ns; /* of these calls: those that took so long that what
                                                 they waited for was not memory */
    uint64_t errors;
};
struct trace_io_use { /* tail: `cells` words, each a cell's place << 48 | what was added */
    struct trace_record r;
    uint64_t file;
    struct trace_io_count op[TRACE_IO_OPS];
    uint32_t cells, reserved;
};
/* Calls at one place of the program. A stack is not taken for each call where there are very many:
 * then the sums are estimates, `calls` above `taken`. */
struct trace_io_site {
    struct trace_record r;
    uint64_t file, stack;
    double calls, bytes, ns, waited_ns;
    uint32_t op, tid;
    uint64_t taken;
};
/* State at this time (the last record of a file counts): bytes that were read at least once, and
 * calls over time. Tail: `n` x {time ns, offset, bytes, tid << 8 | op}, of one call in `stride`. */
struct trace_io_state {
    struct trace_record r;
    uint64_t file;
    uint64_t unique; /* bytes read, each once; ~0 unknown */
    double error;    /* standard error of it; 0: exact to 64 bytes at each end of a read */
    uint64_t stride;
    uint32_t n, reserved;
};
/* The kernel's counters (/proc/PID/task/TID/io) of all threads, ended ones too. */
struct trace_io_kernel {
    struct trace_record r;
    uint64_t read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes;
    uint64_t own_read, own_write;           /* characters of them by the library itself */
    uint64_t no_chars_read, no_chars_write; /* bytes of IO_USE that they do not count: recv, send */
    uint64_t major_faults, minor_faults;
    uint64_t unplaced;     /* calls that found their file busy: in no histogram */
    uint64_t ring_calls;   /* on queues of io_uring and AIO */
    uint32_t at, reserved; /* 0: at the start, to be subtracted; 1: the last such record counts */
};
struct trace_io_ring { /* those queues until now: the last record counts */
    struct trace_record r;
    uint64_t requests; /* whose results were seen: they are in IO_USE */
    uint64_t lost;     /* that were not followed */
};

#endif
