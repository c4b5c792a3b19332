/* The line of an instruction, from the tables of three generations of CPython. */
#include "profiler/capture/recorders/python/read.h"

/* Tables are read through a window and no further than this: 60 us of a handler's time. */
enum { TABLE_MAX = 64 * 1024, WINDOW = 2048 };

struct line_stream {
    const struct python_unwind *of;
    uintptr_t at, end;    /* not yet in the window */
    const uint8_t *p, *q; /* in the window */
    int over;
};

static int fill(struct line_stream *s)
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

static unsigned next(struct line_stream *s)
{
    if (s->p == s->q && !fill(s))
        return 0;
    return *s->p++;
}

static int at_end(struct line_stream *s)
{
    return s->over || (s->p == s->q && s->at >= s->end);
}

/* 3.9: pairs of steps, code bytes and signed lines. */
static int from_lnotab(struct line_stream *s, int line, intptr_t at)
{
    intptr_t address = 0;
    while (!at_end(s)) {
        address += next(s);
        int step = (int8_t)next(s);
        if (s->over || address > at)
            break;
        line += step;
    }
    return line;
}

/* 3.10: pairs of bytes covered and the signed step to their line; -128: they have none. */
static int from_lines(struct line_stream *s, int line, intptr_t at)
{
    intptr_t address = 0;
    while (!at_end(s)) {
        unsigned bytes = next(s);
        int step = (int8_t)next(s);
        if (s->over)
            return 0;
        address += bytes;
        if (step != -128)
            line += step;
        if (address > at)
            return step == -128 ? 0 : line;
    }
    return 0;
}

static int signed_number(struct line_stream *s)
{
    unsigned value = 0, shift = 0, byte;
    do {
        byte = next(s);
        value |= (byte & 63) << shift;
        shift += 6;
    } while (byte & 64 && shift < 30 && !s->over);
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* 3.11 on: entries begin with a byte whose top bit is set: 4 bits of form, 3 of length in code
 * units less one. Columns are skipped. */
static int from_locations(struct line_stream *s, int line, intptr_t at)
{
    enum { ONE_LINE_0 = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15, SHORT_MOST = 3 };
    intptr_t address = 0;
    while (!at_end(s)) {
        /* Nearly all entries are of two or three bytes. A module that imports has thousands. */
        while (s->q - s->p >= SHORT_MOST && s->p[0] >> 3 < (0x80 >> 3 | NO_COLUMNS)) {
            unsigned head = s->p[0], one_line = (head >> 3 & 15) >= ONE_LINE_0;
            s->p += head & 0x80 ? 2 + one_line : 1;
            if (!(head & 0x80))
                continue;
            line += one_line ? (int)(head >> 3 & 15) - ONE_LINE_0 : 0;
            address += 2 * (intptr_t)((head & 7) + 1);
            if (address > at)
                return line;
        }
        unsigned head = next(s), form = head >> 3 & 15;
        if (!(head & 0x80))
            continue;
        if (form == NO_COLUMNS || form == LONG)
            line += signed_number(s);
        else if (form >= ONE_LINE_0 && form < NO_COLUMNS)
            line += (int)form - ONE_LINE_0;
        address += 2 * (intptr_t)((head & 7) + 1);
        if (address > at)
            return s->over || form == NO_LOCATION ? 0 : line;
    }
    return 0;
}

uint32_t python_line(const struct python_unwind *w, enum python_lines kind, uintptr_t table,
                     size_t bytes, int alive, int first_line, intptr_t at)
{
    static int (*const decode[])(struct line_stream *, int, intptr_t) = {
        [PYTHON_LNOTAB] = from_lnotab,
        [PYTHON_LINES] = from_lines,
        [PYTHON_LOCATIONS] = from_locations,
    };
    struct line_stream s = {.of = w, .at = table, .end = table + bytes};
    if (bytes > TABLE_MAX)
        s.end = table + TABLE_MAX;
    if (alive) { /* one window on the table itself */
        s.p = (const uint8_t *)table;
        s.q = (const uint8_t *)s.end;
        s.at = s.end;
    }
    int line = at < 0 ? first_line : decode[kind](&s, first_line, at);
    return line > 0 ? (uint32_t)line : 0;
}
