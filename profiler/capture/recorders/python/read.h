/* Shared by the files of this folder: one unwinding of a thread's Python frames. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_READ_H
#define TP_CAPTURE_RECORDERS_PYTHON_READ_H

#include <string.h>

#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/layout.h"
#include "profiler/capture/recorders/python/python.h"

enum { PYTHON_RANGES = 32 }; /* 30 chunks of 16 KiB: some 4,000 frames */
struct python_unwind {
    const struct python_layout *l;
    struct capture_thread *thread; /* whose stream is written */
    const struct frame_view *view;
    /* The thread itself, in a call: the frames behind its first are in use, and can be read
     * plainly, wherever they are (those of generators and coroutines are objects). */
    int called;
    /* Memory that is there as long as the thread does not run: its stack and its frame stack. */
    struct {
        uintptr_t low, high;
    } range[PYTHON_RANGES];
    unsigned ranges, hit; /* hit: of the latest read */
    /* On the way to a far root: what else is read comes by pages. */
    uintptr_t page_at; /* 0: none is read yet */
    int by_pages;
    /* The innermost frames. */
    struct {
        uintptr_t address, code;
    } frame[8];
    unsigned frames;
};

struct python_frame {
    uintptr_t previous, code;
    intptr_t at; /* byte of its instruction in the code */
    int shim, entry;
};
/* frame.c: 0: it cannot be read. */
int python_read_frame(struct python_unwind *w, uintptr_t address, int plainly,
                      struct python_frame *f);

/* A bytes object's content follows its size and hash. */
static inline size_t python_bytes_content(void)
{
    return python_runtime.layout.head + 16u;
}

static inline int python_in_range(struct python_unwind *w, uintptr_t at, size_t bytes)
{
    for (unsigned n = 0, i = w->hit; n < w->ranges; n++, i = i + 1 < w->ranges ? i + 1 : 0)
        if (at >= w->range[i].low && at < w->range[i].high && bytes <= w->range[i].high - at) {
            w->hit = i;
            return 1;
        }
    return 0;
}

/* `bytes` at `at`, in their place or in `copy`; NULL: they cannot be read. */
static inline const uint8_t *python_see(struct python_unwind *w, uintptr_t at, size_t bytes,
                                        int plainly, uint8_t *copy)
{
    if (plainly || python_in_range(w, at, bytes))
        return (const uint8_t *)at;
    return safe_read(at, copy, bytes) ? copy : NULL;
}

/* deep.c: `bytes` at `at` of the page that is held, or of the one that it lies in. */
int python_page(struct python_unwind *w, uintptr_t at, void *to, size_t bytes);

static inline int python_get(struct python_unwind *w, uintptr_t at, void *to, size_t bytes)
{
    if (!python_in_range(w, at, bytes))
        return w->by_pages ? python_page(w, at, to, bytes) : safe_read(at, to, bytes);
    memcpy(to, (const void *)at, bytes);
    return 1;
}

/* deep.c: behind the *n innermost frames, from the one at `address` on: the last ones, with a gap
 * before them. 1: the root was reached. */
int python_outer_frames(struct python_unwind *w, uintptr_t address, uintptr_t through,
                        uint64_t *pair, size_t *n, uint32_t *flags);

/* code.c: a code object's id, and the line of its instruction at byte `at` (negative: before the
 * first). `alive`: a running frame of this very thread holds it, so that it may be read plainly
 * once it is known. 0: it is not a code object, or it cannot be read. *line: as the first word of a
 * pair of STACK; 0: it has none there.
 */
int python_code(struct python_unwind *w, uintptr_t code, intptr_t at, int alive, uint64_t *id,
                uint64_t *line);
/* 1: the function `name` (NULL: any), in a file whose path ends so. Not from a handler. */
int python_code_is(uintptr_t code, const char *file, const char *name);
int python_code_start(void);
void python_code_forget(void);

/* awaits.c: before the `n` frames in `pair` those of the coroutines for which an event loop waits;
 * how many there are then. For another thread than the calling one. */
size_t python_awaits(struct python_unwind *w, uint64_t *pair, size_t n);
/* Returns the place of the first local variable in a frame; 0: unknown. */
size_t python_locals(const struct python_layout *l);
/* greenlets.c: after the `n` frames in `pair`, those of an event loop of gevent, the ones of the
 * greenlet that waits for it; how many there are then. For another thread than the calling one. */
size_t python_greenlets(struct python_unwind *w, uint64_t *pair, size_t n);

/* lines.c: the line of byte `at` in the table of a code object, which is certainly there where the
 * object is `alive`; 0: it has none. */
#define PYTHON_LINE_UNREAD (-1)
struct python_table {
    uintptr_t at; /* of the object's content */
    size_t bytes;
    int first_line;
    uint64_t key; /* others have another */
};
int python_lines_start(void);
int python_line(const struct python_unwind *w, enum python_lines kind, const struct python_table *t,
                int alive, intptr_t at);

#endif
