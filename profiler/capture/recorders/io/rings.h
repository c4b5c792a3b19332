/* Requests that a program puts into a queue of the kernel: io_uring and AIO (hooks/io_rings.c).
 * They are counted when their results are seen, with the bytes that the kernel says it moved. Their
 * time is that of the calls on the queue, divided by the results that each brought: a thread's time
 * counts once, however many requests are on their way. */
#ifndef TP_CAPTURE_RECORDERS_IO_RINGS_H
#define TP_CAPTURE_RECORDERS_IO_RINGS_H

#include "profiler/capture/recorders/io/io.h"

/* Places of the parts of a ring in the program's memory. */
struct io_ring_parts {
    const unsigned *sq_head, *sq_array; /* sq_array NULL: places follow each other */
    const unsigned *cq_tail;
    const uint8_t *sqes, *cqes;
    unsigned sq_entries, cq_entries; /* powers of two */
    unsigned sqe_bytes, cqe_bytes;
};
void io_ring_made(int fd, const struct io_ring_parts *parts);
/* Gets io_uring_setup's results for a program that maps the ring itself: its mappings are waited
 * for. */
void io_ring_setup(int fd, const void *params);
void io_ring_mapped(int fd, const void *at, int64_t offset);
void io_ring_files(int fd, const int *files, unsigned count); /* registered; NULL: no more */
void io_ring_gone(int fd);

/* After a call on the ring: what went in, and what came out of it. */
void io_ring_poll(int fd, uint64_t begin, const void *caller);

/* libaio and its system calls: results as io_getevents gave them. */
void io_events_done(const void *events, long count, uint64_t begin, const void *caller);

extern int io_rings; /* how many there are */
/* Counts for rings: calls on them, requests whose results were seen, and those that were not
 * followed. */
extern uint64_t io_ring_calls, io_ring_requests, io_ring_lost;

/* At the end, and in a child. */
void io_rings_all(void);
void io_rings_forked(void);

#endif
