/* Reads perf maps and jitdump, and finds the code at an address. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "profiler/analyze/symbols/jit.h"

enum { CODES_MAX = 1 << 20, LINES_MAX = 1 << 23, NAME_MAX_BYTES = 1024 };

struct jit_code {
    uint64_t start, end, reach, from; /* reach: largest end up to here; from: its time, 0 unknown */
    uint32_t order, first, count;     /* order: in the file; its lines */
    const char *name, *file;
    int line;
};
struct jit_line {
    uint64_t at;
    const char *file;
    int line;
};
struct jit {
    struct arena *texts;
    int sorted;
    VECTOR(struct jit_code) codes;
    VECTOR(struct jit_line) lines;
};

enum err jit_create(struct arena *texts, struct jit **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for generated code");
    (*out)->texts = texts;
    return ERR_OK;
}

void jit_free(struct jit *j)
{
    if (!j)
        return;
    vector_free(&j->codes);
    vector_free(&j->lines);
    free(j);
}

/* ":12" off the end of text[0..n): the number, 0 none. */
static int number_off(const char *text, size_t *n)
{
    size_t at = *n;
    long value = 0, unit = 1;
    while (at && text[at - 1] >= '0' && text[at - 1] <= '9' && unit < 100000000) {
        value += unit * (text[--at] - '0');
        unit *= 10;
    }
    if (at == *n || !at || text[at - 1] != ':' || value > 1 << 26)
        return 0;
    *n = at - 1;
    return (int)value;
}

static enum err jit_add(struct jit *j, struct jit_code c, const char *name, size_t n)
{
    if (c.end <= c.start || j->codes.count >= CODES_MAX)
        return ERR_OK;
    n = n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES;
    const char *space = memrchr(name, ' ', n);
    size_t rest = n;
    int column = number_off(name, &rest), line = column ? number_off(name, &rest) : 0;
    line = line ? line : column;
    if (line && space && space > name && space + 1 < name + rest) {
        c.file = arena_text_n(j->texts, space + 1, (size_t)(name + rest - space - 1));
        c.line = line;
        c.count = 0; /* V8 writes other bytes where the lines' files should be */
        n = (size_t)(space - name);
    }
    c.name = arena_text_n(j->texts, name, n);
    FAIL_IF(!c.name || (line && space && c.line && !c.file), ERR_MEMORY,
            "no memory for generated code");
    c.order = (uint32_t)j->codes.count;
    j->sorted = 0;
    return vector_add(&j->codes, c);
}

static int jit_hex(const char **at, const char *end, uint64_t *value)
{
    const char *p = *at;
    p += end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x' ? 2 : 0;
    const char *first = p;
    for (*value = 0; p < end && p - first < 16; p++) {
        int digit = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10;
        if (digit < 0 || digit > 15 || (digit > 9 && (*p | 32) < 'a'))
            break;
        *value = *value << 4 | (unsigned)digit;
    }
    int some = p > first && p < end && *p == ' ';
    while (p < end && *p == ' ')
        p++;
    *at = p;
    return some;
}

enum err jit_read_map(struct jit *j, const char *text, size_t n, const struct jit_mark *marks,
                      size_t count)
{
    size_t mark = 0;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *name = at;
        uint64_t start, bytes;
        stop = stop ? stop : end;
        while (mark + 1 < count && marks[mark].bytes < (uint64_t)(stop - text))
            mark++;
        if (jit_hex(&name, stop, &start) && jit_hex(&name, stop, &bytes) && name < stop &&
            bytes <= UINT64_MAX - start)
            TRY(jit_add(j,
                        (struct jit_code){.start = start,
                                          .end = start + bytes,
                                          .from = count ? marks[mark].time_ns : 0},
                        name, (size_t)(stop - name)));
        at = stop + 1;
    }
    return ERR_OK;
}

/* jitdump: perf's tools/perf/Documentation/jitdump-specification.txt. */
enum { MAGIC = 0x4A695444, LOAD = 0, MOVE = 1, DEBUG_INFO = 2, ARCH_TIME = 1 };
struct dump_header {
    uint32_t magic, version, bytes, machine, pad, pid;
    uint64_t time, flags;
};
struct dump_record {
    uint32_t id, bytes;
    uint64_t time;
};
struct dump_load {
    uint32_t pid, tid;
    uint64_t vma, address, bytes, index;
};
struct dump_move {
    uint32_t pid, tid;
    uint64_t vma, old, address, bytes, index;
};
struct dump_debug {
    uint64_t address, count;
};
struct dump_line {
    uint64_t at;
    int32_t line;
    uint32_t discriminator;
};

