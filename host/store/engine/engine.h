/* The loading engine: any box of any array, planned, fetched, decoded, converted and placed by
 * several workers, each step timed for each chunk (some 25 ns a time stamp, 260 ns for waits). */
#ifndef TP_STORE_ENGINE_ENGINE_H
#define TP_STORE_ENGINE_ENGINE_H

#include "host/store/fetch/fetch.h"
#include "host/store/store.h"

enum engine_order { ORDER_OFFSET, ORDER_INDEX, ORDER_YX, ORDER_XY, ORDER_RANDOM };
#define ENGINE_ORDERS "offset|index|yx|xy|random"

struct chunk_cache;
struct engine_options {          /* all zero: the defaults */
    const struct fetch_way *way; /* NULL: pread */
    int threads;   /* 0: as many as this process may use, at most 16; 16 connections of HTTP */
    int processes; /* instead of threads; `out` is then of engine_shared */
    int batch;     /* chunks that are fetched together; 0: by their size */
    enum engine_order order;
    int64_t gap;     /* unwanted bytes read to join two requests; 0: 4096, HTTP 65536; -1: never */
    int64_t largest; /* bytes of a joined request; 0: 16 MiB */
    struct chunk_cache
        *kept;           /* not NULL: decoded chunks stay there (chunk_cache.h); threads only */
    int64_t chunks_most; /* 0: all */
    const volatile int *stop; /* not NULL: ends early, with what is done */
    int64_t deadline_ns;      /* of clock_ns; 0: none */
};

struct engine_box {
    int64_t start[STORE_DIMS], count[STORE_DIMS];
};
struct engine_box engine_all(const struct store_array *a);

/* Nanoseconds of one chunk. `queue`: between its fetch and its decoding, behind others of its
 * batch. `cpu_wait`: its worker was ready and had no CPU; the four steps are without it. */
struct engine_time {
    int64_t chunk, queue, fetch, decode, convert, place, cpu_wait, stored, decoded;
    int worker; /* -1: not read */
    int box;    /* for the caller, who may read several; 0 */
};

struct engine_plan;
struct engine_facts {
    int64_t chunks, chunks_stored; /* that the box touches; those that are not just a fill value */
    int64_t tasks;                 /* parts of chunks with a fetch of their own */
    int64_t bytes_wanted, bytes_fetched, bytes_decoded;
    int covered; /* no place of the box is without a chunk or tile */
    double
        amplification; /* decoded bytes, or fetched ones where nothing is compressed, over wanted */
};

/* ERR_INPUT: a box outside of the array. */
enum err engine_plan(struct store *s, struct store_array *a, const struct engine_box *box,
                     const struct engine_options *o, struct engine_plan **out);
void engine_plan_free(struct engine_plan *p);
const struct engine_facts *engine_facts(const struct engine_plan *p);

struct engine_result {
    int64_t tasks_done, wall_ns, buffer_bytes; /* buffers of all workers */
    int64_t fill_ns;                           /* of wall_ns: the fill value between tiles */
    int64_t child_cpu_ns; /* CPU time of children that decoded, and still wait for more */
    int counts_waits;     /* 0: this kernel does not tell `cpu_wait` */
    const char *way;      /* that was used, */
    char fallback[200];   /* and why not the wanted one; "" */
    int workers;
    int64_t requests, bytes_fetched; /* joined requests count once, with their gaps */
};

/* Reads into `out`: elements of `type` (native), stride[i] bytes apart along dimension i of the box
 * (NULL: C order). times: engine_facts' tasks of them, or NULL. */
enum err engine_run(struct engine_plan *p, struct store_dtype type, void *out,
                    const int64_t *stride, struct engine_time *times, struct engine_result *result);

/* Plan and run with the defaults; box NULL: all. */
enum err engine_read(struct store *s, struct store_array *a, const struct engine_box *box,
                     struct store_dtype type, void *out, const int64_t *stride);

/* Strides of an array of the box's size in C order, or in the order in which it is stored. */
void engine_strides(const struct store_array *a, const struct engine_box *box, int bytes,
                    int as_stored, int64_t stride[STORE_DIMS]);
/* 0: no conversion between these types. */
int engine_converts(struct store_dtype from, struct store_dtype to);

/* Memory that child processes share; to be freed with engine_unshare. */
enum err engine_shared(size_t bytes, void **out);
void engine_unshare(void *p, size_t bytes);
/* The same, of this process alone, without children that it starts: its pages cost less. */
enum err engine_private(size_t bytes, void **out);

#define ENGINE_PROCESSORS 16
/* Processors that this process may use, at most ENGINE_PROCESSORS. */
int engine_processors(void);

#endif
