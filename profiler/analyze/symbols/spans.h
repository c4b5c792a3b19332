/* Tracks where each image lay in a process, and from when to when. */
#ifndef TP_ANALYZE_SYMBOLS_SPANS_H
#define TP_ANALYZE_SYMBOLS_SPANS_H

#include "base/array.h"

struct module_span { /* a module in a process, from `from` to before `until` */
    uint64_t start, end, bias, from, until;
    uint64_t reach; /* largest end up to here */
    uint32_t image;
};
struct module_end {
    uint64_t start, end, time;
};
struct spans { /* all zero = empty */
    VECTOR(struct module_span) spans;
    VECTOR(struct module_end) ends;
    int settled; /* spans sorted by start and time, their ends known */
};

/* It ends with the first end of the same place after it. Both may come in any order. */
enum err spans_add(struct spans *s, struct module_span span);
enum err spans_end(struct spans *s, uint64_t start, uint64_t end, uint64_t time_ns);
/* The newest of those that were there at the time; else the first that came later: its record is
 * late; else what was there last. NULL: none ever. */
const struct module_span *spans_at(struct spans *s, uint64_t time_ns, uint64_t address);
void spans_free(struct spans *s);

#endif
