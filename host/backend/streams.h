/* The part of a back end that serves arrays larger than its memory: how much there is, what calls
 * take of it, and copies that run beside computing. A back end that computes in host memory has
 * none of it (struct backend_ops, streams). */
#ifndef TP_BACKEND_STREAMS_H
#define TP_BACKEND_STREAMS_H

#include "host/backend/backend.h"

/* Work on one stream is done in order; streams wait for each other at fences only. Compute
 * functions, zero, copy and add belong to STREAM_COMPUTE. */
enum stream_id { STREAM_COMPUTE, STREAM_UPLOAD, STREAM_DOWNLOAD, STREAM_COUNT };
struct fence;

enum backend_call { CALL_FORWARD, CALL_BACK, CALL_FILTER, CALL_SLICES, CALL_MEDIAN, CALL_SUMS };

/* Bytes that a call takes beside its buffers, its projector and pixel list included: some stay its
 * own between calls, some are shared with the calls that follow. Never less than it takes, and
 * never less for a larger problem. */
struct call_memory {
    size_t kept, shared;
};

struct backend_streams {
    /* Bytes that buffers and calls may still take; what earlier calls left counts as free. */
    enum err (*room)(struct backend *be, size_t *bytes);
    struct call_memory (*memory)(const struct backend *be, enum backend_call call,
                                 const struct scan *s, const struct volume *v, int64_t pixels);
    /* ERR_MEMORY: what needs `need`, how much there is, and then the advice. */
    enum err (*refuse)(struct backend *be, const char *what, size_t need, const char *advice);

    /* Host memory must be pinned before it is sent from or received into. */
    enum err (*pin)(struct backend *be, void *host, size_t bytes);
    void (*unpin)(struct backend *be, void *host);
    enum err (*send)(struct backend *be, const void *pinned, size_t bytes, struct buffer *to,
                     size_t at);
    enum err (*receive)(struct backend *be, const struct buffer *from, size_t at, size_t bytes,
                        void *pinned);

    /* A point in a stream: reached when all that the stream was given before it is done. A fence
     * can be set again; who waits for it waits for the point that it marked by then. One that was
     * never set is reached. */
    enum err (*fence_create)(struct backend *be, struct fence **out);
    void (*fence_free)(struct fence *f);
    enum err (*fence_set)(struct backend *be, struct fence *f, enum stream_id stream);
    enum err (*fence_hold)(struct backend *be, struct fence *f,
                           enum stream_id stream);                /* stream waits */
    enum err (*fence_await)(struct backend *be, struct fence *f); /* caller waits */
    enum err (*finish)(struct backend *be); /* all streams are done when it returns */

    /* A call of the library begins: the calling thread's current device becomes the back end's.
     * *outer is what it was, which leave brings back. */
    enum err (*enter)(struct backend *be, int *outer);
    void (*leave)(struct backend *be, int outer);
    /* Checks that the bytes at `p`, the array `name` of the caller, are memory of this device, and
     * waits for the stream on which they are ready (a cudaStream_t; NULL: the default one). */
    enum err (*take_foreign)(struct backend *be, const char *name, const void *p, size_t bytes,
                             void *stream);

    /* The first n floats of `to` += those of `from`. */
    enum err (*add)(struct backend *be, int64_t n, const struct buffer *from, struct buffer *to);
};

#endif
