/* What the files of this folder share: one unwinding of a thread's Python frames. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_READ_H
#define TP_CAPTURE_RECORDERS_PYTHON_READ_H

#include <string.h>

#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/layout.h"
#include "profiler/capture/recorders/python/python.h"

enum { PYTHON_RANGES = 6 };
struct python_unwind {
    const struct python_layout *l;
    struct capture_thread *thread; /* whose stream is written */
    const struct frame_view *view;
    /* Memory that is there as long as the thread does not run: its stack and its frame stack. */
    struct {
        uintptr_t low, high;
    } range[PYTHON_RANGES];
    unsigned ranges;
};

static inline int python_in_range(const struct python_unwind *w, uintptr_t at, size_t bytes)
{
    for (unsigned i = 0; i < w->ranges; i++)
        if (at >= w->range[i].low && at < w->range[i].high && bytes <= w->range[i].high - at)
            return 1;
    return 0;
}

static inline int python_get(const struct python_unwind *w, uintptr_t at, void *to, size_t bytes)
{
    if (!python_in_range(w, at, bytes))
        return safe_read(at, to, bytes);
    memcpy(to, (const void *)at, bytes);
    return 1;
}

/* code.c: a code object's id, and the line of its instruction at byte `at` (negative: before the
 * first). `alive`: a running frame of this very thread holds it, so that it may be read plainly
 * once it is known. 0: it is not a code object, or it cannot be read. *line 0: it has none there.
 */
int python_code(struct python_unwind *w, uintptr_t code, intptr_t at, int alive, uint64_t *id,
                uint32_t *line);
int python_code_start(void);
void python_code_forget(void);

/* lines.c: the line of byte `at` in the table of a code object, which begins at `table`
 * (bytes of the object's content). */
uint32_t python_line(const struct python_unwind *w, enum python_lines kind, uintptr_t table,
                     size_t bytes, int first_line, intptr_t at);

#endif
