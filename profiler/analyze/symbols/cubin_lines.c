/* Runs the line programs of .debug_line: each row is an address with its file and line. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/symbols/cubin_lines.h"

/* 250 MB of rows: not device code any more. */
enum { ROWS_MAX = 8 << 20, FILES_MAX = 1 << 20, PATH_BYTES_MAX = 64 << 20 };
enum { STANDARD_COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, CONST_ADD_PC = 8 };
enum { FIXED_ADVANCE_PC = 9, END_SEQUENCE = 1, SET_ADDRESS = 2, NVIDIA_INLINED = 0x90 };

/* Reading position; `bad` once something reached beyond the end, after which all reads give 0. */
struct byte_reader {
    const unsigned char *at, *end;
    int bad;
};

static uint64_t dwarf_fixed(struct byte_reader *r, size_t n)
{
    uint64_t v = 0;
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = 1;
        return 0;
    }
    memcpy(&v, r->at, n);
    r->at += n;
    return v;
}

static uint64_t dwarf_uleb(struct byte_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = dwarf_fixed(r, 1);
        if (shift < 64)
            v |= (byte & 127) << shift;
        if (!(byte & 128) || r->bad)
            return v;
    }
}

static int64_t dwarf_sleb(struct byte_reader *r)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;
    do {
        byte = dwarf_fixed(r, 1);
        if (shift < 64)
            v |= (byte & 127) << shift;
        shift += 7;
    } while (byte & 128 && !r->bad);
    if (byte & 64 && shift < 64)
        v |= ~0ull << shift;
    return (int64_t)v;
}

static const char *dwarf_text(struct byte_reader *r)
{
    const void *zero = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    const char *start = (const char *)r->at;
    if (!zero) {
        r->bad = 1;
        return "";
    }
    r->at = (const unsigned char *)zero + 1;
    return start;
}

static void dwarf_skip(struct byte_reader *r, uint64_t n)
{
    if (r->bad || (uint64_t)(r->end - r->at) < n)
        r->bad = 1;
    else
        r->at += n;
}

const char *bytes_text(struct bytes b, uint64_t offset)
{
    size_t n = offset < b.n ? b.n - offset : 0;
    const void *zero = n ? memchr(b.at + offset, 0, n < 65536 ? n : 65536) : NULL;
    return zero ? (const char *)b.at + offset : "";
}

/* 0: no memory, or more than the limit. */
static int lines_grow(void **list, size_t *room, size_t used, size_t element, size_t limit)
{
    if (used < *room)
        return 1;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = used < limit ? realloc(*list, wanted * element) : NULL;
    if (!grown)
        return 0;
    *list = grown;
    *room = wanted;
    return 1;
}

struct program {
    struct byte_reader r;
    struct bytes str, line_str;
    struct line_table *table;
    unsigned version, wide; /* wide: offsets of 8 bytes */
    unsigned minimum, range, base_opcode;
    int base;
    unsigned char lengths[256]; /* operands of standard opcodes */
    const char **folders;
    size_t folder_count, folder_room, first_file;
    int no_memory;
};

static void add_folder(struct program *p, const char *name)
{
    if (lines_grow((void **)&p->folders, &p->folder_room, p->folder_count, sizeof *p->folders,
                   FILES_MAX))
        p->folders[p->folder_count++] = name;
    else
        p->no_memory = 1;
}

static void lines_add_file(struct program *p, const char *name, uint64_t folder)
{
    struct line_table *t = p->table;
    const char *in = folder < p->folder_count && name[0] != '/' ? p->folders[folder] : "";
    size_t n = strlen(in), bytes = n + strlen(name) + 2;
    char *path = malloc(bytes);
    if (!path || !lines_grow((void **)&t->files, &t->file_room, t->file_count, sizeof *t->files,
                             FILES_MAX)) {
        free(path);
        p->no_memory = 1;
        return;
    }
    memcpy(path, in, n);
    if (n && in[n - 1] != '/')
        path[n++] = '/';
    strcpy(path + n, name);
    t->files[t->file_count++] = path;
    t->path_bytes += bytes;
}

/* DWARF 2 to 4: folder 0 is the one of the compilation, which is not given here. */
static void old_names(struct program *p)
{
    add_folder(p, "");
    for (const char *name; !p->no_memory && *(name = dwarf_text(&p->r));)
        add_folder(p, name);
    for (const char *name; !p->no_memory && *(name = dwarf_text(&p->r));) {
        uint64_t folder = dwarf_uleb(&p->r);
        dwarf_uleb(&p->r); /* time */
        dwarf_uleb(&p->r); /* size */
        lines_add_file(p, name, folder);
    }
}

