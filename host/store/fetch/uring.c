/* Many reads in flight by io_uring, where the library is in this build and the system lets it:
 * containers' seccomp profiles often refuse it. */
#include "host/store/fetch/fetch.h"

#ifdef TP_URING
#include <errno.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static enum err uring_start(struct fetch_worker *w, int depth)
{
    struct io_uring *ring = calloc(1, sizeof *ring);
    FAIL_IF(!ring, ERR_MEMORY, "no memory left for io_uring");
    int r = io_uring_queue_init((unsigned)depth, ring, 0);
    if (r < 0) {
        free(ring);
        return FAIL(ERR_UNSUPPORTED, "io_uring is refused by this system: %s", strerror(-r));
    }
    w->state = ring;
    return ERR_OK;
}

static void uring_end(struct fetch_worker *w)
{
    if (w->state)
        io_uring_queue_exit(w->state);
    free(w->state);
    w->state = NULL;
}

static enum err uring_submit(struct io_uring *ring, const struct fetch_worker *w,
                             struct fetch_request *r, int64_t done)
{
    struct io_uring_sqe *e = io_uring_get_sqe(ring);
    FAIL_IF(!e, ERR_INTERNAL, "io_uring's queue is full");
    const int64_t left = r->bytes - done;
    io_uring_prep_read(e, w->fd, (char *)r->to + done, (unsigned)(left < 1 << 30 ? left : 1 << 30),
                       (uint64_t)(r->offset + done));
    io_uring_sqe_set_data(e, r);
    return ERR_OK;
}

/* Reads requests [0, n) of one object. `data` counts what has come until all has. */
static enum err uring_read_object(struct fetch_worker *w, struct fetch_request *r, int n)
{
    struct io_uring *ring = w->state;
    int64_t done[256] = {0};
    int waiting = 0;
    enum err e = ERR_OK;
    for (int i = 0; i < n && !e; i++) {
        r[i].begin_ns = clock_ns();
        e = uring_submit(ring, w, &r[i], 0);
        waiting += !e;
    }
    while (waiting) {
        struct io_uring_cqe *c;
        int r_wait = io_uring_submit(ring);
        if (r_wait >= 0)
            r_wait = io_uring_wait_cqe(ring, &c);
        if (r_wait == -EINTR || r_wait == -EAGAIN)
            continue;
        FAIL_IF(r_wait < 0, ERR_IO, "%s: io_uring: %s", r->object->name, strerror(-r_wait));
        struct fetch_request *q = io_uring_cqe_get_data(c);
        const int got = c->res;
        io_uring_cqe_seen(ring, c);
        waiting--;
        if (got <= 0) {
            e = e ? e
                  : FAIL(got ? ERR_IO : ERR_INPUT, "%s: reading failed: %s", q->object->name,
                         got ? strerror(-got) : "it became shorter");
            continue;
        }
        done[q - r] += got;
        if (done[q - r] < q->bytes && !e) {
            e = uring_submit(ring, w, q, done[q - r]);
            waiting += !e;
        }
        q->data = q->to;
        q->end_ns = clock_ns();
    }
    return e;
}

static enum err uring_read_many(struct fetch_worker *w, struct fetch_request *r, int n)
{
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && k - i < 256 && r[k].object == r[i].object; k++)
            ;
        TRY(fetch_open(w, r[i].object, 0));
        TRY(uring_read_object(w, r + i, k - i));
    }
    return ERR_OK;
}

const struct fetch_way fetch_uring = {
    "uring", "io_uring, a batch in flight", 1, 0, uring_start, uring_read_many, uring_end};
#else
static enum err uring_start(struct fetch_worker *w, int depth)
{
    (void)w, (void)depth;
    return FAIL(ERR_UNSUPPORTED, "this build has no liburing");
}

static enum err uring_read_none(struct fetch_worker *w, struct fetch_request *r, int n)
{
    (void)w, (void)r, (void)n;
    return FAIL(ERR_INTERNAL, "io_uring is not in this build");
}

const struct fetch_way fetch_uring = {
    "uring", "io_uring, a batch in flight", 1, 0, uring_start, uring_read_none, NULL};
#endif
