/* Finds the symbols of a Python interpreter in the images of the process. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/python/layout.h"

static const struct python_wanted {
    const char *name;
    size_t at; /* in struct python_symbols */
} wanted[] = {
    {"_PyRuntime", offsetof(struct python_symbols, runtime)},
    {"PyCode_Type", offsetof(struct python_symbols, code_type)},
    {"PyFrame_Type", offsetof(struct python_symbols, frame_type)},
    {"Py_Version", offsetof(struct python_symbols, version)},
    {"Py_NewRef", offsetof(struct python_symbols, new_ref)},
    {"PyFrame_GetCode", offsetof(struct python_symbols, get_code)},
    {"_Py_RefTotal", offsetof(struct python_symbols, debug_build)},
};
enum { WANTED = sizeof wanted / sizeof *wanted };

static void found(struct python_symbols *s, size_t i, uintptr_t address)
{
    uintptr_t *slot = (uintptr_t *)((char *)s + wanted[i].at);
    if (!*slot)
        *slot = address;
}

/* The dynamic symbols of one image, through its GNU hash table: dlsym would wait for a dlopen that
 * another thread is in. */
struct elf_dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash;
};

static struct elf_dynamic read_dynamic(const struct dl_phdr_info *info)
{
    struct elf_dynamic d = {0};
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        if (value < info->dlpi_addr) /* glibc makes them absolute, where it can write */
            value += info->dlpi_addr;
        if (entry->d_tag == DT_SYMTAB)
            d.symbols = (const ElfW(Sym) *)value;
        else if (entry->d_tag == DT_STRTAB)
            d.names = (const char *)value;
        else if (entry->d_tag == DT_GNU_HASH)
            d.hash = (const uint32_t *)value;
    }
    return d;
}

static uintptr_t look_up(const struct elf_dynamic *d, const char *name)
{
    uint32_t h = 5381;
    for (const char *p = name; *p; p++)
        h = h * 33 + (uint8_t)*p;
    uint32_t buckets = d->hash[0], first = d->hash[1], words = d->hash[2], shift = d->hash[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(d->hash + 4);
    const unsigned bits = 8 * sizeof *bloom;
    ElfW(Addr) word = bloom[h / bits % words];
    if (!(word >> h % bits & 1) || !(word >> (h >> shift) % bits & 1))
        return 0;
    const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
    for (uint32_t i = bucket[h % buckets]; i >= first; i++) {
        uint32_t other = chain[i - first];
        if ((other | 1) == (h | 1) && d->symbols[i].st_shndx != SHN_UNDEF &&
            !strcmp(d->names + d->symbols[i].st_name, name))
            return d->symbols[i].st_value;
        if (other & 1)
            break;
    }
    return 0;
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    struct elf_dynamic d = read_dynamic(info);
    if (!d.symbols || !d.names || !d.hash || !d.hash[0] || !d.hash[2] ||
        !look_up(&d, wanted[0].name))
        return 0;
    for (size_t i = 0; i < WANTED; i++) {
        uintptr_t value = look_up(&d, wanted[i].name);
        if (value)
            found(context, i, info->dlpi_addr + value);
    }
    return 1;
}

/* An interpreter linked into a program that exports nothing: the symbol table of its file. */
static void search_table(struct python_symbols *s, const char *file, size_t bytes, uintptr_t bias)
{
    const ElfW(Ehdr) *e = (const void *)file;
    if (bytes < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_shoff > bytes ||
        e->e_shentsize != sizeof(ElfW(Shdr)) ||
        (bytes - e->e_shoff) / sizeof(ElfW(Shdr)) < e->e_shnum)
        return;
    const ElfW(Shdr) *section = (const void *)(file + e->e_shoff);
    for (unsigned k = 0; k < e->e_shnum; k++) {
        const ElfW(Shdr) *t = &section[k];
        if (t->sh_type != SHT_SYMTAB || t->sh_link >= e->e_shnum || t->sh_offset > bytes ||
            t->sh_size > bytes - t->sh_offset)
            continue;
        const ElfW(Shdr) *n = &section[t->sh_link];
        if (n->sh_offset > bytes || n->sh_size > bytes - n->sh_offset || !n->sh_size ||
            file[n->sh_offset + n->sh_size - 1])
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
                    found(s, i, bias + symbol[j].st_value);
        }
    }
}

static int first_bias(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    *(uintptr_t *)context = info->dlpi_addr;
    return 1; /* the program itself comes first */
}

static void search_program(struct python_symbols *s)
{
    struct stat status;
    uintptr_t bias = 0;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && status.st_size > 0) {
        void *file = raw_map_file(fd, (size_t)status.st_size);
        if (file) {
            dl_iterate_phdr(first_bias, &bias);
            search_table(s, file, (size_t)status.st_size, bias);
            raw_unmap(file, (size_t)status.st_size);
        }
    }
    close(fd);
    if (!s->runtime)
        memset(s, 0, sizeof *s);
}

void python_find_symbols(struct python_symbols *s)
{
    static int searched; /* the program's file does not change */
    memset(s, 0, sizeof *s);
    if (!dl_iterate_phdr(visit, s) && !searched) {
        searched = 1;
        search_program(s);
    }
}
