/* Finds the place of a thread that waits for a lock or holds one: the innermost line of the
 * program's own code, and the compiled function below it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/locks/locks_state.h"

/* Functions in which programs wait for locks that they build on futexes: Rust, Abseil, parking_lot,
 * LLVM's OpenMP. */
static int is_locking(const char *function)
{
    static const char *const parts[] = {"lock_contended", "lock_slow", "LockSlow", "Mutex::lock",
                                        "RwLock",         "SpinLock",  "_raw_lock"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (function && strstr(function, parts[i]))
            return 1;
    return 0;
}

static const char *place_text(struct image *im, const char *s)
{
    return s ? run_text(im->run, s) : NULL;
}

static void place_resolve(struct image *im, uint32_t stack, struct resolved *f,
                          struct lock_place *p)
{
    int interpreter, n = frames_of(im, stack, f, RESOLVED_MAX, &interpreter), python = 0;
    const struct resolved *own = frames_line(f, n, OWNER_OWN);
    p->known = 1;
    while (python < n && !f[python].python)
        python++;
    for (int i = 0; i < python; i++) {
        p->locking |= is_locking(f[i].function);
        if (!interpreter && !p->native && f[i].owner != OWNER_RUNTIME && f[i].function)
            p->native = place_text(im, f[i].function);
    }
    if (!interpreter && !p->native && python && python < n) /* in the C library alone */
        p->native = place_text(im, f[0].function);
    p->signalling = python < n && f[python].file && text_ends(f[python].file, "/threading.py");
    if (!own) {
        for (int i = 0; i < n && !p->function; i++)
            if (f[i].owner != OWNER_RUNTIME)
                p->function = place_text(im, f[i].function);
        return;
    }
    p->file = path_shown(im->run, own->file);
    p->line = own->line;
    p->function = place_text(im, own->function);
}

enum err lock_places(struct image *im, struct locks *l)
{
    struct resolved *room = malloc(RESOLVED_MAX * sizeof *room);
    FAIL_IF(!room, ERR_MEMORY, "no memory for the stacks of locks");
    enum err e = vector_room(&l->places, im->stacks.count);
    l->places.count = e == ERR_OK ? im->stacks.count : 0;
    for (size_t i = 0; i < l->waits.count && e == ERR_OK; i++) {
        struct lock_place *p = &l->places.items[l->waits.items[i].stack];
        if (!p->known)
            place_resolve(im, l->waits.items[i].stack, room, p);
    }
    for (size_t i = 0; i < l->samples.count && e == ERR_OK; i++) {
        struct lock_place *p = &l->places.items[l->samples.items[i].stack];
        if (!p->known)
            place_resolve(im, l->samples.items[i].stack, room, p);
    }
    free(room);
    return e;
}
