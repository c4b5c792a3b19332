/* Reads the ELF file of a program: what in it decides whether a library can be loaded into it. */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "profiler/image/image.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

struct elf_file {
    const unsigned char *data;
    size_t size;
};

/* The bytes at [offset, offset + n) when they lie in the file. */
static const void *elf_bytes(const struct elf_file *f, uint64_t offset, uint64_t n)
{
    return offset <= f->size && n <= f->size - offset ? f->data + offset : NULL;
}

static const Elf64_Phdr *elf_segment(const struct elf_file *f, int i)
{
    const Elf64_Ehdr *h = elf_bytes(f, 0, sizeof *h);
    if (!h || i >= h->e_phnum || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % 8)
        return NULL;
    return elf_bytes(f, h->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

static uint64_t file_offset(const struct elf_file *f, uint64_t address)
{
    const Elf64_Phdr *p;
    for (int i = 0; (p = elf_segment(f, i)); i++)
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return address - p->p_vaddr + p->p_offset;
    return UINT64_MAX;
}

/* 1 when the names of dynamic symbols and libraries hold `text`. */
static int names_hold(const struct elf_file *f, const Elf64_Phdr *dynamic, const char *text)
{
    uint64_t table = 0, bytes = 0;
    for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn d;
        const void *p = elf_bytes(f, dynamic->p_offset + i * sizeof d, sizeof d);
        if (!p)
            return 0;
        memcpy(&d, p, sizeof d);
        table = d.d_tag == DT_STRTAB ? d.d_un.d_ptr : table;
        bytes = d.d_tag == DT_STRSZ ? d.d_un.d_val : bytes;
        if (d.d_tag == DT_NULL)
            break;
    }
    const void *names = bytes ? elf_bytes(f, file_offset(f, table), bytes) : NULL;
    return names && memmem(names, bytes, text, strlen(text));
}

static void read_dynamic(const struct elf_file *f, const Elf64_Phdr *dynamic,
                         struct image_traits *t)
{
    static const char *const runtimes[] = {"libasan.so",      "__asan_init", "libtsan.so",
                                           "__tsan_init",     "__msan_init", "libhwasan.so",
                                           "libclang_rt.asan"};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        t->sanitizer |= names_hold(f, dynamic, runtimes[i]);
}

int image_traits(const void *data, size_t size, struct image_traits *t)
{
    const struct elf_file map = {data, size}, *f = &map;
    *t = (struct image_traits){0};
    if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0)
        return 0;
    const Elf64_Ehdr *h = elf_bytes(f, 0, sizeof *h);
    const Elf64_Phdr *p;
    if (!h || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_machine != OUR_MACHINE) {
        t->foreign = 1;
        return 1;
    }
    t->is_static = 1;
    for (int i = 0; (p = elf_segment(f, i)); i++) {
        const void *bytes = elf_bytes(f, p->p_offset, p->p_filesz);
        if (p->p_type == PT_INTERP) {
            t->is_static = 0;
            t->musl = bytes && memmem(bytes, p->p_filesz, "ld-musl", 7) != NULL;
        } else if (p->p_type == PT_DYNAMIC) {
            read_dynamic(f, p, t);
        } else if (p->p_type == PT_NOTE) {
            t->go |= bytes && memmem(bytes, p->p_filesz, "\4\0\0\0Go\0", 8) != NULL;
        }
    }
    return 1;
}
