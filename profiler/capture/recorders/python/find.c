/* Finds the symbols of a Python interpreter in the images of the process. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/unwind/elf_dynamic.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/python/layout.h"

static const struct python_wanted {
    const char *name;
    size_t at; /* in struct python_symbols */
} wanted[] = {
    {"_PyRuntime", offsetof(struct python_symbols, runtime)},
    {"_PyThreadState_Current", offsetof(struct python_symbols, old)},
    {"PyCode_Type", offsetof(struct python_symbols, code_type)},
    {"PyFrame_Type", offsetof(struct python_symbols, frame_type)},
    {"Py_Version", offsetof(struct python_symbols, version)},
    {"Py_NewRef", offsetof(struct python_symbols, new_ref)},
    {"PyFrame_GetCode", offsetof(struct python_symbols, get_code)},
    {"_Py_RefTotal", offsetof(struct python_symbols, debug_build)},
};
enum { WANTED = sizeof wanted / sizeof *wanted };

static void symbol_found(struct python_symbols *s, size_t i, uintptr_t address)
{
    uintptr_t *slot = (uintptr_t *)((char *)s + wanted[i].at);
    if (!*slot)
        *slot = address;
}

static int python_visit_image(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    struct elf_dynamic d;
    if (!elf_dynamic_read(info, &d) ||
        (!elf_dynamic_find(&d, wanted[0].name) && !elf_dynamic_find(&d, wanted[1].name)))
        return 0;
    for (size_t i = 0; i < WANTED; i++) {
        uintptr_t value = elf_dynamic_find(&d, wanted[i].name);
        if (value)
            symbol_found(context, i, info->dlpi_addr + value);
    }
    return 1;
}

/* Tells whether the names have one of the two that each interpreter has: node's, 7.5 MB, take 3 ms,
 * where a look at each of its 110,000 symbols took 10. */
static int names_may_be_python(const char *names, size_t bytes)
{
    for (size_t i = 0; i < 2; i++)
        if (memmem(names, bytes, wanted[i].name, strlen(wanted[i].name) + 1))
            return 1;
    return 0;
}

void python_search_file(struct python_symbols *s, const char *file, size_t bytes, uintptr_t bias,
                        int exported)
{
    const ElfW(Ehdr) *e = (const void *)file;
    if (bytes < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_shoff > bytes ||
        e->e_shentsize != sizeof(ElfW(Shdr)) ||
        (bytes - e->e_shoff) / sizeof(ElfW(Shdr)) < e->e_shnum)
        return;
    const ElfW(Shdr) *section = (const void *)(file + e->e_shoff);
    for (unsigned k = 0; k < e->e_shnum; k++) {
        const ElfW(Shdr) *t = &section[k];
        if ((t->sh_type != SHT_SYMTAB && (!exported || t->sh_type != SHT_DYNSYM)) ||
            t->sh_link >= e->e_shnum || t->sh_offset > bytes || t->sh_size > bytes - t->sh_offset)
            continue;
        const ElfW(Shdr) *n = &section[t->sh_link];
        if (n->sh_offset > bytes || n->sh_size > bytes - n->sh_offset || !n->sh_size ||
            file[n->sh_offset + n->sh_size - 1] ||
            !names_may_be_python(file + n->sh_offset, n->sh_size))
            continue;
        const ElfW(Sym) *symbol = (const void *)(file + t->sh_offset);
        for (size_t j = 0; j < t->sh_size / sizeof *symbol; j++) {
            if (symbol[j].st_name >= n->sh_size || symbol[j].st_shndx == SHN_UNDEF)
                continue;
            const char *name = file + n->sh_offset + symbol[j].st_name;
            if (name[0] != 'P' && name[0] != '_')
                continue;
            for (size_t i = 0; i < WANTED; i++)
                if (!strcmp(name, wanted[i].name))
                    symbol_found(s, i, bias + symbol[j].st_value);
        }
    }
}

static int first_bias(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    *(uintptr_t *)context = info->dlpi_addr;
    return 1; /* the program itself comes first */
}

static uint64_t table_bytes(const char *file, size_t bytes)
{
    const ElfW(Ehdr) *e = (const void *)file;
    uint64_t sum = 0;
    if (bytes < sizeof *e || e->e_shoff > bytes || e->e_shentsize != sizeof(ElfW(Shdr)) ||
        (bytes - e->e_shoff) / sizeof(ElfW(Shdr)) < e->e_shnum)
        return 0;
    const ElfW(Shdr) *section = (const void *)(file + e->e_shoff);
    for (unsigned k = 0; k < e->e_shnum; k++)
        if (section[k].sh_type == SHT_SYMTAB && section[k].sh_link < e->e_shnum)
            sum += section[section[k].sh_link].sh_size;
    return sum;
}

static uint64_t search_waits; /* bytes of names that are to be searched later; 0: none */

int python_search_is_due(void)
{
    return search_waits && elf_names_are_due(search_waits);
}

/* An interpreter linked into a program that exports nothing: the symbol table of its file. */
static void search_program(struct python_symbols *s)
{
    struct stat status;
    uintptr_t bias = 0;
    int fd = raw_open("/proc/self/exe", O_RDONLY);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && status.st_size > 0) {
        const size_t bytes = (size_t)status.st_size;
        void *file = raw_map_file(fd, bytes);
        const uint64_t names = file ? table_bytes(file, bytes) : 0;
        search_waits = elf_names_are_due(names) ? 0 : names;
        if (file && !search_waits) {
            modules_each(first_bias, &bias);
            python_search_file(s, file, bytes, bias, 0);
        }
        if (file)
            raw_unmap(file, bytes);
    }
    syscall(SYS_close, fd);
    if (!s->runtime && !s->old)
        memset(s, 0, sizeof *s);
}

void python_find_symbols(struct python_symbols *s)
{
    static int searched; /* the program's file does not change */
    memset(s, 0, sizeof *s);
    if (!modules_each(python_visit_image, s) && (!searched || search_waits)) {
        searched = 1;
        search_program(s);
    }
}
