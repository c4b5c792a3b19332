/* Below an event loop of asyncio that waits: the frames of the coroutines for which it waits, from
 * the one that the loop was to complete to the innermost `await`. They are on no thread's stack. */
#include <string.h>

#include "profiler/capture/recorders/python/read.h"

/* Structures of the default builds, found with each version's own objects. `state`: of a frame;
 * `suspended` is the one at an `await`. `frame`: of a coroutine, a pointer up to 3.10.
 * `attributes`: of a future, its dict; from 3.13 on that lies before the object as each one's does.
 */
static const struct python_async {
    uint8_t minor, coroutine, pending, frame, state, stack, depth;
    int8_t suspended, attributes;
    uint16_t locals;
} versions[] = {
    {9, 152, 80, 16, 0, 72, 0, 0, 96, 360},    {10, 160, 88, 16, 108, 64, 80, -1, 104, 352},
    {11, 136, 88, 80, 75, 0, 64, -1, 104, 72}, {12, 136, 88, 72, 67, 0, 64, -1, 104, 72},
    {13, 120, 96, 72, 67, 0, 64, -1, -24, 72},
};

static const struct python_async *version_of(const struct python_layout *l)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].minor == l->minor && !l->free_threaded)
            return &versions[i];
    return NULL;
}

size_t python_locals(const struct python_layout *l)
{
    const struct python_async *v = version_of(l);
    return v ? v->locals : 0;
}

enum kind { OTHER, COROUTINE, WRAPPER, FUTURE, TASK, GATHERING, GROUP, SET, LIST, DUMMY };
enum { STEPS = 64, DEPTH = 4, TYPES = 24, CODES = 8, BLOCK = 192, READS = 1000, CHILDREN = 1024 };

struct step {
    uintptr_t code;
    intptr_t at;
};

/* A coroutine of asyncio waits for: its first argument, or another coroutine that releases its lock
 * or gives it an item. */
enum role { PLAIN, ARGUMENT, OTHERS };

struct awaits {
    struct python_unwind *w;
    const struct python_async *v;
    int reads; /* left: some 1 us each */
    /* Last read: the fields of one object lie close together. */
    uintptr_t block;
    size_t block_bytes;
    uint8_t bytes[BLOCK];
    unsigned types, codes;
    struct {
        uintptr_t code;
        enum role role;
    } code[CODES];
    struct {
        uintptr_t type;
        enum kind kind;
    } type[TYPES];
};

static int awaits_read(struct awaits *a, uintptr_t at, void *to, size_t bytes)
{
    if (at < 4096 || at % sizeof at)
        return 0;
    if (at < a->block || at + bytes > a->block + a->block_bytes) {
        if (a->reads-- <= 0)
            return 0;
        a->block = at;
        a->block_bytes = safe_read_some(at, a->bytes, BLOCK);
        if (a->block_bytes < bytes)
            return 0;
    }
    memcpy(to, a->bytes + (at - a->block), bytes);
    return 1;
}

static uintptr_t awaits_word(struct awaits *a, uintptr_t at)
{
    uintptr_t found;
    return awaits_read(a, at, &found, sizeof found) ? found : 0;
}

static enum kind kind_of_type(struct awaits *a, uintptr_t type)
{
    static const struct {
        const char *name;
        enum kind kind;
    } named[] = {{"coroutine", COROUTINE},
                 {"generator", COROUTINE},
                 {"async_generator", COROUTINE},
                 {"async_generator_asend", WRAPPER},
                 {"coroutine_wrapper", WRAPPER},
                 {"_asyncio.FutureIter", WRAPPER},
                 {"_asyncio.Future", FUTURE},
                 {"_asyncio.Task", TASK},
                 {"_GatheringFuture", GATHERING},
                 {"TaskGroup", GROUP},
                 {"set", SET},
                 {"list", LIST},
                 {"<dummy key> type", DUMMY}};
    char name[32] = "";
    uintptr_t text = awaits_word(a, type + a->w->l->head + 8);
    if (text < 4096 || a->reads-- <= 0 || !safe_read_some(text, name, sizeof name - 1))
        return OTHER;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (!strcmp(name, named[i].name))
            return named[i].kind;
    return OTHER;
}

static enum kind object_kind(struct awaits *a, uintptr_t object)
{
    uintptr_t type = object ? awaits_word(a, object + a->w->l->head - 8) : 0;
    if (!type)
        return OTHER;
    for (unsigned i = 0; i < a->types; i++)
        if (a->type[i].type == type)
            return a->type[i].kind;
    enum kind kind = kind_of_type(a, type);
    if (a->types < TYPES) {
        a->type[a->types].type = type;
        a->type[a->types++].kind = kind;
    }
    return kind;
}

static int is_pending(struct awaits *a, uintptr_t future)
{
    uint64_t state;
    return awaits_read(a, future + a->v->pending, &state, sizeof state) && !(uint32_t)state;
}