/* Reads one value of a form of DWARF 5's tables. */
static uint64_t form_value(struct program *p, uint64_t form, const char **name)
{
    switch (form) {
    case 0x08: /* string */
        *name = dwarf_text(&p->r);
        return 0;
    case 0x0e: /* strp */
        *name = bytes_text(p->str, dwarf_fixed(&p->r, p->wide ? 8 : 4));
        return 0;
    case 0x1f: /* line_strp */
        *name = bytes_text(p->line_str, dwarf_fixed(&p->r, p->wide ? 8 : 4));
        return 0;
    case 0x0b: /* data1 */
        return dwarf_fixed(&p->r, 1);
    case 0x05: /* data2 */
        return dwarf_fixed(&p->r, 2);
    case 0x06: /* data4 */
        return dwarf_fixed(&p->r, 4);
    case 0x07: /* data8 */
        return dwarf_fixed(&p->r, 8);
    case 0x0f: /* udata */
        return dwarf_uleb(&p->r);
    case 0x1e: /* data16: a checksum */
        dwarf_skip(&p->r, 16);
        return 0;
    case 0x09: /* block */
        dwarf_skip(&p->r, dwarf_uleb(&p->r));
        return 0;
    default:
        p->r.bad = 1;
        return 0;
    }
}

static void new_names(struct program *p, int files)
{
    uint64_t format[32][2], columns = dwarf_fixed(&p->r, 1);
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t content = dwarf_uleb(&p->r), form = dwarf_uleb(&p->r);
        if (i < 32) {
            format[i][0] = content;
            format[i][1] = form;
        }
    }
    if (columns > 32)
        p->r.bad = 1;
    for (uint64_t count = dwarf_uleb(&p->r); count && !p->r.bad && !p->no_memory; count--) {
        const char *name = "", *given;
        uint64_t folder = 0;
        for (uint64_t i = 0; i < columns; i++) {
            given = NULL;
            uint64_t value = form_value(p, format[i][1], &given);
            if (format[i][0] == 1 && given) /* path */
                name = given;
            else if (format[i][0] == 2) /* directory index */
                folder = value;
        }
        if (!columns)
            p->r.bad = 1; /* any count of nothing */
        else if (files)
            lines_add_file(p, name, folder);
        else
            add_folder(p, name);
    }
}

/* Reads up to the opcodes; `end` is where the header says that they begin. */
static void lines_header(struct program *p)
{
    struct byte_reader *r = &p->r;
    p->version = (unsigned)dwarf_fixed(r, 2);
    if (p->version < 2 || p->version > 5)
        r->bad = 1;
    if (p->version == 5)
        dwarf_skip(r, 2); /* sizes of addresses and segment selectors */
    uint64_t length = dwarf_fixed(r, p->wide ? 8 : 4);
    const unsigned char *start = r->at;
    if (length > (uint64_t)(r->end - r->at))
        r->bad = 1;
    p->minimum = (unsigned)dwarf_fixed(r, 1);
    if (p->version >= 4)
        dwarf_skip(r, 1); /* operations per instruction */
    dwarf_skip(r, 1);     /* default of is_stmt */
    p->base = (int)(signed char)dwarf_fixed(r, 1);
    p->range = (unsigned)dwarf_fixed(r, 1);
    p->base_opcode = (unsigned)dwarf_fixed(r, 1);
    for (unsigned i = 1; i < p->base_opcode; i++)
        p->lengths[i] = (unsigned char)dwarf_fixed(r, 1);
    if (!p->range || !p->base_opcode)
        r->bad = 1;
    p->first_file = p->table->file_count;
    if (p->version < 5) {
        old_names(p);
    } else {
        new_names(p, 0);
        new_names(p, 1);
    }
    if (!r->bad)
        r->at = start + length;
}

struct state {
    uint64_t address, file;
    uint32_t line, call, function;
};

static void lines_add_row(struct program *p, const struct state *s)
{
    struct line_table *t = p->table;
    if (!lines_grow((void **)&t->rows, &t->row_room, t->row_count, sizeof *t->rows, ROWS_MAX)) {
        p->no_memory = 1;
        return;
    }
    /* Files count from 1 before DWARF 5. */
    uint64_t file = s->file - (p->version < 5), known = t->file_count - p->first_file;
    t->rows[t->row_count++] =
        (struct line_row){s->address, file < known ? (uint32_t)(p->first_file + file) : UINT32_MAX,
                          s->line, s->call, s->function};
}

