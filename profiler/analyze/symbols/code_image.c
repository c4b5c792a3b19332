/* Reads and settles ELF images of code that was made at run time. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/symbols/code_image.h"

/* A sorted table of ELF symbols: the function that covers an address. */

enum {
    LAST_BYTES = 4096, /* of a last symbol without a size */
    NESTING = 8        /* symbols within a longer one that are skipped */
};

struct symtab_entry {
    uint64_t start, end;
    const char *name;
    int rank, guessed; /* end is only where the next one starts */
};

enum err symtab_add(struct symtab *t, uint64_t address, uint64_t bytes, int rank, const char *name)
{
    uint64_t end = address + bytes;
    if (!*name || *name == '$' || end < address) /* $x, $d: Arm's marks of code and data */
        return ERR_OK;
    TRY(array_room(&t->entries, &t->room, t->count + 1, sizeof *t->entries));
    t->entries[t->count++] = (struct symtab_entry){address, end, name, rank, !bytes};
    return ERR_OK;
}

static int symbol_by_address(const void *a, const void *b)
{
    const struct symtab_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->guessed != y->guessed)
        return x->guessed ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    size_t n = strlen(x->name), m = strlen(y->name);
    return n != m ? (n < m ? -1 : 1) : strcmp(x->name, y->name); /* memcpy, not __GI_memcpy */
}

void symtab_sort(struct symtab *t)
{
    size_t n = 0;
    if (t->count)
        qsort(t->entries, t->count, sizeof *t->entries, symbol_by_address);
    for (size_t i = 0; i < t->count; i++)
        if (!n || t->entries[i].start != t->entries[n - 1].start)
            t->entries[n++] = t->entries[i];
    t->count = n;
    for (size_t i = 0; i < n; i++) {
        struct symtab_entry *e = &t->entries[i];
        if (e->guessed)
            e->end = i + 1 < n ? t->entries[i + 1].start : e->start + LAST_BYTES;
    }
}

const char *symtab_at(const struct symtab *t, uint64_t address)
{
    size_t low = ARRAY_BOUND(0, t->count, i, t->entries[i].start <= address);
    const char *label = NULL; /* within a function perhaps, which is the better name */
    for (int i = 0; i < NESTING && low; i++, low--) {
        const struct symtab_entry *e = &t->entries[low - 1];
        if (address < e->end && !e->guessed)
            return e->name;
        if (address < e->end && !label)
            label = e->name;
    }
    return label;
}

void symtab_free(struct symtab *t)
{
    free(t->entries);
    *t = (struct symtab){0};
}

#define SECTION_BYTES_MAX (1ull << 32)

struct view {
    char *bytes;
    size_t n;
    Elf64_Ehdr header;
};

static int view_of(const void *bytes, size_t n, struct view *v)
{
    *v = (struct view){.bytes = (char *)(uintptr_t)bytes, .n = n};
    if (n < sizeof v->header)
        return 0;
    memcpy(&v->header, bytes, sizeof v->header);
    const Elf64_Ehdr *h = &v->header;
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_shentsize == sizeof(Elf64_Shdr) &&
           h->e_shnum && h->e_shoff <= n && (n - h->e_shoff) / sizeof(Elf64_Shdr) >= h->e_shnum;
}

/* By copies: nothing in the image need be aligned. */
static int view_section(const struct view *v, uint64_t index, Elf64_Shdr *s)
{
    if (index >= v->header.e_shnum)
        return 0;
    memcpy(s, v->bytes + v->header.e_shoff + index * sizeof *s, sizeof *s);
    return 1;
}

/* Its bytes in the image; NULL: they are not all there. */
static char *view_content(const struct view *v, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOBITS || s->sh_offset > v->n || s->sh_size > v->n - s->sh_offset)
        return NULL;
    return v->bytes + s->sh_offset;
}

/* Returns the table of symbols, NULL: none. */
static char *symbols_of(const struct view *v, Elf64_Shdr *table)
{
    for (uint64_t i = 0; view_section(v, i, table); i++)
        if (table->sh_type == SHT_SYMTAB)
            return view_content(v, table);
    return NULL;
}

