/* A worker of the engine: takes groups of parts until none is left. */
#ifndef TP_STORE_ENGINE_WORKER_H
#define TP_STORE_ENGINE_WORKER_H

#include "host/store/engine/chunk_cache.h"
#include "host/store/engine/parts.h"

/* All workers of a run share this; in shared memory, for they may be processes. */
struct engine_job {
    const struct engine_plan *plan;
    struct store_dtype type;
    void *out;
    int64_t stride[STORE_DIMS];
    struct engine_time *times;
    int64_t begin_ns;
    int64_t next, tasks_done, buffer_bytes, requests, bytes_fetched, child_cpu_ns; /* atomic */
    int failed, refused, blind; /* atomic; the first to fail, or to be refused, writes; blind: a
                                   worker whose waits for a CPU are unknown */
    enum err e;
    char text[1024], fallback[200];
    int workers;
};

struct engine_worker {
    struct engine_job *job;
    int number;
    struct fetch_worker fetch;
    struct codec_worker codecs;
    unsigned char *stored, *decoded, *converted;
    size_t stored_room, decoded_room, converted_room;
    const unsigned char *chunk; /* decoded: in `decoded`, or lent by the child of `codecs` */
    int64_t decoded_chunk;      /* that `chunk` is; -1: none */
    struct fetch_request *requests;
    int64_t *request_of;        /* of each part of a group */
    struct cached_chunk **held; /* of each part: its chunk is decoded already */
    int64_t requests_room, held_count;
    int waits_fd;                 /* clock_waits_open, where times are wanted */
    int64_t waits_ns;             /* so far */
    double fetch_waits;           /* share of the group's fetch without a CPU */
    int64_t cpu_ns, child_cpu_ns; /* so far, with its child; of the child, before this run */
    /* Not NULL: called once, with the time of the worker's first group; it may start the others. */
    void (*first_done)(struct engine_worker *w, int64_t ns);
    void *team;
};

void worker_run(struct engine_worker *w);
/* Waits for a CPU (waits.c). */
void waits_begin(struct engine_worker *w);
void waits_fetch(struct engine_worker *w);
void waits_fetched(struct engine_worker *w, int64_t ns);             /* a group, in so many */
void waits_take_out(struct engine_worker *w, struct engine_time *t); /* of a chunk's steps */
void waits_end(struct engine_worker *w);
/* Keeps the first error for the caller. */
void worker_fail(struct engine_job *job, enum err e);
/* The fill value everywhere in the output. */
void worker_fill(struct engine_job *job);

#endif
