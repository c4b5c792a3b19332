/* Measures loading: a profile of one way, and a sweep over ways, on the file as it lies on the
 * disk. */
#ifndef TP_LOAD_LOAD_H
#define TP_LOAD_LOAD_H

#include <stdio.h>

#include "base/rootcause/rootcause.h"
#include "host/load/loading.h"
#include "host/store/engine/engine.h"
#include "host/store/engine/chunk_cache.h"

enum load_cache { CACHE_AS_IS, CACHE_WARM, CACHE_COLD };
enum load_size { SWEEP_NONE, SWEEP_QUICK, SWEEP_MEDIUM, SWEEP_FULL };

/* A GPU, as the command line gives it. Errors are those of its back end. */
struct load_device {
    void *self;
    enum err (*pin)(void *self, void *host, size_t bytes);
    void (*unpin)(void *self, void *host);
    enum err (*reserve)(void *self, size_t bytes);
    /* Bytes [at, at + bytes) of the array begin their way; all are there when `sent` returns. */
    enum err (*send)(void *self, const void *pinned, size_t at, size_t bytes);
    enum err (*sent)(void *self);
    enum err (*check)(void *self, const void *pinned, size_t bytes);
};
enum load_to { TO_MEMORY, TO_PINNED, TO_DEVICE };

struct load_request {
    const char *path, *array; /* array NULL: the first */
    const char *channel;      /* name or number; NULL: all */
    struct engine_options options;
    int as_float;   /* convert to float32 */
    int64_t chunks; /* that are read; 0: all */
    enum load_cache cache;
    enum load_size sweep;
    int64_t box[STORE_DIMS];          /* read in boxes of this shape, one after the other, */
    int box_dims;                     /* 0: all at once */
    int64_t keep_bytes;               /* decoded chunks that stay between boxes */
    enum load_to to;                  /* where the array goes; */
    const struct load_device *device; /* NULL: to memory */
    double budget_s;                  /* of the sweep; 0: 60 s, 600 s, none */
    const volatile int *stop;
};

/* Shared by all measurements: the open file and the memory that is read into. */
struct load_session {
    const struct load_request *request;
    struct store *store;
    struct store_array *array;
    struct store_dtype type;
    struct engine_box wanted, box; /* box: what memory holds of it */
    int64_t boxes;
    int64_t chunks; /* that are read */
    void *out;
    size_t out_bytes;
    int pinned;
    int64_t part[STORE_DIMS]; /* the boxes' shape */
    int part_dims;            /* 0: one box */
    int sends;                /* each box goes to the device while the next one is read */
    size_t given;             /* bytes that are on their way there */
    int64_t open_ns, index_ns, allocate_ns, pin_ns, send_ns;
    int64_t allocate_work_ns, page_faults; /* of allocating, all its threads */
    int64_t cpu_wait_ns; /* left out of open_ns, index_ns and allocate_ns: no CPU was free */
    double running;      /* other threads that were ready to run when it began; 0: unknown */
    int64_t deadline_ns; /* 0: none */
};
/* A part of the array that goes to the device at least: tests want small ones. */
extern size_t load_piece_bytes;
enum err load_memory(struct load_session *s); /* `out`, with all its pages */
enum err load_begin(const struct load_request *r, struct load_session *s);
void load_end(struct load_session *s);

/* A run of one way. */
struct load_run {
    double seconds, cpu_s, cached_share, fill_s; /* fill_s: of `seconds`, fills between tiles */
    struct engine_result result;
    struct engine_facts facts; /* sums over all boxes */
    struct chunk_cache_facts kept;
};
/* Counts the boxes of the session. ERR_USAGE: they do not fit the array. */
enum err load_boxes(struct load_session *s);
/* For the device: parts of some pieces along the slowest dimension, sent as soon as they are read.
 */
void load_parts(struct load_session *s);
enum err load_once(struct load_session *s, const struct engine_options *o, enum load_cache cache,
                   struct load_run *run, struct engine_time **times);

/* Fills the model: file, phases, chunks, spread, estimate. */
enum err load_profile(struct load_session *s, struct loading *l);
/* Names the way that `options` spell, with so many workers, where its gain over the sequential way
 * is one; NaN: it was not measured again. */
enum err load_recommend(struct loading *l, const char *options, int workers, double gain);
/* Then the table, the fastest first, and what is recommended. */
enum err load_sweep(struct load_session *s, struct loading *l);
/* Then ratings, and causes. */
enum err load_ratings(struct loading *l);
enum err load_causes(struct loading *l);
double load_stored_spread(const struct loading *l); /* p95 over median of chunks; 0 unknown */
double load_effort_days(const char *advice);        /* of a cause's actions */
void load_rules_write(FILE *out); /* the table of rules for the docs, as Markdown */

/* Share of the store's files that is in the page cache; NaN: unknown. */
double load_cached_share(const struct store *s);
/* 0 when the files could not be put into that state. */
int load_set_cache(const struct store *s, enum load_cache cache);
/* Tells how the array's chunks lie; `covered`: without holes. NULL: unknown. */
const char *load_layout(const struct store_array *a, int covered, struct arena *arena);
double
load_seams(const struct load_session *s); /* of loading.json; NaN: no tiles, or not all read */
const char *load_filesystem(const char *path);
const char *load_cache_name(enum load_cache cache);
const char *load_order_name(enum engine_order order);

/* Prints the profile and the table on `out`; rootcause.json and rootcause.md in `folder`. */
enum err load_text(const struct loading *l, FILE *out, int causes);
enum err load_rootcause(const struct loading *l, const char *folder);
enum err load_page(const struct loading *l, const char *folder); /* loading.html in `folder` */

#endif
