/* Finds the functions that the library's hooks replace by the hash tables of the images that were
 * loaded with the program. A process start needs 160 of them, and each dlsym() takes locks, sets up
 * a way back for errors, and may allocate. It is asked where a table has something unusual: a
 * version that is not the default, no hash table. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/next_symbol.h"

enum { IMAGES = 64, VERSION_HIDDEN = 0x8000 };

struct symbol_image {
    uintptr_t bias;
    const ElfW(Sym) * symbol;
    const char *text;
    const uint16_t *version; /* NULL: it has none */
    const uint64_t *bloom;
    const uint32_t *bucket, *chain;
    uint32_t bloom_words, bloom_shift, buckets, first;
};
static struct symbol_image images[IMAGES] CAPTURE_NEAR;
static int image_count = -1; /* below 0: not read yet */

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The loader adds the bias itself, where it may write. */
static const void *symbol_table(const struct link_map *m, const ElfW(Dyn) * d)
{
    return (const void *)(d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr);
}

static int symbol_read_image(const struct link_map *m, struct symbol_image *im)
{
    const uint32_t *hash = NULL;
    *im = (struct symbol_image){.bias = m->l_addr};
    for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            im->symbol = symbol_table(m, d);
            break;
        case DT_STRTAB:
            im->text = symbol_table(m, d);
            break;
        case DT_VERSYM:
            im->version = symbol_table(m, d);
            break;
        case DT_GNU_HASH:
            hash = symbol_table(m, d);
        }
    if (!hash || !im->symbol || !im->text || !hash[0] || !hash[2])
        return 0;
    im->buckets = hash[0];
    im->first = hash[1];
    im->bloom_words = hash[2];
    im->bloom_shift = hash[3];
    im->bloom = (const uint64_t *)(const void *)(hash + 4);
    im->bucket = (const uint32_t *)(const void *)(im->bloom + im->bloom_words);
    im->chain = im->bucket + im->buckets;
    return 1;
}

static const struct link_map *own_image(void)
{
    const struct link_map *m = _r_debug.r_map;
    while (m && m->l_ld != _DYNAMIC)
        m = m->l_next;
    return m;
}

const char *own_image_name(void)
{
    const struct link_map *m = own_image();
    return m && *m->l_name ? m->l_name : NULL;
}

/* Those behind this library, up to one that cannot be read: from there on dlsym() knows. Opened
 * later by the program, this library has none behind it. */
static int symbol_read_images(void)
{
    const struct link_map *m = own_image();
    int n = 0;
    for (m = m ? m->l_next : NULL; m && n < IMAGES; m = m->l_next)
        if (!symbol_read_image(m, &images[n++]))
            return n - 1;
    return n;
}

static uint32_t symbol_hash(const char *name)
{
    uint32_t h = 5381;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        h = h * 33 + *p;
    return h;
}

enum symbol_found { SYMBOL_NONE, SYMBOL_FOUND, SYMBOL_UNUSUAL };

/* On x86-64 a function that chooses the one for this processor takes nothing and knows all from the
 * loader, which has relocated its image before. */
#if defined __x86_64__ && defined __GLIBC__
#define SYMBOL_CHOSEN STT_GNU_IFUNC
#else
#define SYMBOL_CHOSEN (-1)
#endif

static enum symbol_found symbol_search(const struct symbol_image *im, const char *name,
                                       uint32_t hash, void **out)
{
    uint64_t word = im->bloom[hash / 64 % im->bloom_words];
    enum symbol_found found = SYMBOL_NONE;
    if (!(word >> hash % 64 & word >> (hash >> im->bloom_shift) % 64 & 1))
        return SYMBOL_NONE;
    uint32_t i = im->bucket[hash % im->buckets];
    if (i < im->first)
        return SYMBOL_NONE;
    for (;; i++) {
        uint32_t h = im->chain[i - im->first];
        const ElfW(Sym) *s = &im->symbol[i];
        if ((h | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
            !strcmp(im->text + s->st_name, name)) {
            const int type = ELF64_ST_TYPE(s->st_info);
            if (!s->st_value || (type != STT_FUNC && type != SYMBOL_CHOSEN))
                return SYMBOL_UNUSUAL;
            if (!im->version || !(im->version[i] & VERSION_HIDDEN)) {
                *out = (void *)(im->bias + s->st_value);
                if (type == SYMBOL_CHOSEN)
                    *out = ((void *(*)(void)) * out)();
                return SYMBOL_FOUND;
            }
            found = SYMBOL_UNUSUAL;
        }
        if (h & 1)
            return found;
    }
}

void *next_symbol(const char *name)
{
    void *f = NULL;
    uint32_t hash = symbol_hash(name);
    if (image_count < 0)
        image_count = symbol_read_images();
    for (int i = 0; i < image_count; i++)
        switch (symbol_search(&images[i], name, hash, &f)) {
        case SYMBOL_FOUND:
            return f;
        case SYMBOL_UNUSUAL:
            return dlsym(RTLD_NEXT, name);
        case SYMBOL_NONE:
            break;
        }
    return dlsym(RTLD_NEXT, name);
}

void *kernel_symbol(const char *name)
{
    const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Phdr) *p = h ? (const ElfW(Phdr) *)((const char *)h + h->e_phoff) : NULL;
    struct link_map m = {0};
    struct symbol_image im;
    int is_placed = 0;
    void *f = NULL;
    for (int i = 0; p && i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && !is_placed++)
            m.l_addr = (uintptr_t)h + p[i].p_offset - p[i].p_vaddr;
        else if (p[i].p_type == PT_DYNAMIC)
            m.l_ld = (ElfW(Dyn) *)((uintptr_t)h + p[i].p_offset);
    if (!is_placed || !m.l_ld || !symbol_read_image(&m, &im) ||
        symbol_search(&im, name, symbol_hash(name), &f) != SYMBOL_FOUND)
        return NULL;
    return f;
}
