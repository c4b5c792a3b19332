/* The line of an instruction, from the tables of three generations of CPython. */
#include <errno.h>
#include <stdatomic.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/python/read.h"

/* Tables are read through a window, and of a long one so much at a time: some ms. What comes behind
 * it waits for the next sample, which goes on from the last mark. */
enum { AT_ONCE = 4 << 20, WINDOW = 2048 };

/* How far a long table was read: one mark for so many bytes of code. Ways that are longer than this
 * are gone through in such steps. */
enum { MARKS = 4096, STEP_BITS = 14, SHORT_CODE = 1 << STEP_BITS };
struct line_mark {
    atomic_uint sequence; /* odd: it is being written */
    int32_t line;
    uint64_t key;
    intptr_t address;
    uint64_t offset; /* in the table */
};
static struct line_mark *marks;

struct line_stream {
    const struct python_unwind *of;
    uintptr_t table, at, end; /* at..end: not yet in the window */
    const uint8_t *p, *q;     /* in the window */
    int plainly, cut, over;   /* cut: `end` is not the table's; over: it cannot be read */
    uint64_t key;             /* of the table; 0: without marks */
    intptr_t after;           /* the address from which on the next mark is made */
};

/* The state before an entry, from which the rest can be read. */
struct line_state {
    intptr_t address;
    int line;
};

static int line_stream_fill(struct line_stream *s)
{
    size_t want = s->end - s->at < WINDOW ? s->end - s->at : WINDOW;
    if (!want || !safe_read(s->at, s->of->view->scratch, want)) {
        s->over = 1;
        return 0;
    }
    s->at += want;
    s->p = s->of->view->scratch;
    s->q = s->p + want;
    return 1;
}

static unsigned line_stream_next(struct line_stream *s)
{
    if (s->p == s->q && !line_stream_fill(s))
        return 0;
    return *s->p++;
}

static int at_end(struct line_stream *s)
{
    return s->over || (s->p == s->q && s->at >= s->end);
}

static struct line_mark *mark_of(uint64_t key, intptr_t address)
{
    const uint64_t step[] = {key, (uint64_t)address >> STEP_BITS};
    return &marks[trace_hash(step, sizeof step, 0) % MARKS];
}

/* Makes a mark before the next entry. */
static void marks_add(struct line_stream *s, struct line_state now)
{
    struct line_mark *m = mark_of(s->key, now.address);
    unsigned before = atomic_load(&m->sequence);
    s->after = (now.address | (SHORT_CODE - 1)) + 1;
    if (before & 1 || !atomic_compare_exchange_strong(&m->sequence, &before, before + 1))
        return;
    m->key = s->key;
    m->line = now.line;
    m->address = now.address;
    m->offset = (s->plainly ? (uintptr_t)s->p : s->at - (uintptr_t)(s->q - s->p)) - s->table;
    atomic_store_explicit(&m->sequence, before + 2, memory_order_release);
}

/* Goes to the last mark before `at`. */
static void line_resume(struct line_stream *s, struct line_state *now, intptr_t at)
{
    for (intptr_t step = at >> STEP_BITS; step > 0; step--) {
        const struct line_mark *m = mark_of(s->key, step << STEP_BITS);
        unsigned before = atomic_load_explicit(&m->sequence, memory_order_acquire);
        struct line_state then = {m->address, m->line};
        uint64_t key = m->key, offset = m->offset;
        atomic_thread_fence(memory_order_acquire);
        if (before & 1 || atomic_load_explicit(&m->sequence, memory_order_relaxed) != before ||
            key != s->key || then.address > at || then.address >> STEP_BITS != step)
            continue;
        *now = then;
        s->at = s->table + offset;
        s->after = (then.address | (SHORT_CODE - 1)) + 1;
        return;
    }
}

/* 3.9: pairs of steps, code bytes and signed lines. */
static int from_lnotab(struct line_stream *s, struct line_state now, intptr_t at)
{
    while (!at_end(s)) {
        if (now.address >= s->after)
            marks_add(s, now);
        now.address += line_stream_next(s);
        int step = (int8_t)line_stream_next(s);
        if (s->over || now.address > at)
            break;
        now.line += step;
    }
    return s->over || (s->cut && now.address <= at) ? PYTHON_LINE_UNREAD : now.line;
}

