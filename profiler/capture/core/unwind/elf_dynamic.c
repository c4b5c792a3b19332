/* Finds dynamic symbols of a loaded image without dlsym. */
#include <elf.h>
#include <string.h>
#include <time.h>

#include "profiler/capture/core/unwind/elf_dynamic.h"
#include "profiler/capture/core/unwind/later.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/safe_read.h"

enum { ENTRIES = 64, NAME_BYTES = 64, CHAIN_MOST = 4096 };

int elf_dynamic_read(const struct dl_phdr_info *info, struct elf_dynamic *out)
{
    static ElfW(Dyn) some[ENTRIES]; /* under modules_hold: 1 KiB is much of a small stack */
    struct elf_dynamic d = {0};
    uintptr_t at = 0, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            end = at + info->dlpi_phdr[i].p_memsz / sizeof *some * sizeof *some;
        }
    for (size_t i = ENTRIES; at < end; i++, at += sizeof *some) {
        const size_t left = end - at;
        if (i == ENTRIES && !image_read(at, some, left < sizeof some ? left : sizeof some))
            return 0;
        const ElfW(Dyn) *entry = &some[i %= ENTRIES];
        uintptr_t value = entry->d_un.d_ptr;
        if (entry->d_tag == DT_NULL)
            break;
        if (value < info->dlpi_addr) /* glibc makes them absolute, where it can write */
            value += info->dlpi_addr;
        if (entry->d_tag == DT_SYMTAB)
            d.symbols = value;
        else if (entry->d_tag == DT_STRTAB)
            d.names = value;
        else if (entry->d_tag == DT_GNU_HASH)
            d.hash = value;
    }
    const int is_there =
        d.symbols && d.names && d.hash && image_read(d.hash, &d.head, sizeof d.head);
    *out = d;
    return is_there && d.head.buckets && d.head.words;
}

/* A name may end with the image's memory: what is read ahead is read by the kernel. */
static int is_named(uintptr_t at, const char *name)
{
    char text[NAME_BYTES];
    const size_t bytes = strlen(name) + 1;
    if (modules_may_lock())
        return !strcmp((const char *)at, name);
    return bytes <= sizeof text && safe_read(at, text, bytes) && !memcmp(text, name, bytes);
}

uintptr_t elf_dynamic_find(const struct elf_dynamic *d, const char *name)
{
    uint32_t h = 5381, i, other = 0, end;
    for (const char *p = name; *p; p++)
        h = h * 33 + (uint8_t)*p;
    const unsigned bits = 8 * sizeof(ElfW(Addr));
    const uintptr_t bloom = d->hash + sizeof d->head, bucket = bloom + d->head.words * (bits / 8),
                    chain = bucket + d->head.buckets * sizeof i;
    ElfW(Addr) word;
    if (!image_read(bloom + h / bits % d->head.words * sizeof word, &word, sizeof word) ||
        !(word >> h % bits & 1) || !(word >> (h >> d->head.shift) % bits & 1) ||
        !image_read(bucket + h % d->head.buckets * sizeof i, &i, sizeof i))
        return 0;
    end = i + CHAIN_MOST;
    for (; i >= d->head.first && i < end && !(other & 1); i++) {
        ElfW(Sym) symbol;
        if (!image_read(chain + (i - d->head.first) * sizeof other, &other, sizeof other))
            return 0;
        if ((other | 1) == (h | 1) &&
            image_read(d->symbols + i * sizeof symbol, &symbol, sizeof symbol) &&
            symbol.st_shndx != SHN_UNDEF && is_named(d->names + symbol.st_name, name))
            return symbol.st_value;
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
