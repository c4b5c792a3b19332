/* Shared by the files of this folder: the calls of all ranks. */
#ifndef TP_ANALYZE_RANKS_RANKS_STATE_H
#define TP_ANALYZE_RANKS_RANKS_STATE_H

#include "profiler/analyze/ranks/ranks.h"

enum { NO_RANK = -1, RANKS_MAX = 65536 };

struct rank_event { /* a call; times from the run's origin, ns */
    uint64_t begin, end, bytes, group;
    uint32_t sequence, size, place;
    int rank, peer, tag;
    const char *name; /* in the model's arena */
    uint16_t op, flags;
    double late; /* ns of it that a rank was waited for */
    int late_rank;
};
struct rank_place {
    const char *file, *function; /* in the model's arena; NULL unknown */
    int line;
};
struct rank_sum {
    int rank, process, ended;
    uint64_t begin, end; /* of what counts: after Init */
    double in_mpi, late, delayed, bytes;
    uint64_t calls;
};
struct rank_range { /* one range on one rank; ns */
    uint32_t row;   /* in ranges */
    int rank;
    uint64_t n;
    double spent, in_mpi;
};
struct ranks_run {
    int size;
    const char *library;
    VECTOR(struct rank_event) events;
    VECTOR(struct rank_place) places; /* [0]: unknown */
    VECTOR(struct rank_sum) ranks;
    VECTOR(struct rank_range) ranges;
    struct table range_by_key;
    uint64_t unmatched;
};

/* match.c: late, late_rank of all events. */
enum err ranks_match(struct ranks_run *ranks);
/* rank_ranges.c: the ranges of an image whose calls are events[first] and those after it. */
enum err ranks_ranges(struct image *im, int rank, size_t first);
enum err ranks_range_rows(struct run *r);

#endif
