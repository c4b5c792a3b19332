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

struct image_dynamic { /* offsets in the file, UINT64_MAX: there is none */
    uint64_t names, names_bytes, symbols, hash;
};

static int elf_read(const struct elf_file *f, uint64_t offset, void *to, size_t n)
{
    const void *p = elf_bytes(f, offset, n);
    if (p)
        memcpy(to, p, n);
    return p != NULL;
}

/* 0: there are no more. */
static int dynamic_entry(const struct elf_file *f, const Elf64_Phdr *dynamic, uint64_t i,
                         Elf64_Dyn *out)
{
    return i < dynamic->p_filesz / sizeof *out &&
           elf_read(f, dynamic->p_offset + i * sizeof *out, out, sizeof *out) &&
           out->d_tag != DT_NULL;
}

static struct image_dynamic dynamic_of(const struct elf_file *f, const Elf64_Phdr *dynamic)
{
    struct image_dynamic out = {UINT64_MAX, 0, UINT64_MAX, UINT64_MAX};
    Elf64_Dyn d;
    for (uint64_t i = 0; dynamic_entry(f, dynamic, i, &d); i++)
        if (d.d_tag == DT_STRTAB)
            out.names = file_offset(f, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRSZ)
            out.names_bytes = d.d_un.d_val;
        else if (d.d_tag == DT_SYMTAB)
            out.symbols = file_offset(f, d.d_un.d_ptr);
        else if (d.d_tag == DT_GNU_HASH)
            out.hash = file_offset(f, d.d_un.d_ptr);
    if (!elf_bytes(f, out.names, out.names_bytes))
        out.names_bytes = 0;
    return out;
}

static int name_is(const struct elf_file *f, const struct image_dynamic *d, uint32_t at,
                   const char *name)
{
    const size_t n = strlen(name) + 1;
    return at <= d->names_bytes && n <= d->names_bytes - at &&
           !memcmp(f->data + d->names + at, name, n);
}

/* Tells whether the image defines `name`, by its hash table: the names of node are 4 MB, and a search
 * through them took 7 ms. */
static int image_defines(const struct elf_file *f, const struct image_dynamic *d, const char *name)
{
    uint32_t head[4], h = 5381, i, other = 0; /* buckets, first symbol, words of bits, shift */
    uint64_t word;
    for (const char *p = name; *p; p++)
        h = h * 33 + (uint8_t)*p;
    if (!elf_read(f, d->hash, head, sizeof head) || !head[0] || !head[2])
        return 0;
    const uint64_t bits = d->hash + sizeof head, buckets = bits + 8ull * head[2],
                   chains = buckets + 4ull * head[0];
    if (!elf_read(f, bits + 8ull * (h / 64 % head[2]), &word, sizeof word) ||
        !(word >> h % 64 & word >> (h >> head[3] % 32) % 64 & 1) ||
        !elf_read(f, buckets + 4ull * (h % head[0]), &i, sizeof i))
        return 0;
    for (; i >= head[1] && !(other & 1); i++) {
        Elf64_Sym s;
        if (!elf_read(f, chains + 4ull * (i - head[1]), &other, sizeof other))
            return 0;
        if ((other | 1) == (h | 1) && elf_read(f, d->symbols + sizeof s * i, &s, sizeof s) &&
            name_is(f, d, s.st_name, name))
            return 1;
    }
    return 0;
}

static int names_hold(const struct elf_file *f, const struct image_dynamic *d, const char *text)
{
    return d->names_bytes && memmem(f->data + d->names, d->names_bytes, text, strlen(text));
}

/* Tells whether a library that the image needs has `text` in its name. */
static int image_needs(const struct elf_file *f, const Elf64_Phdr *dynamic,
                       const struct image_dynamic *names, const char *text)
{
    Elf64_Dyn d;
    for (uint64_t i = 0; dynamic_entry(f, dynamic, i, &d); i++) {
        if (d.d_tag != DT_NEEDED || d.d_un.d_val >= names->names_bytes)
            continue;
        const char *name = (const char *)f->data + names->names + d.d_un.d_val;
        const size_t most = names->names_bytes - d.d_un.d_val;
        if (memmem(name, strnlen(name, most), text, strlen(text)))
            return 1;
    }
    return 0;
}

/* A sanitizer's runtime is a library, or linked into the program, which exports its functions then. */
static void read_dynamic(const struct elf_file *f, const Elf64_Phdr *dynamic,
                         struct image_traits *t)
{
    static const char *const libraries[] = {"libasan.so", "libtsan.so", "libhwasan.so",
                                            "libclang_rt.asan"};
    static const char *const functions[] = {"__asan_init", "__tsan_init", "__msan_init"};
    const struct image_dynamic d = dynamic_of(f, dynamic);
    const int hashed = elf_bytes(f, d.hash, 16) != NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        t->sanitizer |= image_needs(f, dynamic, &d, libraries[i]);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        t->sanitizer |=
            hashed ? image_defines(f, &d, functions[i]) : names_hold(f, &d, functions[i]);
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
