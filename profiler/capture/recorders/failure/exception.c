/* The exception that ends a Python program: after it has printed one that nothing caught, the
 * interpreter keeps it in sys.last_type and sys.last_traceback until it clears all modules. It is
 * read before, at a call of the C library that an interpreter makes on its way to its end: of
 * sem_wait() for a lock (up to 3.12) or sigaction() for SIGINT. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "profiler/capture/recorders/failure/exception.h"
#include "profiler/capture/recorders/python/read.h"

enum {
    INTERPRETER = 16, /* of a thread's state, 3.9 to 3.14 */
    TYPE_NAME = 8,    /* behind an object's head: of a type, */
    DICT_KEYS = 16,   /* of a dict, */
    FRAME = 8,        /* of a traceback: after the next one; of a frame object, from 3.11 on: */
    INSTRUCTION = 16, /* of a traceback */
    ENTRIES_MOST = 4096,
    STEPS_MOST = 1 << 17,
    INNERMOST = 60
};

/* Only one thread ends the interpreter, once: none of it is on the program's stack. */
static struct {
    struct python_unwind w;
    struct frame_view view;
    uintptr_t ring[INNERMOST]; /* the last ones of the traceback */
    uint64_t pair[INNERMOST + 2][2];
    char name[160];
} found;

static int text_is(uintptr_t object, const char *text)
{
    const struct python_layout *l = &python_runtime.layout;
    const size_t n = strlen(text);
    uint8_t copy[96];
    uint64_t length;
    uint32_t state;
    if (l->ascii + n > sizeof copy || !safe_read(object, copy, l->ascii + n))
        return 0;
    memcpy(&length, copy + l->head, sizeof length);
    memcpy(&state, copy + l->head + 16, sizeof state);
    return length == n && (state & 0x60) == 0x60 && !memcmp(copy + l->ascii, text, n);
}

/* The value of a dict whose key is `text`; 0: none. */
static uintptr_t dict_value(uintptr_t dict, const char *text)
{
    const struct python_layout *l = &python_runtime.layout;
    uintptr_t keys;
    uint64_t head[5], entry[3]; /* of the keys: their number of bytes, then of entries */
    if (!safe_read(dict + l->head + DICT_KEYS, &keys, sizeof keys) ||
        !safe_read(keys, head, sizeof head))
        return 0;
    uint64_t slots = head[1], entries = head[4], at = keys + 40, words = 3;
    if (l->frame_object) { /* 3.9, 3.10 */
        at += slots * (slots <= 0xff ? 1 : slots <= 0xffff ? 2 : slots <= UINT32_MAX ? 4 : 8);
    } else { /* bytes: logarithms of slots and of bytes of their table, kind */
        entries = head[3];
        at = keys + 32 + (1ull << (head[1] >> 8 & 63));
        words = head[1] >> 16 & 0xff ? 2 : 3;
    }
    for (uint64_t i = 0; i < entries && i < ENTRIES_MOST; i++, at += words * 8)
        if (safe_read(at, entry, words * 8) && entry[words - 2] && text_is(entry[words - 2], text))
            return entry[words - 1];
    return 0;
}

static int traceback_pair(uintptr_t at, uint64_t pair[2])
{
    const struct python_layout *l = &python_runtime.layout;
    uintptr_t frame, code;
    uint64_t line;
    int32_t instruction;
    if (!safe_read(at + l->head + FRAME, &frame, sizeof frame) ||
        !safe_read(at + l->head + INSTRUCTION, &instruction, sizeof instruction) ||
        (!l->frame_object && !safe_read(frame + l->head + FRAME, &frame, sizeof frame)) ||
        !safe_read(frame + l->code, &code, sizeof code) ||
        !python_code(&found.w, code & ~(uintptr_t)l->tag, instruction, 0, &pair[1], &line))
        return 0;
    pair[0] = line;
    return 1;
}

/* Writes the traceback as a stack, from where the exception was raised to the outermost code. */
static uint64_t put_traceback(struct capture_thread *t, uintptr_t first)
{
    const struct python_layout *l = &python_runtime.layout;
    size_t steps = 0, n = 0;
    for (uintptr_t at = first; at && steps < STEPS_MOST; steps++) {
        found.ring[steps % INNERMOST] = at;
        if (!safe_read(at + l->head, &at, sizeof at))
            return 0;
    }
    for (size_t i = 0; i < steps && i < INNERMOST; i++)
        n += (size_t)traceback_pair(found.ring[(steps - 1 - i) % INNERMOST], found.pair[n]);
    if (steps > INNERMOST) {
        found.pair[n][0] = TRACE_LEFT_OUT | (steps - INNERMOST - 1);
        found.pair[n++][1] = 0;
        n += (size_t)traceback_pair(first, found.pair[n]);
    }
    if (!n)
        return 0;
    found.pair[n - 1][0] |= TRACE_PYTHON_ENTRY;
    struct trace_stack r = {.r.kind = TRACE_STACK,
                            .python = (uint16_t)n,
                            .flags = steps > INNERMOST ? TRACE_STACK_DEEP : 0};
    r.id = trace_hash(found.pair, n * sizeof *found.pair, r.flags);
    return trace_put(&t->stream, &r.r, sizeof r, found.pair, n * sizeof *found.pair) ? r.id : 0;
}

/* Reads the name of a type, at most 159 bytes of it. */
static int type_name(uintptr_t type, char out[160])
{
    uintptr_t name;
    memset(out, 0, 160);
    return type && safe_read(type + python_runtime.layout.head + TYPE_NAME, &name, sizeof name) &&
           safe_read_some(name, out, 159) && *out;
}

static int is_traceback(uintptr_t object)
{
    uintptr_t type;
    char name[160];
    return object && safe_read(object + python_runtime.layout.head - 8, &type, sizeof type) &&
           type_name(type, name) && !strcmp(name, "traceback");
}

static void put_failure(struct capture_thread *t, uintptr_t state)
{
    const struct python_layout *l = &python_runtime.layout;
    uintptr_t interpreter, sys;
    if (!safe_read(state + INTERPRETER, &interpreter, sizeof interpreter) ||
        !safe_read(interpreter + l->sys, &sys, sizeof sys))
        return;
    const uintptr_t type = dict_value(sys, "last_type"), back = dict_value(sys, "last_traceback");
    if (!type_name(type, found.name))
        return;
    found.view = (struct frame_view){.called = 1, .scratch = (uint8_t *)t->scratch};
    found.w = (struct python_unwind){.l = l, .thread = t, .view = &found.view};
    struct trace_failure r = {.r.kind = TRACE_FAILURE, .bytes = (uint32_t)strlen(found.name)};
    r.stack = is_traceback(back) ? put_traceback(t, back) : 0;
    trace_put(&t->stream, &r.r, sizeof r, found.name, r.bytes);
}

void exception_record(void)
{
    static atomic_int begun;
    const uintptr_t state = exception_ending();
    const int saved = errno;
    uintptr_t id;
    struct capture_thread *t = state && !atomic_load(&begun) ? capture_enter() : NULL;
    if (t) {
        if (safe_read(state + python_runtime.layout.thread_id, &id, sizeof id) &&
            id == (uintptr_t)pthread_self() && !atomic_exchange(&begun, 1)) {
            capture_meta(t, "ending", "python");
            put_failure(t, state);
        }
        capture_leave(t, TRACE_PART_WRITER, 0);
    }
    errno = saved;
}
