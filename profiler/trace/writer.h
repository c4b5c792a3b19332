/* Writing a trace from inside the profiled process. Every function here is async-signal-safe,
 * allocates nothing from the heap, takes no lock and never blocks longer than the system calls that
 * give the file room (once per chunk). What finds no room is counted in the header. */
#ifndef TP_TRACE_WRITER_H
#define TP_TRACE_WRITER_H

#include <stddef.h>

#include "profiler/trace/records_gpu.h"
#include "profiler/trace/records_host.h"
#include "profiler/trace/records_io.h"
#include "profiler/trace/records_lock.h"
#include "profiler/trace/records_mpi.h"

/* A brief trace is in one of these places (brief.h); MOVING: a thread is at it. */
enum trace_place { TRACE_HELD, TRACE_MOVING, TRACE_IN_FILE, TRACE_ADDED };

struct trace_writer;
typedef long trace_job(struct trace_writer *w, uint32_t bytes);

/* A trace file; a plain object of the caller, all zero before trace_create. */
struct trace_writer {
    int fd;
    int failed; /* errno of the first failure, after which threads get no more chunks */
    struct trace_header *header;
    const volatile int *alive; /* 0 in every forked child, however it was made: it writes nothing */
    uint64_t byte_limit;       /* 0 none */
    uint64_t taken;            /* bytes of the file that threads took for chunks */
    uint64_t device, inode;    /* of fd, which the program may have closed and reused */
    long apart;                /* the thread that has a table of descriptors of its own; 0 none */
    /* Set by the caller, or NULL: has a thread do what opens the file whose descriptors are its own,
     * and tells the result. 0: not done, the calling thread does it. */
    int (*elsewhere)(struct trace_writer *w, trace_job *job, uint32_t bytes, long *result);
    char path[512];
    char *brief;               /* memory that a brief trace began in; NULL: it began in its file */
    int state;                 /* enum trace_place; atomic, as the next two */
    int taken_first;           /* the first chunk has a thread */
    struct trace_chunk *moved; /* where it is in the file, until its thread goes on there */
    int followed;              /* its thread has gone on there */
    int hidden;                /* the file, behind a member that has more */
    long mover;                /* the thread of TRACE_MOVING */
    int is_given;              /* the memory is the caller's */
    int added;                 /* to the file of the brief ones, and nothing has changed since */
};

/* A thread's place in it; used by that thread and signal handlers on it only (the caller keeps a
 * handler out while the thread itself writes: a record that a handler wants to write meanwhile is
 * refused and counted). */
struct trace_stream {
    struct trace_writer *writer;
    struct trace_chunk *chunk; /* mapped; NULL before the first record */
    uint32_t tid, sequence;
    volatile int busy, sealing;
};

/* Makes `folder`/PID-START.tpt (`folder` absolute: programs change theirs). 0, or errno: the trace
 * is then off and every later call a no-op. */
int trace_create(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                 uint64_t byte_limit);
/* The same for a trace that stays in memory while it is brief; `start_ns`: when its process began
 * (trace_now), 0: now. `memory`: BRIEF_BYTES (brief.h) of the caller's, at the beginning of a page, for
 * a process that is about to end or to become another; NULL: the trace maps its own. */
int trace_create_brief(struct trace_writer *w, const char *folder, const uint8_t run_id[16],
                       uint64_t byte_limit, uint64_t start_ns, void *memory);
/* Moves a brief trace into its file, before the program can lose the right to it. 0, or errno. */
int trace_to_file(struct trace_writer *w);
/* The same before a signal ends the process: also where another thread is at it and stands still. */
void trace_keep(struct trace_writer *w);
/* The calling thread gets a table of descriptors of its own with the trace's file in it, where the
 * kernel can (5.9). A program of one thread keeps a table that nobody shares: each of its system
 * calls on a descriptor takes 36 ns less, and what the thread opens takes no number of it. */
void trace_writer_unshare(struct trace_writer *w);
/* Records how the process image ended; TRACE_RUNNING takes it back (an exec failed). Seals nothing:
 * chunks stay readable unsealed, and what threads still write is kept. */
/* The clock of this process: the same number for all whose CLOCK_MONOTONIC is the same; 0 unknown.
 */
uint64_t trace_clock_id(void);
void trace_clock_changes(void); /* the program may enter another name space from now on */
/* Spares a process the files of /proc that tell it, 60 us of the first look into them: `given` is by
 * another process, "ID:OFFSET" of trace_clock_text. Taken where CLOCK_REALTIME is as far ahead of
 * CLOCK_MONOTONIC as it was there, to 1 us; another host or name space, or a clock that was set,
 * has another offset. */
void trace_clock_given(const char *given);
enum { TRACE_CLOCK_TEXT = 48 };
void trace_clock_text(char out[TRACE_CLOCK_TEXT]);   /* "" where the clock is unknown */
uint64_t trace_birth_time(int fd, const char *path); /* ns; of the file, 0 unknown */
/* Compared with that of an MPI program's first rank, when it started (0) and ended (1). */
void trace_clock_shift(struct trace_writer *w, int which, int64_t shift_ns, uint64_t error_ns);
void trace_finish(struct trace_writer *w, enum trace_end end, int detail);
/* In a forked child: lets go of the parent's file without touching it. The child closes the
 * parent's streams before it makes a file of its own; that only unmaps them. */
void trace_abandon(struct trace_writer *w);
/* Its descriptor alone: before that, or in a child that ends now, which unmaps all. */
void trace_abandon_file(struct trace_writer *w);

void trace_stream_open(struct trace_stream *s, struct trace_writer *w, uint32_t tid);
/* A write to it was left by a jump: the next one may begin. */
void trace_stream_interrupted(struct trace_stream *s);
void trace_stream_close(struct trace_stream *s); /* seals its chunk and unmaps it */
/* In a forked child that ends now: closing it unmaps nothing, as the end does that. */
void trace_stream_leave(struct trace_stream *s);

/* Appends `record` (its kind set; words, and time when 0, are filled in) and a tail, cut to what
 * fits into TRACE_RECORD_MAX. 1 written, 0 lost (and counted). */
int trace_put(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
              const void *tail, size_t tail_bytes);
/* Writes the same with the tail in two parts. */
int trace_put2(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
               const void *tail, size_t tail_bytes, const void *more, size_t more_bytes);

void trace_lost(struct trace_writer *w, enum trace_loss what, uint64_t n);
uint64_t trace_hash(const void *bytes, size_t n, uint64_t seed); /* never 0 */
uint32_t trace_crc(uint32_t crc, const void *bytes, size_t n);   /* CRC-32C */
uint64_t trace_now(void);                                        /* CLOCK_MONOTONIC, ns */

#endif
