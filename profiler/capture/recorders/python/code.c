/* Code objects: their names and first lines as CODE records, each once, and the lines in them. */
#include <errno.h>
#include <stdatomic.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/python/read.h"

/* A code object's fields as they are now. What was found out about it holds as long as they are the
 * same: an object that was freed and whose place was taken by another differs in one of them. */
struct python_code_object {
    uintptr_t type, file, name, table;
    int32_t first_line;
    uint32_t table_bytes;
    uint64_t table_hash;
};
enum { HEADER_BYTES = 176, BYTES_CONTENT_MOST = 48, HASHED = 64 };
#define TYPE          (python_runtime.layout.head - 8)
#define BYTES_SIZE    (python_runtime.layout.head)
#define BYTES_CONTENT (python_bytes_content())

/* Known code objects. Written under an odd `sequence`, so that a reader sees a whole one or none.
 */
enum {
    SLOTS = 8192,
    SLOTS_FEW = 1024, /* tried next */
    SLOTS_FIRST = 256,
    PROBES_FIRST = 2,
    PROBES_FEW = PROBES_FIRST + 2,
    PROBES = PROBES_FEW + 4,
    LINES = 32768,
    LINES_FIRST = 2048,
    LINE_PROBES = 4, /* the last among all: the others give way to none */
};
struct python_known_code {
    atomic_uint sequence;
    uint32_t spare;
    uintptr_t address;
    struct python_code_object code;
    uint64_t id;
};
static struct python_known_code *known;
/* Lines by (code, place), one word each: 40 bits of check, 24 of line. */
static _Atomic(uint64_t) *lines;

/* A thread's finds of its last looks, by (code, place): a stack is mostly the one before but for
 * its innermost frames. Held against the object as it is, in place. */
enum { RECENT = FRAME_RECENT / 192 };
struct python_recent {
    uintptr_t address;
    intptr_t at;
    struct python_code_object code; /* without its hash: */
    uint8_t table[HASHED];
    uint64_t id;
    uint32_t line, generation; /* of the trace that has the id */
};
static atomic_uint generation = 1; /* grows with every new trace */

static struct python_recent *recent_of(const struct python_unwind *w, uintptr_t address,
                                       intptr_t at)
{
    struct python_recent *all = w->view->recent;
    uint64_t key = (address >> 4 ^ (uint64_t)at << 20) * 0x9e3779b97f4a7c15ull;
    return all ? &all[(key >> 32) * RECENT >> 32] : NULL;
}

static size_t table_hash_bytes(size_t bytes)
{
    return bytes < HASHED ? bytes : HASHED;
}

static int recent_matches(const struct python_recent *r, uintptr_t address, intptr_t at)
{
    const struct python_layout *l = &python_runtime.layout;
    const uint8_t *h = (const uint8_t *)address, *table = (const uint8_t *)r->code.table;
    if (r->address != address || r->at != at ||
        r->generation != atomic_load_explicit(&generation, memory_order_relaxed))
        return 0;
    if (memcmp(h + TYPE, &r->code.type, 8) || memcmp(h + l->file, &r->code.file, 8) ||
        memcmp(h + l->name, &r->code.name, 8) || memcmp(h + l->table, &r->code.table, 8) ||
        memcmp(h + l->line, &r->code.first_line, 4))
        return 0;
    uint64_t bytes; /* the table is this object's own, so it is there */
    memcpy(&bytes, table + BYTES_SIZE, sizeof bytes);
    return bytes == r->code.table_bytes &&
           memcmp(table + BYTES_CONTENT, r->table, table_hash_bytes(bytes)) == 0;
}

