/* Symbol files without elfutils: the function names of ELF files, no lines. Used when TP_DW is
 * off. */
#ifndef TP_DW
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/symbols/code_image.h"
#include "profiler/analyze/symbols/debug_files.h"
#include "profiler/analyze/symbols/symbol_file.h"

/* Function names alone, for a build without elfutils: .symtab, else .dynsym, of 64-bit
 * little-endian files. No lines. */

#define TABLE_LIMIT (1u << 30)

struct symbol_file {
    int fd;
    Elf64_Ehdr header;
    Elf64_Shdr *sections;
    Elf64_Sym *symbols;
    char *strings; /* ends in NUL */
    void *code;    /* of an image in memory: its bytes */
    struct symtab table;
};

/* `bytes` at `offset`, with a NUL behind; NULL when they are not there. */
static void *elf_load(int fd, uint64_t offset, uint64_t bytes)
{
    if (!bytes || bytes > TABLE_LIMIT || offset > INT64_MAX)
        return NULL;
    struct stat st;
    if (fstat(fd, &st) || offset + bytes > (uint64_t)st.st_size)
        return NULL;
    char *data = malloc(bytes + 1);
    if (data && pread(fd, data, bytes, (off_t)offset) != (ssize_t)bytes) {
        free(data);
        return NULL;
    }
    if (data)
        data[bytes] = 0;
    return data;
}

static const Elf64_Shdr *section_of_type(const struct symbol_file *f, uint32_t type)
{
    for (int i = 0; i < f->header.e_shnum; i++)
        if (f->sections[i].sh_type == type)
            return &f->sections[i];
    return NULL;
}

static int elf_same_id(const struct symbol_file *f, const void *build_id, int bytes)
{
    for (int i = 0; bytes && i < f->header.e_shnum; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type != SHT_NOTE || s->sh_size != 16 + (uint64_t)bytes)
            continue;
        char *note = elf_load(f->fd, s->sh_offset, s->sh_size);
        Elf64_Nhdr n = {0};
        if (note)
            memcpy(&n, note, sizeof n);
        int same = n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
                   n.n_descsz == (unsigned)bytes && !memcmp(note + 12, "GNU", 4) &&
                   !memcmp(note + 16, build_id, (size_t)bytes);
        free(note);
        if (same)
            return 1;
    }
    return !bytes;
}

static enum symbol_file_state read_header(struct symbol_file *f, const char *path, const void *id,
                                          int bytes)
{
    f->fd = debug_file_open(path);
    if (f->fd < 0)
        return SYMBOL_FILE_MISSING;
    Elf64_Ehdr *h = &f->header;
    if (pread(f->fd, h, sizeof *h, 0) != sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_shentsize != sizeof(Elf64_Shdr))
        return SYMBOL_FILE_CHANGED;
    f->sections = elf_load(f->fd, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
    if (!f->sections)
        h->e_shnum = 0;
    return elf_same_id(f, id, bytes) ? SYMBOL_FILE_FOUND : SYMBOL_FILE_CHANGED;
}

static enum err elf_read_symbols(struct symbol_file *f)
{
    const Elf64_Shdr *s = section_of_type(f, SHT_SYMTAB);
    if (!s)
        s = section_of_type(f, SHT_DYNSYM);
    if (!s || s->sh_link >= f->header.e_shnum)
        return ERR_OK;
    const Elf64_Shdr *names = &f->sections[s->sh_link];
    f->symbols = elf_load(f->fd, s->sh_offset, s->sh_size);
    f->strings = elf_load(f->fd, names->sh_offset, names->sh_size);
    for (size_t i = 0; f->symbols && f->strings && i < s->sh_size / sizeof *f->symbols; i++) {
        const Elf64_Sym *symbol = &f->symbols[i];
        int type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
            symbol->st_name >= names->sh_size)
            continue;
        TRY(symtab_add(&f->table, symbol->st_value, symbol->st_size,
                       binding == STB_LOCAL  ? 1
                       : binding == STB_WEAK ? 2
                                             : 3,
                       f->strings + symbol->st_name));
    }
    symtab_sort(&f->table);
    return ERR_OK;
}

enum err symbol_file_open(const char *path, const void *build_id, int build_id_bytes,
                          struct symbol_file **out, struct symbol_facts *facts)
{
    *out = NULL;
    *facts = (struct symbol_facts){.state = SYMBOL_FILE_MISSING};
    struct symbol_file *f = calloc(1, sizeof *f);
    FAIL_IF(!f, ERR_MEMORY, "%s: no memory for its symbols", path);
    facts->state = read_header(f, path, build_id, build_id_bytes);
    enum err e = facts->state == SYMBOL_FILE_FOUND ? elf_read_symbols(f) : ERR_OK;
    facts->symbols = f->table.count > 0;
    if (e || facts->state != SYMBOL_FILE_FOUND) {
        symbol_file_close(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

enum err symbol_file_open_code(void *bytes, size_t n, struct symbol_file **out)
{
    struct symbol_file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        free(bytes);
    FAIL_IF(!f, ERR_MEMORY, "no memory for the symbols of generated code");
    f->fd = -1;
    f->code = bytes;
    enum err e = code_image_symbols(bytes, n, &f->table);
    if (e)
        symbol_file_close(f);
    else
        *out = f;
    return e;
}

void symbol_file_close(struct symbol_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    symtab_free(&f->table);
    free(f->sections);
    free(f->symbols);
    free(f->strings);
    free(f->code);
    free(f);
}

uint64_t symbol_file_memory(const struct symbol_file *f)
{
    return f->table.count * 80; /* entry, symbol, name */
}

int symbol_file_at(struct symbol_file *f, uint64_t address, struct file_frame *out, int max)
{
    (void)max;
    *out = (struct file_frame){.function = symtab_at(&f->table, address)};
    return out->function != NULL;
}
#else
typedef int with_elfutils;
#endif
