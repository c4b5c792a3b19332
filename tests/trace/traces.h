/* Traces for tests: made in a temporary folder, read whole. */
#ifndef TP_TESTS_TRACE_TRACES_H
#define TP_TESTS_TRACE_TRACES_H

#include "profiler/trace/reader.h"
#include "profiler/trace/writer.h"

extern char
    traces_folder[64]; /* made by traces_set_up, removed with its files by traces_tear_down */
int traces_set_up(void **state);
int traces_tear_down(void **state);
void traces_empty(void); /* removes the files in it */

struct seen { /* one record */
    uint32_t tid;
    uint32_t kind;
    uint64_t id;  /* of STRING, STACK, CODE and SAMPLE (its stack); else 0 */
    uint64_t sum; /* CRC of the whole record and its tail */
};
struct reading {
    enum err error; /* of trace_open or trace_next */
    struct trace_header header;
    struct trace_damage damage;
    struct seen *seen;
    size_t count;
};
/* Reads all of it, every byte of every record too. Free with reading_free. */
struct reading reading_of(const char *path);
void reading_free(struct reading *r);
size_t reading_count(const struct reading *r, uint32_t tid); /* records of one thread */
int reading_clean(const struct reading *r); /* no error, and no damage but unsealed chunks */

/* Appends STRING `id` with a text of `bytes`; what trace_put says. */
int put_text(struct trace_stream *s, uint64_t id, size_t bytes);
int put_sample(struct trace_stream *s, uint64_t stack);

/* Thread 1, sealed, and thread 2, not sealed: each chunk of TRACE_CHUNK_FIRST bytes holds
 * SMALL_RECORDS of all kinds of tail. Thread 1's chunk comes first. Returns the path. */
#define SMALL_RECORDS 10
const char *small_trace(void);

void patch(const char *path, long offset, const void *bytes, size_t n);

#endif