static void make_recent(struct python_recent *r, uintptr_t address, intptr_t at,
                        const struct python_code_object *c, uint64_t id, uint32_t line)
{
    r->address = 0; /* a signal may come */
    atomic_signal_fence(memory_order_seq_cst);
    r->at = at;
    r->code = *c;
    memcpy(r->table, (const uint8_t *)c->table + BYTES_CONTENT, table_hash_bytes(c->table_bytes));
    r->id = id;
    r->line = line;
    r->generation = atomic_load_explicit(&generation, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    r->address = address;
}

int python_code_start(void)
{
    size_t bytes = SLOTS * sizeof *known + LINES * sizeof *lines;
    if (python_lines_start())
        return ENOMEM;
    if (known)
        return 0;
    void *p = stack_map(bytes);
    if (!p)
        return ENOMEM;
    lines = (void *)((struct python_known_code *)p + SLOTS);
    known = p;
    return 0;
}

void python_code_forget(void)
{
    atomic_fetch_add(&generation, 1);
    if (known)
        raw_clear(known, SLOTS * sizeof *known);
}

static size_t code_first_slot(uintptr_t address)
{
    return (address >> 4) * 0x9e3779b97f4a7c15ull >> 51;
}

/* The first few share pages, so that a short program has few page faults by them: an import of Python
 * that takes 50 ms had 233, for a page that is read first and then written has two. */
static size_t code_probe(uintptr_t address, size_t probe)
{
    return (code_first_slot(address) + probe) % (probe < PROBES_FIRST ? SLOTS_FIRST
                                                 : probe < PROBES_FEW ? SLOTS_FEW
                                                                      : SLOTS);
}

/* Returns the slot that has or gets the line of `check`. */
static _Atomic(uint64_t) *line_slot(uint64_t check, unsigned bits, uint64_t *word)
{
    for (uint64_t i = 0; i < LINE_PROBES; i++) {
        _Atomic(uint64_t) *slot = &lines[(check + i) % (i < LINE_PROBES - 1 ? LINES_FIRST : LINES)];
        *word = atomic_load_explicit(slot, memory_order_relaxed);
        if (!*word || *word >> bits == check >> bits || i == LINE_PROBES - 1)
            return slot;
    }
    return NULL;
}

static int code_recall(uintptr_t address, struct python_code_object *code, uint64_t *id)
{
    for (size_t i = 0; i < PROBES; i++) {
        struct python_known_code *k = &known[code_probe(address, i)];
        unsigned before = atomic_load_explicit(&k->sequence, memory_order_acquire);
        if (!before) /* never taken, so none behind it was for this address */
            return 0;
        if (before & 1 || k->address != address)
            continue;
        *code = k->code;
        *id = k->id;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&k->sequence, memory_order_relaxed) == before)
            return 1;
    }
    return 0;
}

static void code_memorise(uintptr_t address, const struct python_code_object *code, uint64_t id)
{
    size_t first = code_first_slot(address), at = first;
    for (size_t i = 0; i < PROBES; i++) {
        at = code_probe(address, i);
        if (!known[at].address || known[at].address == address)
            break;
        at = first; /* all taken: the first gives way */
    }
    struct python_known_code *k = &known[at];
    unsigned before = atomic_load(&k->sequence);
    if (before & 1 || !atomic_compare_exchange_strong(&k->sequence, &before, before + 1))
        return;
    k->address = address;
    k->code = *code;
    k->id = id;
    atomic_store_explicit(&k->sequence, before + 2, memory_order_release);
}

static int code_equal(const struct python_code_object *a, const struct python_code_object *b)
{
    return a->file == b->file && a->name == b->name && a->table == b->table &&
           a->first_line == b->first_line && a->table_bytes == b->table_bytes &&
           a->table_hash == b->table_hash;
}

/* As it is now. `expected`, when not 0, is where its line table was last time, which saves a system
 * call. What a code object leads to is there as long as the object (`alive`), which its type tells:
 * 3,400 of the 17,800 system calls of a recorded import of pandas read nothing else. */
