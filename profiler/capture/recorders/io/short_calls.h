/* Short calls, and the processor's counter by which they are timed. */
#ifndef TP_CAPTURE_RECORDERS_IO_SHORT_CALLS_H
#define TP_CAPTURE_RECORDERS_IO_SHORT_CALLS_H

#include "profiler/capture/recorders/io/state.h"

/* ticks.c */
uint64_t io_ticks_since(uint64_t begin); /* ns */
void io_ticks_follow(void);              /* at ticks of the recorder */

/* calls.c: sizes, times and places of a read or write, under the lock of its file. */
void io_add_data(struct io_file *f, struct io_descriptor *d, const struct io_add *a, uint32_t tid);
/* Whether a call has its stack, drawn once: io_drawn of its thread. IO_DRAWN + d: it is taken, for
 * 2^d calls. 0: not drawn. */
enum { IO_DRAWN_NONE = 1, IO_DRAWN };
unsigned io_draw(struct capture_thread *t);

/* short_calls.c: what one costs. */
void io_short_measure(struct capture_thread *t);

#endif