static void end_sequence(struct program *p, const struct state *s, size_t first, uint64_t place)
{
    struct line_table *t = p->table;
    struct line_sequence q = {.high = s->address,
                              .place = place,
                              .first = first,
                              .count = t->row_count - first,
                              .sorted = 1};
    if (!q.count)
        return;
    q.low = t->rows[first].address;
    for (size_t i = first + 1; i < t->row_count; i++)
        q.sorted &= t->rows[i].address >= t->rows[i - 1].address;
    if (lines_grow((void **)&t->sequences, &t->sequence_room, t->sequence_count,
                   sizeof *t->sequences, ROWS_MAX))
        t->sequences[t->sequence_count++] = q;
    else
        p->no_memory = 1;
}

static void lines_standard(struct program *p, struct state *s, unsigned opcode)
{
    switch (opcode) {
    case STANDARD_COPY:
        lines_add_row(p, s);
        break;
    case ADVANCE_PC:
        s->address += dwarf_uleb(&p->r) * p->minimum;
        break;
    case ADVANCE_LINE:
        s->line += (uint32_t)dwarf_sleb(&p->r);
        break;
    case SET_FILE:
        s->file = dwarf_uleb(&p->r);
        break;
    case CONST_ADD_PC:
        s->address += (uint64_t)((255 - p->base_opcode) / p->range) * p->minimum;
        break;
    case FIXED_ADVANCE_PC:
        s->address += dwarf_fixed(&p->r, 2);
        break;
    default:
        for (unsigned n = p->lengths[opcode]; n; n--)
            dwarf_uleb(&p->r);
    }
}

/* 1 at the end of a sequence. */
static int lines_extended(struct program *p, struct state *s, const unsigned char *section,
                          uint64_t *place)
{
    struct byte_reader *r = &p->r;
    uint64_t length = dwarf_uleb(r);
    const unsigned char *start = r->at;
    if (r->bad || !length || length > (uint64_t)(r->end - start)) {
        r->bad = 1;
        return 0;
    }
    unsigned opcode = (unsigned)dwarf_fixed(r, 1);
    struct byte_reader operand = {r->at, start + length, 0};
    if (opcode == SET_ADDRESS && length <= 9) {
        *place = (uint64_t)(r->at - section);
        s->address = dwarf_fixed(&operand, (size_t)length - 1);
    } else if (opcode == NVIDIA_INLINED) {
        s->call = (uint32_t)dwarf_uleb(&operand);
        s->function = (uint32_t)dwarf_uleb(&operand);
    }
    r->at = start + length;
    return opcode == END_SEQUENCE;
}

static void lines_run(struct program *p, const unsigned char *section)
{
    static const struct state begin = {.file = 1, .line = 1};
    struct state s = begin;
    uint64_t place = UINT64_MAX;
    size_t first = p->table->row_count;
    while (p->r.at < p->r.end && !p->r.bad && !p->no_memory) {
        unsigned opcode = (unsigned)dwarf_fixed(&p->r, 1);
        if (opcode >= p->base_opcode) {
            unsigned by = opcode - p->base_opcode;
            s.address += (uint64_t)(by / p->range) * p->minimum;
            s.line += (uint32_t)(p->base + (int)(by % p->range));
            lines_add_row(p, &s);
        } else if (opcode) {
            lines_standard(p, &s, opcode);
        } else if (lines_extended(p, &s, section, &place)) {
            end_sequence(p, &s, first, place);
            s = begin;
            place = UINT64_MAX;
            first = p->table->row_count;
        }
    }
    p->table->row_count = first; /* of a sequence without an end */
}

enum err line_table_read(struct bytes line, struct bytes str, struct bytes line_str,
                         struct line_table *out)
{
    struct byte_reader r = {line.at, line.at + line.n, 0};
    *out = (struct line_table){0};
    while (r.at < r.end) {
        struct program p = {.str = str, .line_str = line_str, .table = out};
        uint64_t length = dwarf_fixed(&r, 4);
        if (length == 0xffffffff) {
            p.wide = 1;
            length = dwarf_fixed(&r, 8);
        }
        if (r.bad || length > (uint64_t)(r.end - r.at))
            break;
        p.r = (struct byte_reader){r.at, r.at + length, 0};
        r.at += length;
        lines_header(&p);
        if (!p.r.bad && !p.no_memory)
            lines_run(&p, line.at);
        free(p.folders);
        if (p.no_memory) {
            line_table_free(out);
            return FAIL(ERR_MEMORY, "no memory for the line table, or more than %d rows", ROWS_MAX);
        }
    }
    return ERR_OK;
}

void line_table_free(struct line_table *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        free(t->files[i]);
    free(t->files);
    free(t->rows);
    free(t->sequences);
    *t = (struct line_table){0};
}