static void code_place_symbols(const struct view *v)
{
    Elf64_Shdr table, of;
    char *at = symbols_of(v, &table);
    for (uint64_t i = 0; at && i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, at + i * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || !view_section(v, symbol.st_shndx, &of))
            continue;
        symbol.st_value += of.sh_addr;
        memcpy(at + i * sizeof symbol, &symbol, sizeof symbol);
    }
}

/* Bytes of the field that a relocation of debug information fills with symbol + addend; 0: another
 * kind. */
static unsigned width_of(unsigned machine, uint64_t type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
    if (machine == EM_AARCH64)
        return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
    return 0;
}

/* Code that runs was relocated where it runs; its debug information was not. */
static void code_place_section(const struct view *v, const Elf64_Shdr *list)
{
    Elf64_Shdr to, table;
    const char *at = view_content(v, list), *symbols;
    char *bytes;
    if (!at || !view_section(v, list->sh_info, &to) || to.sh_flags & (SHF_ALLOC | SHF_COMPRESSED) ||
        to.sh_type != SHT_PROGBITS || !(bytes = view_content(v, &to)) ||
        !view_section(v, list->sh_link, &table) || table.sh_type != SHT_SYMTAB ||
        !(symbols = view_content(v, &table)))
        return;
    for (uint64_t i = 0; i < list->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        Elf64_Sym symbol;
        memcpy(&r, at + i * sizeof r, sizeof r);
        unsigned width = width_of(v->header.e_machine, ELF64_R_TYPE(r.r_info));
        if (!width || r.r_offset > to.sh_size || width > to.sh_size - r.r_offset ||
            ELF64_R_SYM(r.r_info) >= table.sh_size / sizeof symbol)
            continue;
        memcpy(&symbol, symbols + ELF64_R_SYM(r.r_info) * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= v->header.e_shnum)
            continue;
        uint64_t value = symbol.st_value + (uint64_t)r.r_addend; /* little-endian */
        memcpy(bytes + r.r_offset, &value, width);
    }
}

int code_image_place(void *bytes, size_t n)
{
    struct view v;
    Elf64_Shdr s;
    if (!view_of(bytes, n, &v))
        return 0;
    if (v.header.e_type != ET_REL)
        return 1;
    code_place_symbols(&v);
    for (uint64_t i = 0; view_section(&v, i, &s); i++)
        if (s.sh_type == SHT_RELA)
            code_place_section(&v, &s);
    Elf64_Half settled = ET_EXEC;
    memcpy(v.bytes + offsetof(Elf64_Ehdr, e_type), &settled, sizeof settled);
    return 1;
}

size_t code_image_ranges(const void *bytes, size_t n, struct code_range *out, size_t max)
{
    struct view v;
    Elf64_Shdr s;
    size_t count = 0;
    if (!view_of(bytes, n, &v))
        return 0;
    for (uint64_t i = 0; count < max && view_section(&v, i, &s); i++)
        if (s.sh_flags & SHF_ALLOC && s.sh_flags & SHF_EXECINSTR && s.sh_addr && s.sh_size &&
            s.sh_size < SECTION_BYTES_MAX && s.sh_addr < UINT64_MAX - s.sh_size)
            out[count++] = (struct code_range){s.sh_addr, s.sh_addr + s.sh_size};
    return count;
}

enum err code_image_symbols(const void *bytes, size_t n, struct symtab *t)
{
    struct view v;
    Elf64_Shdr table, names;
    const char *at = view_of(bytes, n, &v) ? symbols_of(&v, &table) : NULL;
    const char *texts =
        at && view_section(&v, table.sh_link, &names) ? view_content(&v, &names) : NULL;
    if (!texts || !names.sh_size || texts[names.sh_size - 1])
        return ERR_OK;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, at + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
            symbol.st_name < names.sh_size)
            TRY(symtab_add(t, symbol.st_value, symbol.st_size,
                           ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? 1 : 2,
                           texts + symbol.st_name));
    }
    symtab_sort(t);
    return ERR_OK;
}
