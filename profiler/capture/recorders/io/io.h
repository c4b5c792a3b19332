/* Input and output: what the hooks of calls on descriptors report (hooks/io_*.c). Calls are added
 * up here by file and by place of the program, in tables of bounded size; records.c writes them now
 * and then and at the end. Nothing of what is read or written is looked at. All functions keep
 * errno, wait for nobody, and do nothing in a child of vfork. */
#ifndef TP_CAPTURE_RECORDERS_IO_IO_H
#define TP_CAPTURE_RECORDERS_IO_IO_H

#include <stdio.h>
#include <sys/socket.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/capture.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/system.h"

extern volatile int io_on CAPTURE_OWN, io_missed;

/* Given before the recorder starts: takes the hooks of reads, writes and seeks out of the
 * program's way, where they cost more than they may. */
void io_take_out_by(unsigned (*take_out)(void));
void io_makes_child(void); /* before the program can wait for it */

/* Before a call: when it begins; 0: nothing is recorded (any longer: the clock may be forbidden). */
static inline uint64_t io_begin(void)
{
    return __builtin_expect(capture_is_on() && io_on, 0) ? trace_now() : 0;
}

/* The same for calls that do not wake a process: asleep it counts them in its tables. */
uint64_t io_begin_asleep(void);
/* Something of a call can be recorded, in the tables at least. */
static inline int io_records(void)
{
    return __builtin_expect(capture.on, 1) || (asleep.on && asleep.counts);
}

/* The same by the processor's counter, once its speed is known, for calls that may be short. */
#define IO_TICKS (1ull << 63)
extern uint64_t io_tick_ns CAPTURE_OWN; /* times 2^32; 0: not known */
static inline uint64_t io_stamp(void)
{
    return __atomic_load_n(&io_tick_ns, __ATOMIC_RELAXED) ? IO_TICKS | raw_ticks() : trace_now();
}
extern int io_lean CAPTURE_OWN;         /* lean.c: calls are counted, and only some of them timed */
enum { IO_LEAN = 1, IO_LEAN_MEASURED }; /* stamps of calls that are not */
uint64_t io_lean_begin(void);
static inline uint64_t io_short_begin(void)
{
    if (!__builtin_expect(capture.on && io_on, 1))
        return io_begin_asleep();
    return __atomic_load_n(&io_lean, __ATOMIC_RELAXED) ? io_lean_begin() : io_stamp();
}
/* Before a descriptor is closed: that wakes nobody, its row is forgotten later. */
static inline uint64_t io_close_begin(void)
{
    if (__builtin_expect(!capture.on && asleep.on && !asleep.counts, 0)) {
        io_missed = 1;
        return 0;
    }
    return io_short_begin();
}
/* A short call like many before it, with the stamp of io_short_begin; 1: it is recorded. */
int io_short_data(enum trace_io_op op, int fd, int64_t result, int64_t offset, uint64_t begin);
int io_short_open(int fd, const char *path, int flags, uint64_t begin);
int io_short_seek(int fd, int64_t result, uint64_t begin);
/* lean.c: with IO_LEAN or IO_LEAN_MEASURED; 0: it goes the long way, without its time. */
int io_lean_data(enum trace_io_op op, int fd, int64_t result, int64_t offset, uint64_t begin);
int io_lean_open(int fd, const char *path, int flags, uint64_t begin);
int io_lean_seek(int fd, int64_t result, uint64_t begin);
int io_lean_close(int fd, uint64_t begin);
#define IO_SHORT(call, begin, ...)                                                                 \
    ((begin) <= IO_LEAN_MEASURED ? io_lean_##call(__VA_ARGS__, begin)                              \
                                 : io_short_##call(__VA_ARGS__, begin))

struct io_call {
    enum trace_io_op op;
    int fd;
    int64_t result; /* bytes, 0, or below 0: errno says why */
    int64_t offset; /* IO_HERE: where the descriptor stood */
    uint64_t begin; /* of io_begin or io_short_begin */
    int no_chars;   /* the kernel's rchar and wchar do not count it */
};
#define IO_HERE (-1)
/* `caller`: see capture_stack. */
void io_done(const struct io_call *c, const void *caller);

/* A descriptor came to be, by `open` and its like (`begin` 0: not timed); failed below 0. `path`
 * and `flags` where the name leads to it from the folder of the process; else NULL, below 0. */
void io_opened(int fd, const char *path, int flags, uint64_t begin, const void *caller);
/* Names may lead elsewhere from now on. */
void io_names_change(void);
/* Before it is closed, where io_lean_close has not counted it; io_closed after it, with what came of
 * it. `begin` as for io_opened. */
uint32_t io_closing(int fd, uint64_t begin);
void io_closed(uint32_t file, uint64_t begin, int result, const void *caller);
void io_closing_range(unsigned first, unsigned last);
void io_duplicated(int from, int to); /* they share an offset now */
/* lseek came to `result`. */
void io_seeked(int fd, int64_t result, uint64_t begin, const void *caller);

/* stdio.c: around a call on a stream. */
struct io_stream {
    uint64_t begin; /* 0: not recorded */
    const char *read_at, *read_end, *write_at, *write_base;
    int64_t pending; /* bytes to be written */
};
struct io_stream io_stream_begin(FILE *f);
/* `bytes`: what the call gave or took. */
void io_stream_end(const struct io_stream *s, FILE *f, enum trace_io_op op, int64_t bytes,
                   const void *caller);
struct io_stream io_stream_seeking(FILE *f, const void *caller); /* begins a seek */
void io_stream_seeked(const struct io_stream *s, FILE *f, const void *caller);
uint32_t io_stream_closing(const struct io_stream *s, FILE *f, const void *caller);

/* mapped.c: files in memory. */
void io_mapped(void *at, size_t bytes, int fd, int64_t offset, uint64_t begin, const void *caller);
void io_unmapping(const void *at, size_t bytes);

#endif
