/* Ways to get bytes of files. Each thread of the engine has its own worker of one of them. */
#ifndef TP_STORE_FETCH_FETCH_H
#define TP_STORE_FETCH_FETCH_H

#include "host/store/store.h"

#define FETCH_ALIGN 4096 /* of O_DIRECT: offsets, lengths and addresses */

struct fetch_request {
    const struct store_object *object;
    int64_t offset, bytes;
    void *to;                  /* aligned to FETCH_ALIGN, room for bytes + 2 * FETCH_ALIGN */
    const unsigned char *data; /* where the bytes are afterwards: in `to`, or in a mapping */
    int whole;   /* an object whose size, at most `bytes`, is not known, and that may be missing: */
    int64_t got; /* what came; -1: it is not there */
    int64_t begin_ns, end_ns;
};

struct fetch_worker;
struct fetch_way {
    const char *name, *meaning;
    int any_memory; /* `to` may be any memory of `bytes` bytes */
    int maps;       /* `data` is valid until another object is read: one object a call */
    /* ERR_UNSUPPORTED with the reason where this machine does not let it. */
    enum err (*start)(struct fetch_worker *w, int depth);
    enum err (*read)(struct fetch_worker *w, struct fetch_request *r, int n);
    void (*end)(struct fetch_worker *w);
};

struct fetch_worker {
    const struct fetch_way *way;
    const struct store_object *object; /* the one that is open */
    int fd;
    void *map;
    int64_t map_bytes;
    void *state;
};

extern const struct fetch_way fetch_pread, fetch_mmap, fetch_direct, fetch_uring, fetch_http;
/* For files, ended by NULL; the first is the default. What has a URL is read by fetch_http. */
extern const struct fetch_way *const fetch_ways[];
/* ERR_USAGE lists the names. */
enum err fetch_find(const char *name, const struct fetch_way **out);

/* Starts a worker of `way`. Where that is refused, of pread: then *reason says why (else NULL).
 * `depth`: requests per call at most. */
enum err fetch_start(struct fetch_worker *w, const struct fetch_way *way, int depth,
                     char reason[200]);
enum err fetch_read(struct fetch_worker *w, struct fetch_request *r, int n);
void fetch_end(struct fetch_worker *w);

/* For the ways: opens the request's object with `flags` unless it is open. */
enum err fetch_open(struct fetch_worker *w, const struct store_object *o, int flags);
void fetch_close(struct fetch_worker *w);

/* ERR_INPUT where the open file is none, or where links lead out of the object's root. */
enum err fetch_check_file(const struct store_object *o, int fd, int64_t *bytes);

#endif
