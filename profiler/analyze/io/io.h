/* Input and output of a run: rows by path, of all processes, from the records of one after the
 * other. */
#ifndef TP_ANALYZE_IO_IO_H
#define TP_ANALYZE_IO_IO_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_io;

/* A place of the program, by the costs of one kind of call on one row. */
struct io_place {
    int site; /* of its line; -1 none */
    const char *module;
    uint32_t row, op;
    double calls, bytes, ns, waited_ns;
};
/* Reads of one row below a node of the call tree of own code. */
struct io_own {
    uint32_t own, row;
    double calls, bytes, ns, waited_ns;
};
struct io_point {
    uint64_t time, offset, bytes;
    uint32_t op;
};
struct io_row {
    const char *path; /* as recorded */
    uint32_t kind, flags;
    uint64_t device, size, resident;
    int processes, last_process; /* image + 1 */
    struct {
        double calls, bytes, ns, waited, waited_bytes, waited_ns, errors;
    } op[TRACE_IO_OPS];
    double cell[TRACE_IO_CELLS];
    double unique, unique_variance, stride;
    VECTOR(struct io_point) points;
};
struct io_mount {
    uint64_t device;
    const char *type, *point;
};
struct io_run {
    VECTOR(struct io_row) rows;
    struct table row_by_key;
    VECTOR(struct io_place) places;
    struct table place_by_key;
    VECTOR(struct io_own) owns;
    struct table own_by_key;
    VECTOR(struct io_mount) mounts;
    double kernel[2], seen[2], storage[2], major_faults, minor_faults,
        unplaced;   /* [2]: read, write */
    double ring[3]; /* calls, requests, lost */
    int known;      /* an IO_KERNEL was there for each image */
};
void io_free(struct run *r);

#endif
