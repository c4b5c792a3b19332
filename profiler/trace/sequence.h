/* Tracks the next chunk of each thread: finds gaps. */
#ifndef TP_TRACE_SEQUENCE_H
#define TP_TRACE_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sequences { /* all zero: empty */
    struct sequence *slots;
    size_t room, count;
};

/* Notes chunk `sequence` of a thread; *missing = chunks that should have come before it. A chunk 0
 * of a known tid is that of a new thread under a reused tid. */
enum err sequences_next(struct sequences *s, uint32_t tid, uint32_t sequence, uint64_t *missing);
void sequences_free(struct sequences *s);

#endif