/* 3.10: pairs of bytes covered and the signed step to their line; -128: they have none. */
static int from_lines(struct line_stream *s, struct line_state now, intptr_t at)
{
    while (!at_end(s)) {
        if (now.address >= s->after)
            marks_add(s, now);
        unsigned bytes = line_stream_next(s);
        int step = (int8_t)line_stream_next(s);
        if (s->over)
            break;
        now.address += bytes;
        if (step != -128)
            now.line += step;
        if (now.address > at)
            return step == -128 ? 0 : now.line;
    }
    return PYTHON_LINE_UNREAD;
}

static int signed_number(struct line_stream *s)
{
    unsigned value = 0, shift = 0, byte;
    do {
        byte = line_stream_next(s);
        value |= (byte & 63) << shift;
        shift += 6;
    } while (byte & 64 && shift < 30 && !s->over);
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* 3.11 on: entries begin with a byte whose top bit is set: 4 bits of form, 3 of length in code
 * units less one. Columns are skipped. */
static int from_locations(struct line_stream *s, struct line_state now, intptr_t at)
{
    enum { ONE_LINE_0 = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15, SHORT_MOST = 3 };
    while (!at_end(s)) {
        if (now.address >= s->after)
            marks_add(s, now);
        /* Nearly all entries are of two or three bytes. A module that imports has thousands. */
        while (s->q - s->p >= SHORT_MOST && s->p[0] >> 3 < (0x80 >> 3 | NO_COLUMNS) &&
               now.address < s->after) {
            unsigned head = s->p[0], one_line = (head >> 3 & 15) >= ONE_LINE_0;
            s->p += head & 0x80 ? 2 + one_line : 1;
            if (!(head & 0x80))
                continue;
            now.line += one_line ? (int)(head >> 3 & 15) - ONE_LINE_0 : 0;
            now.address += 2 * (intptr_t)((head & 7) + 1);
            if (now.address > at)
                return now.line;
        }
        if (now.address >= s->after)
            continue;
        unsigned head = line_stream_next(s), form = head >> 3 & 15;
        if (!(head & 0x80))
            continue;
        if (form == NO_COLUMNS || form == LONG)
            now.line += signed_number(s);
        else if (form >= ONE_LINE_0 && form < NO_COLUMNS)
            now.line += (int)form - ONE_LINE_0;
        now.address += 2 * (intptr_t)((head & 7) + 1);
        if (s->over)
            break;
        if (now.address > at)
            return form == NO_LOCATION ? 0 : now.line;
    }
    return PYTHON_LINE_UNREAD;
}

int python_lines_start(void)
{
    if (!marks)
        marks = stack_map(MARKS * sizeof *marks);
    return marks ? 0 : ENOMEM;
}

int python_line(const struct python_unwind *w, enum python_lines kind, const struct python_table *t,
                int alive, intptr_t at)
{
    static int (*const decode[])(struct line_stream *, struct line_state, intptr_t) = {
        [PYTHON_LNOTAB] = from_lnotab,
        [PYTHON_LINES] = from_lines,
        [PYTHON_LOCATIONS] = from_locations,
    };
    struct line_stream s = {.of = w, .table = t->at, .at = t->at, .after = INTPTR_MAX};
    struct line_state now = {0, t->first_line};
    if (at < 0)
        return t->first_line;
    if (t->bytes > SHORT_CODE) {
        s.key = t->key;
        s.after = SHORT_CODE;
        line_resume(&s, &now, at);
    }
    s.end = t->at + t->bytes;
    s.cut = s.end - s.at > AT_ONCE;
    if (s.cut)
        s.end = s.at + AT_ONCE;
    if (alive) { /* one window on the table itself */
        s.plainly = 1;
        s.p = (const uint8_t *)s.at;
        s.q = (const uint8_t *)s.end;
        s.at = s.end;
    }
    int line = decode[kind](&s, now, at);
    return line == PYTHON_LINE_UNREAD || line > 0 ? line : 0;
}
