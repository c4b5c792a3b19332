/* Finds dynamic symbols of a loaded image without dlsym. */
#include <elf.h>
#include <string.h>
#include <time.h>

#include "profiler/capture/core/unwind/elf_dynamic.h"

int elf_dynamic_read(const struct dl_phdr_info *info, struct elf_dynamic *out)
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
    *out = d;
    return d.symbols && d.names && d.hash && d.hash[0] && d.hash[2];
}

uintptr_t elf_dynamic_find(const struct elf_dynamic *d, const char *name)
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

enum { NAMES_AT_ONCE = 1 << 20, LATER_NS = 500000000 }; /* of CPU time */

int elf_names_are_due(uint64_t bytes)
{
    struct timespec t;
    return bytes <= NAMES_AT_ONCE || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) ||
           (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec >= LATER_NS;
}
