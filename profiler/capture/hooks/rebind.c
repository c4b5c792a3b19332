/* Takes wrappers out of the program's way: in every image that is loaded, entries of the global
 * offset table that hold a wrapper get its next definition. What asks for an address by name later,
 * or keeps one elsewhere, still comes to the wrapper. */
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/hooks/hooks.h"

#if defined __x86_64__
#define IS_ENTRY(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#else
#define IS_ENTRY(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

struct rebind_image {
    uintptr_t bias, start, end;
    uintptr_t relro_start, relro_end; /* whole pages, as the loader protects them */
    const struct rebind *rows;
    size_t count;
    unsigned changed;
};

/* Returns 1 where it can be written now: by a write of the same value, which nobody else
 * changes. */
static int is_writable(uintptr_t *entry)
{
    uintptr_t value = *entry;
    struct iovec here = {&value, sizeof value}, there = {entry, sizeof value};
    return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == sizeof value;
}

/* An image whose read-only part can still be written is being relocated: the loader may protect it
 * at any moment. Once that is done, a moment of writing disturbs nobody. */
static void rebind_entry(struct rebind_image *im, uintptr_t *entry, uintptr_t value)
{
    uintptr_t at = (uintptr_t)entry, bytes = (uintptr_t)sysconf(_SC_PAGESIZE), page = at & -bytes;
    int protected = at >= im->relro_start && at < im->relro_end;
    if (protected && (is_writable(entry) || mprotect((void *)page, bytes, PROT_READ | PROT_WRITE)))
        return;
    __atomic_store_n(entry, value, __ATOMIC_RELAXED);
    im->changed++;
    if (protected)
        mprotect((void *)page, bytes, PROT_READ);
}

static void change_entries(struct rebind_image *im, const ElfW(Rela) * r, size_t count)
{
    for (size_t i = 0; r && i < count; i++) {
        uintptr_t at = im->bias + r[i].r_offset;
        if (!IS_ENTRY(ELF64_R_TYPE(r[i].r_info)) || at % sizeof at || at < im->start ||
            at >= im->end)
            continue;
        uintptr_t *entry = (uintptr_t *)at, value = __atomic_load_n(entry, __ATOMIC_RELAXED);
        for (size_t k = 0; k < im->count; k++)
            if (value == (uintptr_t)im->rows[k].ours && *im->rows[k].next)
                rebind_entry(im, entry, (uintptr_t)*im->rows[k].next);
    }
}

/* The loader has made addresses of most of these, not of the vDSO's. */
static const void *rebind_dynamic_address(const struct rebind_image *im, uintptr_t given)
{
    uintptr_t at = given >= im->start && given < im->end ? given : given + im->bias;
    return at >= im->start && at < im->end ? (const void *)at : NULL;
}

static void change_image(struct rebind_image *im, const ElfW(Dyn) * d)
{
    const void *table = NULL, *lazy = NULL;
    size_t bytes = 0, lazy_bytes = 0, rela = 0;
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_RELA)
            table = rebind_dynamic_address(im, d->d_un.d_ptr);
        else if (d->d_tag == DT_RELASZ)
            bytes = d->d_un.d_val;
        else if (d->d_tag == DT_JMPREL)
            lazy = rebind_dynamic_address(im, d->d_un.d_ptr);
        else if (d->d_tag == DT_PLTRELSZ)
            lazy_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_PLTREL)
            rela = d->d_un.d_val == DT_RELA;
    }
    change_entries(im, table, bytes / sizeof(ElfW(Rela)));
    change_entries(im, rela ? lazy : NULL, lazy_bytes / sizeof(ElfW(Rela)));
}

static int rebind_visit_image(struct dl_phdr_info *info, size_t bytes, void *given)
{
    struct rebind_image im = *(struct rebind_image *)given;
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)bytes;
    im.bias = info->dlpi_addr;
    im.start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = im.bias + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_LOAD) {
            im.start = start < im.start ? start : im.start;
            im.end = end > im.end ? end : im.end;
        } else if (p->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        } else if (p->p_type == PT_GNU_RELRO) {
            im.relro_start = start & -page;
            im.relro_end = end & -page;
        }
    }
    if (dynamic && (im.start > modules_own.start || im.end <= modules_own.start))
        change_image(&im, dynamic);
    ((struct rebind_image *)given)->changed = im.changed;
    return 0;
}

unsigned rebind_all(const struct rebind *rows, size_t count)
{
    struct rebind_image im = {.rows = rows, .count = count};
    modules_each(rebind_visit_image, &im);
    return im.changed;
}