/* A coroutine's frame, where it stands at an `await`; *awaited: for what. 0: it does not. */
static uintptr_t coroutine_frame(struct awaits *a, uintptr_t coroutine, uintptr_t *awaited)
{
    const struct python_async *v = a->v;
    uintptr_t frame = coroutine + v->frame, top;
    if (a->w->l->frame_object) {
        frame = awaits_word(a, frame);
        if (!frame || awaits_word(a, frame + 8) != python_runtime.frame_type)
            return 0;
    }
    if (v->state) {
        uintptr_t at = (a->w->l->frame_object ? frame : coroutine) + v->state, aligned = at & ~7ul;
        uint64_t states;
        if (!awaits_read(a, aligned, &states, sizeof states) ||
            (int8_t)(states >> 8 * (at - aligned)) != v->suspended)
            return 0;
    }
    uintptr_t base = v->stack ? awaits_word(a, frame + v->stack) : frame + v->locals;
    if (v->depth) {
        uint64_t depth;
        if (!awaits_read(a, frame + v->depth, &depth, sizeof depth) || !(depth = (uint32_t)depth) ||
            depth > 1u << 16)
            return 0;
        base += depth * sizeof top;
    }
    *awaited = base ? awaits_word(a, base - sizeof top) : 0;
    return frame;
}

/* The value of a dict at place `index`, in the order in which they came. */
static uintptr_t dict_value(struct awaits *a, uintptr_t dict, size_t index)
{
    struct {
        uintptr_t keys, values;
    } d;
    uint64_t head[5];
    if (!awaits_read(a, dict + a->w->l->head + 16, &d, sizeof d))
        return 0;
    if (d.values)
        return awaits_word(a, d.values + (a->v->minor >= 13 ? 8 : 0) + index * 8);
    if (!awaits_read(a, d.keys, head, sizeof head))
        return 0;
    int old = a->v->minor < 11;
    uint64_t entries = old ? head[4] : head[3], indices = head[1] >> 8 & 0xff;
    uintptr_t at = d.keys + (old ? 40 : 32);
    if (index >= entries || (old && head[1] > 128) || (!old && indices > 12))
        return 0;
    at += old ? head[1] : 1ul << indices;
    return old || !(head[1] >> 16 & 0xff) ? awaits_word(a, at + index * 24 + 16)
                                          : awaits_word(a, at + index * 16 + 8);
}

/* Attribute `index` of an instance of a class of Python. */
static uintptr_t attribute_of(struct awaits *a, uintptr_t object, size_t index)
{
    uintptr_t dict = awaits_word(a, object - 24), values;
    switch (a->v->minor) {
    case 11:
        values = awaits_word(a, object - 32);
        return values ? awaits_word(a, values + index * 8) : dict_value(a, dict, index);
    case 12:
        return dict & 1 ? awaits_word(a, dict + 1 + index * 8) : dict_value(a, dict, index);
    case 13:
        return dict ? dict_value(a, dict, index) : awaits_word(a, object + 24 + index * 8);
    default:
        return 0;
    }
}

static size_t awaits_follow(struct awaits *a, uintptr_t at, struct step *out, int depth);

static enum role role_of(struct awaits *a, uintptr_t code)
{
    static const struct {
        const char *file, *name;
        enum role role;
    } known[] = {{"/asyncio/tasks.py", "wait_for", ARGUMENT},
                 {"/asyncio/tasks.py", "_wait", ARGUMENT},
                 {"/asyncio/taskgroups.py", "__aexit__", ARGUMENT},
                 {"/asyncio/locks.py", NULL, OTHERS},
                 {"/asyncio/queues.py", NULL, OTHERS}};
    enum role role = PLAIN;
    for (unsigned i = 0; i < a->codes; i++)
        if (a->code[i].code == code)
            return a->code[i].role;
    for (size_t i = 0; i < sizeof known / sizeof *known && role == PLAIN; i++, a->reads -= 5)
        if (python_code_is(code, known[i].file, known[i].name))
            role = known[i].role;
    if (a->codes < CODES) {
        a->code[a->codes].code = code;
        a->code[a->codes++].role = role;
    }
    return role;
}

/* Steps that several have in common. */
struct shared {
    struct step step[STEPS];
    size_t steps, of;
};

static void shared_add(struct shared *s, const struct step *step, size_t steps)
{
    size_t same = 0;
    if (!s->of++) {
        memcpy(s->step, step, steps * sizeof *step);
        s->steps = steps;
        return;
    }
    while (same < s->steps && same < steps && step[same].code == s->step[same].code &&
           step[same].at == s->step[same].at)
        same++;
    s->steps = same;
}

/* The steps that all pending ones of a list or a set have in common: where they stand at different
 * places, nobody knows by now which ends last. Those that wait for others' locks and items count
 * only where all do. */
