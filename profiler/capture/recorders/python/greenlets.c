/* Below the event loop of gevent that waits: the frames of the thread's main greenlet, which has
 * handed over to the loop and waits for it. They are on no thread's stack. */
#include <string.h>

#include "profiler/capture/recorders/python/read.h"

/* greenlet 2 and 3: behind an object's head lie two words and the pointer to its state, a structure
 * of C++ whose words differ by version: they are told by their types. */
enum { STATE_WORDS = 40, STATE_AT = 16 };

static uintptr_t object_type(const struct python_unwind *w, uintptr_t object)
{
    uintptr_t type;
    if (object < 4096 || object % sizeof object ||
        !safe_read(object + w->l->head - sizeof type, &type, sizeof type))
        return 0;
    return type;
}

/* 1: of the very class greenlet, as a thread's main one is. Others are of classes of gevent. */
static int is_main_greenlet(const struct python_unwind *w, uintptr_t object)
{
    static const char named[] = "greenlet.greenlet";
    char name[sizeof named] = "";
    uintptr_t text, type = object_type(w, object);
    return type >= 4096 && safe_read(type + w->l->head + 8, &text, sizeof text) && text >= 4096 &&
           safe_read_some(text, name, sizeof name) && !memcmp(name, named, sizeof named);
}

/* Reads the words of a greenlet's state. */
static size_t greenlet_state(const struct python_unwind *w, uintptr_t greenlet,
                             uintptr_t word[STATE_WORDS])
{
    uintptr_t state;
    if (!safe_read(greenlet + w->l->head + STATE_AT, &state, sizeof state) || state < 4096)
        return 0;
    return safe_read_some(state, (uint8_t *)word, STATE_WORDS * sizeof *word) / sizeof *word;
}

/* The frame at which a greenlet handed over; 0: it runs. */
static uintptr_t greenlet_frame(const struct python_unwind *w, uintptr_t greenlet)
{
    uintptr_t word[STATE_WORDS], frame;
    for (size_t i = 0, n = greenlet_state(w, greenlet, word); i < n; i++) {
        if (object_type(w, word[i]) != python_runtime.frame_type)
            continue;
        if (w->l->frame_object)
            return word[i];
        /* f_back, f_frame */
        return safe_read(word[i] + w->l->head + 8, &frame, sizeof frame) ? frame : 0;
    }
    return 0;
}

/* The greenlet of the loop: `self` of Hub.run(self), which calls run() of a loop that may be Python's
 * too. Most other threads are told by the name of their first function. */
static uintptr_t hub_of(const struct python_unwind *w)
{
    const size_t locals = python_locals(w->l);
    uintptr_t self;
    for (unsigned i = 0; i < w->frames && locals; i++) {
        if (!python_code_is(w->frame[i].code, ".py", "run"))
            return 0;
        if (python_code_is(w->frame[i].code, "/gevent/hub.py", NULL))
            return safe_read(w->frame[i].address + locals, &self, sizeof self) ? self : 0;
    }
    return 0;
}

size_t python_greenlets(struct python_unwind *w, uint64_t *pair, size_t n)
{
    uintptr_t word[STATE_WORDS], hub = hub_of(w), frame = 0;
    size_t words = hub ? greenlet_state(w, hub, word) : 0;
    for (size_t i = 0; i < words && !frame; i++)
        if (word[i] != hub && is_main_greenlet(w, word[i]))
            frame = greenlet_frame(w, word[i]);
    for (int steps = 0; frame && n < FRAME_INNER && steps < 2 * FRAME_INNER; steps++) {
        struct python_frame f;
        uint64_t *to = pair + 2 * n;
        if (!python_read_frame(w, frame, 0, &f) ||
            (!f.shim && !python_code(w, f.code, f.at, 0, &to[1], &to[0])))
            break;
        n += !f.shim;
        frame = f.previous;
    }
    return n;
}
