/* Opens a saved cubin: its sections, its kernels, and the source line of an address of device
 * code. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/symbols/cubin.h"
#include "profiler/analyze/symbols/cubin_lines.h"

enum { MACHINE_CUDA = 190, INFO_REGISTERS = 0x2f, INFO_STACK = 0x12, FORMAT_SIZED = 4 };

struct cubin {
    unsigned char *data;
    size_t n;
    const char *name;
    Elf64_Ehdr header;
    struct bytes section_names, symbols, names, inlined_names, info;
    struct cubin_code { /* a function's stretch of a section */
        const char *name;
        uint64_t low, bytes;
        uint32_t section;
    } * codes; /* by name */
    size_t code_count;
    struct line_table lines; /* sequences by place */
};

static Elf64_Shdr cubin_section(const struct cubin *c, size_t i)
{
    Elf64_Shdr s = {0};
    if (i < c->header.e_shnum)
        memcpy(&s, c->data + c->header.e_shoff + i * sizeof s, sizeof s);
    return s;
}

/* Empty when it does not lie in the file. */
static struct bytes cubin_content(const struct cubin *c, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOBITS || s->sh_offset > c->n || s->sh_size > c->n - s->sh_offset)
        return (struct bytes){c->data, 0};
    return (struct bytes){c->data + s->sh_offset, s->sh_size};
}

/* By its name, or, for .nv.info and .nv.shared, prefix and kernel. 0 when there is none. */
static size_t find_section(const struct cubin *c, const char *prefix, const char *kernel)
{
    size_t n = strlen(prefix);
    for (size_t i = 1; i < c->header.e_shnum; i++) {
        Elf64_Shdr s = cubin_section(c, i);
        const char *name = bytes_text(c->section_names, s.sh_name);
        if (!strncmp(name, prefix, n) && !strcmp(name + n, kernel))
            return i;
    }
    return 0;
}

static struct bytes cubin_section_named(const struct cubin *c, const char *name)
{
    Elf64_Shdr s = cubin_section(c, find_section(c, name, ""));
    return cubin_content(c, &s);
}

static int read_symbol(const struct cubin *c, uint64_t i, Elf64_Sym *out)
{
    if (i >= c->symbols.n / sizeof *out)
        return 0;
    memcpy(out, c->symbols.at + i * sizeof *out, sizeof *out);
    return 1;
}

ARRAY_ORDER(by_place, struct line_sequence, COMPARE(x->place, y->place));

static void place_sequence(struct line_table *t, uint64_t place, const Elf64_Sym *symbol,
                           uint64_t by)
{
    struct line_sequence key = {.place = place}, *q = NULL;
    if (t->sequence_count)
        q = bsearch(&key, t->sequences, t->sequence_count, sizeof key, by_place);
    if (!q || q->section)
        return;
    q->section = symbol->st_shndx;
    q->low += by;
    q->high += by;
    for (size_t row = q->first; row < q->first + q->count; row++)
        t->rows[row].address += by;
}

/* Finds the code that a sequence describes: its address operand is relocated by a symbol. */
static void place_sequences(struct cubin *c)
{
    struct line_table *t = &c->lines;
    if (t->sequence_count)
        qsort(t->sequences, t->sequence_count, sizeof *t->sequences, by_place);
    for (int with_addend = 0; with_addend < 2; with_addend++) {
        size_t entry = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        struct bytes b =
            cubin_section_named(c, with_addend ? ".rela.debug_line" : ".rel.debug_line");
        for (size_t i = 0; i < b.n / entry; i++) {
            Elf64_Rela r = {0};
            Elf64_Sym symbol;
            memcpy(&r, b.at + i * entry, entry);
            if (read_symbol(c, ELF64_R_SYM(r.r_info), &symbol))
                place_sequence(t, r.r_offset, &symbol, symbol.st_value + (uint64_t)r.r_addend);
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cubin_code *)a)->name, ((const struct cubin_code *)b)->name);
}

static enum err list_codes(struct cubin *c)
{
    Elf64_Sym s;
    size_t room = 0;
    for (uint64_t i = 1; read_symbol(c, i, &s); i++)
        room += ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx;
    c->codes = room ? malloc(room * sizeof *c->codes) : NULL;
    if (room && !c->codes)
        return FAIL(ERR_MEMORY, "no memory for %zu functions", room);
    for (uint64_t i = 1; read_symbol(c, i, &s); i++)
        if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx)
            c->codes[c->code_count++] = (struct cubin_code){bytes_text(c->names, s.st_name),
                                                            s.st_value, s.st_size, s.st_shndx};
    if (room)
        qsort(c->codes, room, sizeof *c->codes, by_name);
    return ERR_OK;
}

enum err cubin_open(const void *bytes, size_t n, const char *name, struct cubin **out)
{
    Elf64_Ehdr h;
    *out = NULL;
    if (n < sizeof h || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return FAIL(ERR_INPUT, "%s: no ELF file", name);
    memcpy(&h, bytes, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != MACHINE_CUDA)
        return FAIL(ERR_INPUT, "%s: no 64-bit device code (machine %d)", name, h.e_machine);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > n ||
        h.e_shnum > (n - h.e_shoff) / sizeof(Elf64_Shdr))
        return FAIL(ERR_INPUT, "%s: its section table reaches beyond the file", name);
    struct cubin *c = calloc(1, sizeof *c);
    unsigned char *copy = malloc(n);
    if (!c || !copy) {
        free(c);
        free(copy);
        return FAIL(ERR_MEMORY, "%s: no memory for %zu bytes", name, n);
    }
    memcpy(copy, bytes, n);
    *c = (struct cubin){.data = copy, .n = n, .header = h};
    Elf64_Shdr names = cubin_section(c, h.e_shstrndx);
    c->section_names = cubin_content(c, &names);
    c->symbols = cubin_section_named(c, ".symtab");
    c->names = cubin_section_named(c, ".strtab");
    c->inlined_names = cubin_section_named(c, ".debug_str");
    c->info = cubin_section_named(c, ".nv.info");
    enum err e = line_table_read(cubin_section_named(c, ".debug_line"), c->inlined_names,
                                 cubin_section_named(c, ".debug_line_str"), &c->lines);
    if (!e)
        e = list_codes(c);
    if (e) {
        cubin_free(c);
        return err_prefix(e, "%s", name);
    }
    place_sequences(c);
    *out = c;
    return ERR_OK;
}