static size_t awaits_common(struct awaits *a, uintptr_t many, int is_set, struct step *out,
                            int depth)
{
    uint64_t n[2]; /* a list: its length and items; a set: its mask and table */
    struct shared active = {.of = 0}, passive = {.of = 0};
    if (depth >= DEPTH || !awaits_read(a, many + a->w->l->head + (is_set ? 16 : 0), n, sizeof n) ||
        n[0] > CHILDREN)
        return 0;
    for (uint64_t i = 0; i < n[0] + (is_set ? 1 : 0); i++) {
        uintptr_t child = awaits_word(a, n[1] + i * (is_set ? 16 : 8));
        enum kind kind = object_kind(a, child);
        if (is_set && (!child || kind == DUMMY)) /* an empty place, or one that was taken */
            continue;
        if (kind != TASK && kind != FUTURE && kind != GATHERING)
            return 0;
        if (!is_pending(a, child))
            continue;
        size_t steps = awaits_follow(a, child, out, depth + 1);
        if (!steps)
            return 0;
        shared_add(role_of(a, out[steps - 1].code) == OTHERS ? &passive : &active, out, steps);
    }
    const struct shared *s = active.of ? &active : &passive;
    memcpy(out, s->step, s->steps * sizeof *out);
    return a->reads > 0 ? s->steps : 0;
}

/* Returns the object that a coroutine of asyncio waits for when it awaits a plain future; 0: not of
 * those. */
static uintptr_t first_argument(struct awaits *a, uintptr_t code, uintptr_t frame)
{
    if (role_of(a, code) != ARGUMENT)
        return 0;
    uintptr_t argument = awaits_word(a, frame + a->v->locals);
    enum { TASKS = 6 }; /* attributes of a TaskGroup before its set of them */
    return object_kind(a, argument) == GROUP ? attribute_of(a, argument, TASKS) : argument;
}

/* From something that is awaited to the innermost `await`; how many steps, the outermost first. */
static size_t awaits_follow(struct awaits *a, uintptr_t at, struct step *out, int depth)
{
    size_t n = 0;
    uintptr_t frame = 0;
    for (int turns = 0; turns < 4 * STEPS && n < STEPS && a->reads > 0; turns++) {
        struct python_frame f;
        uintptr_t many;
        struct step *rest = out + n;
        switch (object_kind(a, at)) {
        case COROUTINE:
            frame = coroutine_frame(a, at, &at);
            a->reads--;
            if (!frame || !python_read_frame(a->w, frame, 0, &f))
                return n;
            out[n++] = (struct step){f.code, f.at};
            break;
        case WRAPPER:
            at = awaits_word(a, at + a->w->l->head);
            break;
        case TASK:
            if (!is_pending(a, at))
                return n;
            at = awaits_word(a, at + a->v->coroutine);
            break;
        case GATHERING:
        case FUTURE: {
            struct step more[STEPS];
            if (object_kind(a, at) == FUTURE)
                many = n && is_pending(a, at) ? first_argument(a, rest[-1].code, frame) : 0;
            else
                many = dict_value(a, awaits_word(a, at + (uintptr_t)(intptr_t)a->v->attributes), 0);
            enum kind kind = object_kind(a, many);
            if (kind == TASK) {
                at = many;
                break;
            }
            size_t found =
                kind == SET || kind == LIST ? awaits_common(a, many, kind == SET, more, depth) : 0;
            found = found < STEPS - n ? found : STEPS - n;
            memcpy(rest, more, found * sizeof *more);
            return n + found;
        }
        default:
            return n;
        }
    }
    return n;
}

/* `future` of run_until_complete(self, future), where the loop looks for events. */
static uintptr_t to_complete(struct awaits *a)
{
    const struct python_unwind *w = a->w;
    const char *loop = "/asyncio/base_events.py";
    if (w->frames < 4 || !python_code_is(w->frame[0].code, "/selectors.py", "select") ||
        !python_code_is(w->frame[1].code, loop, "_run_once"))
        return 0;
    for (unsigned i = 2; i < w->frames; i++)
        if (python_code_is(w->frame[i].code, loop, "run_until_complete"))
            return awaits_word(a, w->frame[i].address + a->v->locals + 8);
    return 0;
}

size_t python_awaits(struct python_unwind *w, uint64_t *pair, size_t n)
{
    struct awaits a = {.w = w, .v = version_of(w->l), .reads = READS};
    struct step step[STEPS];
    if (!a.v)
        return n;
    size_t steps = awaits_follow(&a, to_complete(&a), step, 0), put = 0;
    if (!steps || n + steps > FRAME_INNER)
        return n;
    memmove(pair + 2 * steps, pair, n * 2 * sizeof *pair);
    for (size_t i = steps; i-- > 0; put++) {
        uint64_t line;
        if (!python_code(w, step[i].code, step[i].at, 0, &pair[2 * put + 1], &line))
            break;
        pair[2 * put] = line;
    }
    if (put == steps)
        return n + steps;
    memmove(pair, pair + 2 * steps, n * 2 * sizeof *pair);
    return n;
}
