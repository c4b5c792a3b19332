/* The tables of the io recorder, shared by its files. */
#ifndef TP_CAPTURE_RECORDERS_IO_STATE_H
#define TP_CAPTURE_RECORDERS_IO_STATE_H

#include "profiler/capture/recorders/io/io.h"
#include "profiler/capture/recorders/io/pages.h"

enum {
    IO_FILES = 4096, /* rows; from 3/4 of them on, new files share a row by folder and ending */
    IO_DESCRIPTORS = 65536, /* calls on higher ones count for row 0 */
    IO_SITES = 16384,
    IO_MOMENTS_FIRST = 16,
    IO_MOMENTS = 512,
    IO_NEAR = 128 << 10,
};

struct io_moment {
    uint64_t time, offset, bytes, what; /* tid << 8 | op */
};

struct io_file {
    int lock; /* tid of who changes it; only for moments: io_lock */
    int changed, defined;
    uint32_t kind, flags, begun[2]; /* begun: whether it was read, written */
    uint64_t id, device, inode, born, size, resident;
    const char *name;
    struct trace_io_count op[TRACE_IO_OPS];
    uint64_t cell[TRACE_IO_CELLS];
    uint64_t missed[TRACE_IO_OPS][3];                  /* calls, bytes, ns that found it locked */
    struct io_pages pages;                             /* what was read of it */
    struct io_moment first[IO_MOMENTS_FIRST], *moment; /* of one call in `stride` */
    uint32_t moments, moment_room;
    uint64_t stride, seen;
    uint64_t waiting_since; /* of an endpoint: since when requests wait for their first byte */
    uint32_t waiting;       /* how many */
};

struct io_site {
    uint64_t key; /* of file, stack and op; 0 none */
    uint64_t stack, taken;
    uint32_t file, op, tid, changed;
    double calls, bytes, ns, waited_ns;
};

struct io_tables {
    struct io_file files[IO_FILES];
    struct io_descriptor descriptors[IO_DESCRIPTORS];
    struct io_jumps jumps[IO_DESCRIPTORS]; /* of each of them */
    struct io_site sites[IO_SITES];
    uint32_t site[IO_SITES]; /* the places of those in use */
    uint32_t site_count;
};
extern struct io_tables *io CAPTURE_OWN;    /* NULL: not started */
extern int io_descriptor_count CAPTURE_OWN; /* none in use is higher */
extern uint64_t io_unplaced, io_own[2], io_no_chars[2];
extern uint64_t io_asleep_bytes[2]; /* in the tables before the kernel's counters were read first */

uint32_t io_file_count(void);
void io_raise_count(int fd);    /* of descriptors */
uint32_t io_find(uint64_t key); /* the place of a row + 1; 0 none */
/* Under the lock of the rows; 0: all are in use. */
uint32_t io_insert(uint64_t key, const struct io_file *as, const char *name);
int io_lock_rows(void); /* 0: given up */
void io_unlock_rows(void);
/* files.c: the row of a descriptor, found anew where it is not known; NULL: the number is none. */
struct io_descriptor *io_descriptor(int fd, struct io_file **f);
/* The same for one that was just opened, as io_opened has it. */
struct io_descriptor *io_descriptor_opened(int fd, const char *path, int flags, struct io_file **f);
uint32_t io_row(uint32_t kind, const char *name); /* of what has no inode: its place */
void io_files_forked(void);

int io_lock(struct io_file *f, uint32_t tid); /* 0: another thread keeps it */
void io_unlock(struct io_file *f);

/* calls.c: the same as io_done for who has entered already. */
struct io_add {
    enum trace_io_op op;
    int64_t bytes;  /* below 0: an error */
    int64_t offset; /* below 0: none */
    uint64_t begin, end;
    uint64_t polled; /* ns: the thread waited for it in poll before */
    int more;        /* a part of a call that is counted already: bytes alone */
};
void io_add(struct capture_thread *t, struct io_descriptor *d, struct io_file *f,
            const struct io_add *a, const void *caller);

/* Inside of the library the call is one of its own, which is counted apart. */
struct capture_thread *io_enter(int64_t bytes, int writes);
/* `calls`: of the program that it recorded, for its cost. */
void io_leave(struct capture_thread *t, unsigned calls, int saved_errno);
/* Time by the clock in which the first thread was ready for a CPU and had none. */
extern uint64_t io_not_run;
extern double io_call_ns; /* what a call costs before it enters and after it left */

/* mapped.c: counts what the process has touched of all mappings that are left. */
void io_mapped_all(struct capture_thread *t);
void io_mapped_forked(void);
/* records.c: what changed since; `all`: also what is written seldom. */
void io_write(struct capture_thread *t, int all);
enum { IO_FORKED = 2 }; /* `at` in the child of a fork: 0, with counters that begin */
void io_write_kernel(struct capture_thread *t, uint32_t at);
void io_kernel_thread_ends(void);
void io_kernel_tick(void); /* about once a second */
void io_kernel_forked(void);

void *io_take(size_t bytes); /* zeroed, stays; NULL: IO_ROOM is full */

#include "profiler/capture/recorders/io/descriptors.h"

#endif
