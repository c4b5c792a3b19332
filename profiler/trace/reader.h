/* Reading traces, trusted or not: streams a file chunk by chunk in bounded memory (one chunk),
 * repairs a torn tail, never trusts a length. */
#ifndef TP_TRACE_READER_H
#define TP_TRACE_READER_H

#include <stddef.h>

#include "base/err.h"
#include "profiler/trace/records_gpu.h"
#include "profiler/trace/records_host.h"
#include "profiler/trace/records_io.h"
#include "profiler/trace/records_lock.h"
#include "profiler/trace/records_mpi.h"

struct trace_reader;

/* Damage of the file; 0 everywhere for a clean one. */
struct trace_damage {
    uint64_t bad_chunks; /* magic, length or CRC wrong: skipped, reading goes on at the next page
                            that looks like a chunk; neighbours without magic count as one */
    uint64_t unsealed; /* chunks that their thread did not finish: normal after a kill, read as far
                          as they go */
    uint64_t torn_records;   /* a record's length did not fit: the rest of its chunk was left out;
                                or the length of its tail, then it alone */
    uint64_t missing_chunks; /* gaps in the sequence of a thread */
    uint64_t unknown_records;
    uint64_t truncated_bytes; /* the file is shorter than its header says */
};

/* ERR_INPUT with a sentence for what is not a trace, of another version or byte order, or shorter
 * than its header. */
enum err trace_open(const char *path, struct trace_reader **out);
void trace_reader_free(struct trace_reader *r);
const struct trace_header *
trace_reader_header(const struct trace_reader *r); /* a copy, as read at opening */

uint64_t trace_reader_bytes(const struct trace_reader *r); /* of the trace on the disk */

/* 1: the file is the one that was written when its program ran, and belongs to this user; 0: a
 * copy, or of somebody else. */
int trace_reader_is_own(const struct trace_reader *r);

/* The next record in file order (in order of time within one thread only), `*more` is 0 at its end.
 * The record is at least as long as the struct of its kind and valid until the next call; `tail` is
 * what follows the struct, tail lengths that the record names are checked. tid = the writing
 * thread. Unknown kinds are skipped and counted. */
struct trace_item {
    const struct trace_record *record;
    const char *tail;
    size_t tail_bytes;
    uint32_t tid;
};
enum err trace_next(struct trace_reader *r, struct trace_item *item, int *more);
const struct trace_damage *trace_reader_damage(const struct trace_reader *r);
uint64_t trace_reader_position(const struct trace_reader *r); /* bytes read, for progress */

/* The .tpt files of a folder, and the members of its .tpb files (brief.h) as FILE.tpb@OFFSET, sorted
 * by start time; paths malloc'ed. An empty folder is ERR_INPUT. */
enum err trace_list(const char *folder, char ***paths, size_t *count);
void trace_list_free(char **paths, size_t count);

#endif