/* Lines of the code that comes next; "\xff" stands for the file of the line before. */
static enum err read_lines(struct jit *j, const char *at, const char *end, uint64_t *of,
                           uint32_t *first)
{
    struct dump_debug d;
    const char *file = NULL;
    *first = (uint32_t)j->lines.count;
    *of = 0;
    if ((size_t)(end - at) < sizeof d)
        return ERR_OK;
    memcpy(&d, at, sizeof d);
    at += sizeof d;
    for (uint64_t i = 0; i < d.count && j->lines.count < LINES_MAX; i++) {
        struct dump_line line;
        if ((size_t)(end - at) < sizeof line)
            break;
        memcpy(&line, at, sizeof line);
        at += sizeof line;
        size_t n = strnlen(at, (size_t)(end - at));
        if (n == (size_t)(end - at))
            break;
        if (strcmp(at, "\xff")) {
            file = arena_text_n(j->texts, at, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
            FAIL_IF(!file, ERR_MEMORY, "no memory for generated code");
        }
        at += n + 1;
        TRY(vector_add(&j->lines, (struct jit_line){line.at, file, line.line > 0 ? line.line : 0}));
    }
    *of = d.address;
    return ERR_OK;
}

ARRAY_ORDER(by_address, struct jit_line, COMPARE(x->at, y->at));

static enum err read_move(struct jit *j, const char *at, const char *end, uint64_t time)
{
    struct dump_move m;
    if ((size_t)(end - at) < sizeof m)
        return ERR_OK;
    memcpy(&m, at, sizeof m);
    for (size_t i = j->codes.count; i-- > 0;) {
        struct jit_code c = j->codes.items[i];
        if (c.start != m.old || m.address + (c.end - c.start) < m.address ||
            j->codes.count >= CODES_MAX)
            continue;
        uint64_t by = m.address - m.old;
        uint32_t first = (uint32_t)j->lines.count;
        for (uint32_t k = 0; k < c.count && j->lines.count < LINES_MAX; k++) {
            struct jit_line line = j->lines.items[c.first + k];
            line.at += by;
            TRY(vector_add(&j->lines, line));
        }
        c.count = (uint32_t)j->lines.count - first;
        c.first = first;
        c.start += by;
        c.end += by;
        c.from = time;
        c.order = (uint32_t)j->codes.count;
        j->sorted = 0;
        return vector_add(&j->codes, c);
    }
    return ERR_OK;
}

enum err jit_read_dump(struct jit *j, const void *bytes, size_t n, uint32_t pid)
{
    struct dump_header h;
    const char *at = bytes, *end = at + n;
    uint64_t lines_of = 0;
    uint32_t first = 0;
    if (n < sizeof h)
        return ERR_OK;
    memcpy(&h, at, sizeof h);
    if (h.magic != MAGIC || h.pid != pid || h.bytes < sizeof h || h.bytes > n)
        return ERR_OK;
    for (at += h.bytes; at < end;) {
        struct dump_record r;
        if ((size_t)(end - at) < sizeof r)
            break;
        memcpy(&r, at, sizeof r);
        if (r.bytes < sizeof r || r.bytes > (size_t)(end - at))
            break;
        const char *body = at + sizeof r, *stop = at + r.bytes;
        uint64_t time = h.flags & ARCH_TIME ? 0 : r.time;
        struct dump_load load;
        at = stop;
        if (r.id == DEBUG_INFO) {
            TRY(read_lines(j, body, stop, &lines_of, &first));
        } else if (r.id == MOVE) {
            TRY(read_move(j, body, stop, time));
        } else if (r.id == LOAD && (size_t)(stop - body) > sizeof load) {
            memcpy(&load, body, sizeof load);
            body += sizeof load;
            if (load.bytes > UINT64_MAX - load.address)
                continue;
            struct jit_code c = {
                .start = load.address, .end = load.address + load.bytes, .from = time};
            if (lines_of == load.address && j->lines.count > first) {
                c.first = first;
                c.count = (uint32_t)j->lines.count - first;
                array_sort(j->lines.items + first, c.count, sizeof *j->lines.items, by_address);
            }
            lines_of = 0;
            TRY(jit_add(j, c, body, strnlen(body, (size_t)(stop - body))));
        }
    }
    return ERR_OK;
}

ARRAY_ORDER(by_start, struct jit_code, COMPARE(x->start, y->start) ?: COMPARE(x->order, y->order));

static void jit_sort(struct jit *j)
{
    uint64_t reach = 0;
    vector_sort(&j->codes, by_start);
    for (size_t i = 0; i < j->codes.count; i++) {
        struct jit_code *c = &j->codes.items[i];
        reach = c->end > reach ? c->end : reach;
        c->reach = reach;
    }
    j->sorted = 1;
}

/* The newest that was there at the time, else the oldest; of one time the last that was written. */
static const struct jit_code *code_at(struct jit *j, uint64_t time, uint64_t address)
{
    enum { LOOKED_AT = 4096 };
    const struct jit_code *best = NULL;
    size_t low = ARRAY_BOUND(0, j->codes.count, i, j->codes.items[i].start <= address);
    for (size_t n = 0; low-- > 0 && n < LOOKED_AT && j->codes.items[low].reach > address; n++) {
        const struct jit_code *c = &j->codes.items[low];
        if (address >= c->end)
            continue;
        int there = c->from <= time, best_there = best && best->from <= time;
        int after = best && c->from != best->from ? c->from > best->from : -1; /* -1: at once */
        int last = best && c->order > best->order;
        if (!best || (there != best_there ? there : after < 0 ? last : there ? after : !after))
            best = c;
    }
    return best;
}

int jit_find(struct jit *j, uint64_t time_ns, uint64_t address, struct jit_place *out)
{
    if (!j->sorted)
        jit_sort(j);
    const struct jit_code *c = code_at(j, time_ns, address);
    if (!c)
        return 0;
    *out = (struct jit_place){c->name, c->file, c->line, c->line};
    const struct jit_line *lines = j->lines.items ? j->lines.items + c->first : NULL;
    for (uint32_t i = 0; i < c->count && lines[i].at <= address; i++)
        if (lines[i].file && lines[i].line) {
            out->file = lines[i].file;
            out->line = lines[i].line;
        }
    if (c->count && !out->function_line)
        out->function_line = lines[0].line;
    return 1;
}

/* Reads descriptions of generated code, after a look at whose they are. */

#define BYTES_MAX ((off_t)256 << 20)

void jit_map_path(int pid, char path[64])
{
    snprintf(path, 64, "/tmp/perf-%d.map", pid);
}

static const char *jit_file_doubt(int fd, uint64_t since_ns, struct stat *st)
{
    if (fstat(fd, st))
        return "it cannot be read";
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    if (st->st_uid != geteuid())
        return "it belongs to another user";
    if (st->st_size > BYTES_MAX)
        return "it is larger than 256 MiB";
    uint64_t written = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    if (written < since_ns)
        return "it is older than the process";
    return NULL;
}

char *jit_file_read(const char *path, uint64_t since_ns, size_t *bytes, const char **why)
{
    struct stat st;
    char *text = NULL;
    *why = NULL;
    *bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        *why = errno == ELOOP ? "it is a symbolic link" : NULL;
        return NULL;
    }
    *why = jit_file_doubt(fd, since_ns, &st);
    if (!*why)
        text = malloc((size_t)st.st_size + 1);
    ssize_t got = 1;
    while (text && got > 0 && *bytes < (size_t)st.st_size) {
        got = pread(fd, text + *bytes, (size_t)st.st_size - *bytes, (off_t)*bytes);
        *bytes += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return text;
}

void *jit_file_part(const char *path, uint64_t offset, size_t n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int fits = fd >= 0 && !jit_file_doubt(fd, 0, &st) && n && n <= (uint64_t)st.st_size &&
               offset <= (uint64_t)st.st_size - n;
    char *bytes = fits ? malloc(n) : NULL;
    if (bytes && pread(fd, bytes, n, (off_t)offset) != (ssize_t)n) {
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}