void cubin_free(struct cubin *c)
{
    if (!c)
        return;
    line_table_free(&c->lines);
    free(c->codes);
    free(c->data);
    free(c);
}

/* section 0: the kernel is not in the file. */
static struct cubin_code find_kernel(const struct cubin *c, const char *kernel)
{
    struct cubin_code key = {.name = kernel}, *found = NULL;
    if (c->code_count)
        found = bsearch(&key, c->codes, c->code_count, sizeof key, by_name);
    if (found)
        return *found;
    size_t i = find_section(c, ".text.", kernel);
    Elf64_Shdr whole = cubin_section(c, i);
    return (struct cubin_code){kernel, 0, whole.sh_size, (uint32_t)i};
}

/* The last row at or before `address`, if its sequence covers it; SIZE_MAX none. */
static size_t find_row(const struct cubin *c, uint32_t code, uint64_t address,
                       const struct line_sequence **in)
{
    const struct line_table *t = &c->lines;
    for (size_t k = 0; k < t->sequence_count; k++) {
        const struct line_sequence *q = &t->sequences[k];
        if (q->section != code || address >= q->high)
            continue;
        size_t found = SIZE_MAX;
        if (q->sorted) {
            const size_t next =
                ARRAY_BOUND(q->first, q->first + q->count, i, t->rows[i].address <= address);
            found = next > q->first ? next - 1 : SIZE_MAX;
        }
        for (size_t i = q->first; !q->sorted && i < q->first + q->count; i++)
            if (t->rows[i].address <= address &&
                (found == SIZE_MAX || t->rows[i].address >= t->rows[found].address))
                found = i;
        if (found != SIZE_MAX) {
            *in = q;
            return found;
        }
    }
    return SIZE_MAX;
}

static int cubin_chain(const struct cubin *c, const struct line_sequence *q, size_t row,
                       struct cubin_frame *out, int max)
{
    int n = 0;
    for (; n < max; n++) {
        const struct line_row *r = &c->lines.rows[row];
        const char *function = r->call ? bytes_text(c->inlined_names, r->function) : NULL;
        out[n] = (struct cubin_frame){
            .file = r->file < c->lines.file_count ? c->lines.files[r->file] : NULL,
            .function = function && *function ? function : NULL,
            .line = r->line <= INT32_MAX ? (int)r->line : 0};
        if (!r->call)
            return n + 1;
        if (r->call > q->count || q->first + r->call - 1 == row)
            return n + 1;
        row = q->first + r->call - 1;
    }
    return n;
}

int cubin_at(const struct cubin *c, const char *kernel_mangled, uint64_t offset,
             struct cubin_frame *out, int max)
{
    const struct line_sequence *q;
    struct cubin_code k = find_kernel(c, kernel_mangled);
    if (!k.section || offset >= k.bytes || max <= 0)
        return 0;
    size_t row = find_row(c, k.section, k.low + offset, &q);
    return row == SIZE_MAX ? 0 : cubin_chain(c, q, row, out, max);
}

/* Attribute of a symbol in .nv.info: {format, attribute, length of what follows, symbol, value}. */
static int cubin_info(const struct cubin *c, unsigned attribute, const char *kernel)
{
    struct bytes b = c->info;
    for (size_t at = 0; at + 4 <= b.n;) {
        uint16_t length;
        memcpy(&length, b.at + at + 2, sizeof length);
        size_t more = b.at[at] == FORMAT_SIZED ? length : 0;
        if (more > b.n - at - 4)
            return -1;
        if (b.at[at + 1] == attribute && more >= 8) {
            uint32_t pair[2];
            Elf64_Sym s;
            memcpy(pair, b.at + at + 4, sizeof pair);
            if (read_symbol(c, pair[0], &s) && !strcmp(bytes_text(c->names, s.st_name), kernel))
                return pair[1] <= INT32_MAX ? (int)pair[1] : -1;
        }
        at += 4 + more;
    }
    return -1;
}

int cubin_kernel(const struct cubin *c, const char *kernel_mangled, struct cubin_kernel *out)
{
    struct cubin_frame frames[32];
    struct cubin_code k = find_kernel(c, kernel_mangled);
    *out = (struct cubin_kernel){.registers = -1, .shared_bytes = -1, .local_bytes = -1};
    if (!k.section)
        return 0;
    int depth = cubin_at(c, kernel_mangled, 0, frames, 32);
    if (depth)
        out->begin = frames[depth - 1];
    out->registers = cubin_info(c, INFO_REGISTERS, kernel_mangled);
    out->local_bytes = cubin_info(c, INFO_STACK, kernel_mangled);
    size_t shared = find_section(c, ".nv.shared.", kernel_mangled);
    Elf64_Shdr s = cubin_section(c, shared);
    if (!shared || s.sh_size <= INT32_MAX)
        out->shared_bytes = (int)s.sh_size;
    return 1;
}