static int read_code(uintptr_t address, int plainly, int alive, uintptr_t expected,
                     struct python_code_object *c)
{
    const struct python_layout *l = &python_runtime.layout;
    uint8_t copy[HEADER_BYTES], head[BYTES_CONTENT_MOST + HASHED];
    const uint8_t *h = (const uint8_t *)address;
    size_t there_are = l->table + 8u; /* the last of the fields */
    int got = 0;
    if (there_are > sizeof copy)
        return 0;
    if (!plainly) {
        got = expected && !alive ? safe_read2(address, copy, there_are, expected, head, sizeof head)
                                 : safe_read(address, copy, there_are);
        if (!got)
            return 0;
        h = copy;
    }
    memcpy(&c->type, h + TYPE, sizeof c->type);
    if (c->type != python_runtime.code_type)
        return 0;
    memcpy(&c->file, h + l->file, sizeof c->file);
    memcpy(&c->name, h + l->name, sizeof c->name);
    memcpy(&c->table, h + l->table, sizeof c->table);
    memcpy(&c->first_line, h + l->line, sizeof c->first_line);
    const uint8_t *table = (const uint8_t *)c->table;
    size_t bytes, there = HASHED;
    if (!alive) {
        table = head;
        if (got < 2 || c->table != expected) {
            there = safe_read_some(c->table, head, sizeof head);
            if (there < BYTES_CONTENT)
                return 0;
            there -= BYTES_CONTENT;
        }
    }
    memcpy(&bytes, table + BYTES_SIZE, sizeof bytes);
    if (bytes > UINT32_MAX)
        return 0;
    c->table_bytes = (uint32_t)bytes;
    c->table_hash = trace_hash(table + BYTES_CONTENT, bytes < there ? bytes : there, 0);
    return 1;
}

static size_t put_utf8(uint8_t *out, size_t n, size_t room, uint32_t c)
{
    if (c >= 0xd800 && c < 0xe000) /* half of a pair, from a file name that is not UTF-8 */
        c = 0xfffd;
    size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (n + bytes > room)
        return n;
    if (bytes == 1) {
        out[n] = (uint8_t)c;
        return n + 1;
    }
    for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
        out[n + i] = (uint8_t)(0x80 | (c & 0x3f));
    out[n] = (uint8_t)(0xf00 >> bytes | c);
    return n + bytes;
}

/* A str object as UTF-8; its length, 0 when it cannot be read. `work` holds the characters of one
 * that may not be there. */
static size_t read_text(uintptr_t address, int alive, uint8_t *out, size_t room, uint8_t *work,
                        size_t most)
{
    const struct python_layout *l = &python_runtime.layout;
    uint8_t copy[56];
    const uint8_t *head = alive ? (const uint8_t *)address : copy;
    uint64_t length;
    uint32_t state;
    if (!alive && !safe_read(address, copy, l->head + 24u))
        return 0;
    memcpy(&length, head + l->head, sizeof length);
    memcpy(&state, head + l->head + 16, sizeof state);
    unsigned kind = state >> 2 & 7;
    if (!(state & 0x20) || (kind != 1 && kind != 2 && kind != 4))
        return 0; /* not in one piece, which texts of code objects are */
    if (length > most / kind)
        length = most / kind;
    address += state & 0x40 ? l->ascii : l->compact;
    const uint8_t *text = alive ? (const uint8_t *)address : work;
    if (!alive && !safe_read(address, work, length * kind))
        return 0;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        uint32_t c = 0;
        memcpy(&c, text + i * kind, kind); /* little-endian, as both processors are */
        n = put_utf8(out, n, room, c);
    }
    return n;
}

static int text_ends_with(const uint8_t *text, size_t bytes, const char *end)
{
    size_t n = strlen(end);
    return bytes >= n && !memcmp(text + bytes - n, end, n);
}

