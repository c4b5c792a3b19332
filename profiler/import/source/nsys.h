/* Shared by the files of Nsight Systems' importer. */
#ifndef TP_IMPORT_SOURCE_NSYS_H
#define TP_IMPORT_SOURCE_NSYS_H

#include "profiler/import/read/sqlite.h"
#include "profiler/import/source/source.h"

struct nsys_on_cpu { /* a stretch of a thread on a CPU */
    int64_t start, end;
    uint64_t thread;
};
struct nsys_thread {
    uint64_t id; /* globalTid */
    int64_t cpu, samples;
    size_t first, count; /* in on_cpu */
};
struct nsys_call { /* of CUDA's runtime, by correlation */
    int64_t start, end;
    int32_t node;
};
struct nsys {
    struct builder *b;
    struct database *d;
    struct table strings, threads, process_names, thread_names, domains, correlations;
    VECTOR(const char *) texts;
    VECTOR(struct nsys_thread) thread_list;
    VECTOR(struct nsys_on_cpu) on_cpu;
    VECTOR(struct nsys_call) calls;
    int64_t damaged, broken, unresolved;
    double rate_hz;
};

const char *nsys_string(const struct nsys *n, int64_t id);
enum err nsys_place(struct nsys *n, uint64_t global_tid, int32_t *thread); /* row of the builder */

enum err nsys_thread_at(struct nsys *n, uint64_t global_tid, struct nsys_thread **out);
/* Time of a thread on a CPU within [from, to). */
int64_t nsys_on_cpu_within(struct nsys *n, uint64_t thread, int64_t from, int64_t to);

enum err nsys_samples(struct nsys *n);
enum err nsys_waits(struct nsys *n);
enum err nsys_ranges(struct nsys *n);
enum err nsys_cuda(struct nsys *n);

#endif
