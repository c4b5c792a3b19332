/* A trace that begins in memory. Most processes of a shell, a build or git live for a millisecond:
 * a file of its own costs each of them 0.1 to 0.3 ms. Header and first chunk of a brief trace lie in
 * private memory; it moves into its file as soon as a second chunk is wanted, which the library's own
 * thread does with its first record, 25 to 75 ms after the start. A trace that ends before is added,
 * whole and by one write, to the file of the brief ones: reader.h reads them one by one.
 *
 *   file    = members, in the order in which they ended; CLOCK: trace_clock_id, for hosts that share
 *             a folder; `brief-CLOCK.tpb`
 *   member  = struct trace_header, struct trace_chunk, its records
 *
 * A later member of the same process and start, or a file PID-START.tpt, has all of an earlier one:
 * an exec that failed. */
#ifndef TP_TRACE_BRIEF_H
#define TP_TRACE_BRIEF_H

#include "profiler/trace/writer.h"

/* Bytes of memory: a page that forks wipe, the header, the first chunk. */
#define BRIEF_BYTES (TRACE_PAGE + TRACE_HEADER_BYTES + TRACE_CHUNK_FIRST)

struct trace_chunk *brief_chunk(const struct trace_writer *w); /* the first chunk's memory */
/* The chunk in memory for the first that asks for one of its size, else NULL. */
struct trace_chunk *brief_take(struct trace_writer *w, uint32_t bytes);
/* Goes on in the file where the stream's chunk has moved there. */
void brief_follow(struct trace_stream *s);
/* Makes the calling thread the one that moves the trace, which waits (20 ms at most) for another.
 * 0: it has its file already, or another thread is still at it. Ends with brief_release. */
int brief_hold(struct trace_writer *w);
void brief_release(struct trace_writer *w, enum trace_place place);
/* The process ends while another thread is at the move and has not come to an end in time: adds the
 * trace from memory, unless the file has all of it. */
void brief_end_beside(struct trace_writer *w);
void brief_goes_on(struct trace_writer *w); /* it does not end after all: an exec failed */
/* Adds the trace as it is now to the file of the brief ones; 0, or errno: it needs its own file. */
int brief_add(struct trace_writer *w);

#endif