int python_code_is(uintptr_t code, const char *file, const char *name)
{
    const struct python_layout *l = &python_runtime.layout;
    uint8_t text[1024], work[1024];
    uintptr_t type, at[2];
    if (!safe_read(code + TYPE, &type, sizeof type) || type != python_runtime.code_type ||
        !safe_read(code + l->name, &at[0], sizeof at[0]) ||
        !safe_read(code + l->file, &at[1], sizeof at[1]))
        return 0;
    if (name) {
        size_t n = read_text(at[0], 0, text, sizeof text, work, sizeof work), k = strlen(name);
        if (!text_ends_with(text, n, name) || (n > k && text[n - k - 1] != '.'))
            return 0;
    }
    return text_ends_with(text, read_text(at[1], 0, text, sizeof text, work, sizeof work), file);
}

/* The id of a code object that is not known yet; 0: it cannot be read. */
static uint64_t code_describe(struct python_unwind *w, const struct python_code_object *c,
                              int alive)
{
    enum { FILE_ROOM = 2048, NAME_ROOM = 1024, WORK = 4096 };
    uint8_t *file = w->view->scratch, *name = file + FILE_ROOM, *work = name + NAME_ROOM;
    struct trace_code r = {.r.kind = TRACE_CODE, .first_line = c->first_line};
    r.file_bytes = (uint16_t)read_text(c->file, alive, file, FILE_ROOM, work, WORK);
    r.name_bytes = (uint16_t)read_text(c->name, alive, name, NAME_ROOM, work, WORK);
    if (!r.name_bytes)
        return 0;
    r.id = trace_hash(file, r.file_bytes, (uint64_t)(uint32_t)c->first_line);
    r.id = trace_hash(name, r.name_bytes, r.id);
    if (stack_was_written(r.id))
        return r.id;
    if (trace_put2(&w->thread->stream, &r.r, sizeof r, file, r.file_bytes, name, r.name_bytes))
        stack_remember(r.id);
    return r.id;
}

static uint64_t code_line(struct python_unwind *w, const struct python_code_object *c,
                          uintptr_t address, intptr_t at, int alive)
{
    enum { BITS = 24 };
    const uint64_t key[4] = {address, (uint64_t)at, c->table ^ c->table_hash,
                             (uint64_t)c->first_line << 32 | c->table_bytes};
    uint64_t check = trace_hash(key, sizeof key, 0);
    uint64_t word;
    _Atomic(uint64_t) *slot = line_slot(check, BITS, &word);
    if (word >> BITS == check >> BITS)
        return word & ((1u << BITS) - 1);
    const struct python_table table = {c->table + BYTES_CONTENT, c->table_bytes, c->first_line,
                                       key[2] ^ key[3] * 0x9e3779b97f4a7c15ull};
    int line = python_line(w, w->l->lines, &table, alive, at);
    if (line == PYTHON_LINE_UNREAD)
        return TRACE_PYTHON_NO_LINE;
    if (line >> BITS == 0)
        atomic_store_explicit(slot, check >> BITS << BITS | (uint64_t)line, memory_order_relaxed);
    return (uint64_t)line;
}

int python_code(struct python_unwind *w, uintptr_t address, intptr_t at, int alive, uint64_t *id,
                uint64_t *line)
{
    struct python_code_object now, before = {0};
    if (address % sizeof address || address < 4096)
        return 0;
    struct python_recent *recent = alive ? recent_of(w, address, at) : NULL;
    if (recent && recent_matches(recent, address, at)) {
        *id = recent->id;
        *line = recent->line;
        return 1;
    }
    int recalled = code_recall(address, &before, id), plainly = alive && recalled;
    if (!read_code(address, plainly, alive, before.table, &now))
        return 0;
    if (!recalled || !code_equal(&now, &before)) {
        *id = code_describe(w, &now, alive);
        if (!*id)
            return 0;
        if (stack_was_written(*id)) /* else the next sample tries again */
            code_memorise(address, &now, *id);
    }
    *line = code_line(w, &now, address, at, alive);
    if (recent && stack_was_written(*id) && !(*line & TRACE_PYTHON_NO_LINE))
        make_recent(recent, address, at, &now, *id, (uint32_t)*line);
    return 1;
}
