/* For hooks/mmap.c: around mmap and mremap, before munmap. The begin functions return the calling
 * thread, entered, or NULL: then the call is of no interest and has no end. All keep errno. */
#ifndef TP_CAPTURE_RECORDERS_HEAP_MAPPINGS_H
#define TP_CAPTURE_RECORDERS_HEAP_MAPPINGS_H

#include "profiler/capture/recorders/heap/heap.h"

struct mapping_range {
    uintptr_t start, end;
};

struct mapping_call {
    int counts; /* is recorded, not only what it replaces */
    uint64_t spent_ns;
};
struct capture_thread *mapping_begin(struct mapping_call *c, void *at, size_t bytes, int prot,
                                     int flags, const void *caller);
void mapping_end(struct mapping_call *c, struct capture_thread *t, void *p, size_t bytes,
                 const void *caller);

void mapping_unmap(void *p, size_t bytes);

enum { MAPPING_PIECES = 8 };
struct mapping_move {
    struct mapping_range gone[MAPPING_PIECES];
    int n;
    uint64_t time_ns;
};
/* `at`: the new place where the caller names it, else NULL. */
struct capture_thread *mapping_move_begin(struct mapping_move *m, void *old, size_t old_bytes,
                                          void *at, size_t bytes, const void *caller);
void mapping_move_end(struct mapping_move *m, struct capture_thread *t, void *now, size_t bytes,
                      const void *caller);

void mappings_start(const void *malloc_code); /* what code beside it maps is left out */
void mappings_clear(void);

#endif
