/* Finds the descriptors of GDB's JIT interface in the images of the process. */
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
#include "profiler/capture/recorders/jit/jit.h"

/* Tables of jaxlib 0.10: 107 MiB, 0.1 s; of llvmlite 0.50: 18 MiB, 0.01 s. */
enum { MODULES = 2048, PIECE = 256 << 10, SECTIONS_MAX = 4096 };
#define LOOK_NS   20000000u
#define READ_MOST (512ull << 20) /* of one process */

static const char wanted[] = "__jit_debug_descriptor"; /* with its NUL */

struct known {
    uint64_t key; /* of its name and place */
    uintptr_t descriptor;
    int searched;
    uint64_t later; /* bytes of its names, which are many; 0: not known, or searched */
};
static struct known_images {
    size_t n;
    struct known row[MODULES];
} tables[2], *now = &tables[0];

/* The file that is being read. */
static struct search {
    size_t row;
    char path[4096];
    uintptr_t bias;
    uint64_t inode, names, names_bytes, symbols, symbols_bytes, at;
    uint64_t name;  /* where in the names it is */
    int begun, has; /* has: `name` is known */
} search;
static uint64_t total;

size_t jit_descriptors(uintptr_t at[JIT_DESCRIPTORS])
{
    size_t count = 0;
    for (size_t i = 0; i < now->n && count < JIT_DESCRIPTORS; i++)
        if (now->row[i].descriptor)
            at[count++] = now->row[i].descriptor;
    return count;
}

static uint64_t loaded_image_key(const struct dl_phdr_info *info)
{
    return trace_hash(info->dlpi_name, strlen(info->dlpi_name), info->dlpi_addr | 1);
}

/* They come in the same order as the last time, but for those that came and went. */
static const struct known *loaded_image_known(uint64_t key, size_t near)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct known *k = &now->row[(near + i) % now->n];
        if (k->key == key)
            return k;
    }
    return NULL;
}

static int image_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct known_images *next = context;
    struct elf_dynamic d;
    (void)bytes;
    if (next->n == MODULES)
        return 1;
    struct known *k = &next->row[next->n];
    uint64_t key = loaded_image_key(info);
    const struct known *old = loaded_image_known(key, next->n++);
    *k = old ? *old : (struct known){.key = key, .searched = 1};
    if (old || (info->dlpi_name[0] && !strchr(info->dlpi_name, '/'))) /* the vdso */
        return 0;
    uintptr_t value = elf_dynamic_read(info, &d) ? elf_dynamic_find(&d, wanted) : 0;
    k->descriptor = value ? info->dlpi_addr + value : 0;
    k->searched = value != 0;
    return 0;
}

/* Finds the first image that was not searched. */
static int image_descriptor(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *s = context;
    (void)bytes;
    if (loaded_image_key(info) != now->row[s->row].key)
        return 0;
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    size_t n = strlen(path);
    s->bias = info->dlpi_addr;
    if (n < sizeof s->path)
        memcpy(s->path, path, n + 1);
    return 1;
}

static int file_contains(uint64_t offset, uint64_t bytes, const struct stat *file)
{
    return bytes <= (uint64_t)file->st_size && offset <= (uint64_t)file->st_size - bytes;
}

static int file_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return syscall(SYS_pread64, fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Finds its tables of symbols. 0: it has none, as most that are installed. */
static int search_begin(struct search *s, int fd, const struct stat *file, char *buffer)
{
    ElfW(Ehdr) e;
    const ElfW(Shdr) *section = (const void *)buffer;
    if (!file_read_at(fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_shentsize != sizeof *section || !e.e_shnum || e.e_shnum > SECTIONS_MAX ||
        !file_read_at(fd, buffer, e.e_shnum * sizeof *section, e.e_shoff))
        return 0;
    for (unsigned i = 0; i < e.e_shnum; i++) {
        const ElfW(Shdr) *t = &section[i];
        if (t->sh_type != SHT_SYMTAB || t->sh_link >= e.e_shnum)
            continue;
        const ElfW(Shdr) *n = &section[t->sh_link];
        if (!file_contains(t->sh_offset, t->sh_size, file) ||
            !file_contains(n->sh_offset, n->sh_size, file))
            return 0;
        s->symbols = t->sh_offset;
        s->symbols_bytes = t->sh_size;
        s->names = n->sh_offset;
        s->names_bytes = n->sh_size;
        s->inode = (uint64_t)file->st_ino;
        s->begun = 1;
        return 1;
    }
    return 0;
}

/* Reads one piece of the names, then of the symbols; 0: done with it. */
static int search_step(struct search *s, int fd, char *buffer)
{
    uint64_t bytes = s->has ? s->symbols_bytes : s->names_bytes, left = bytes - s->at;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    if (n < sizeof wanted || !file_read_at(fd, buffer, n, (s->has ? s->symbols : s->names) + s->at))
        return 0;
    total += n;
    if (!s->has) {
        const char *name = memmem(buffer, n, wanted, sizeof wanted);
        if (name) {
            s->has = 1;
            s->name = s->at + (uint64_t)(name - buffer);
            s->at = 0;
            return 1;
        }
        s->at += n - (sizeof wanted - 1);
        return n == PIECE;
    }
    const ElfW(Sym) *symbol = (const void *)buffer;
    size_t count = n / sizeof *symbol;
    for (size_t i = 0; i < count; i++)
        if (symbol[i].st_name == s->name && symbol[i].st_shndx != SHN_UNDEF) {
            now->row[s->row].descriptor = s->bias + symbol[i].st_value;
            return 0;
        }
    s->at += count * sizeof *symbol;
    return count && n == PIECE;
}

/* 1: an image is left, for later at least. */
static int search_is_left(void)
{
    size_t row = 0;
    while (row < now->n && now->row[row].searched)
        row++;
    return row < now->n;
}

/* 0: no image is left to search by now. */
static int next_search(struct search *s)
{
    size_t row = 0;
    while (row < now->n && (now->row[row].searched || !elf_names_are_due(now->row[row].later)))
        row++;
    if (row == now->n)
        return 0;
    memset(s, 0, sizeof *s);
    s->row = row;
    modules_hold();
    modules_each(image_descriptor, s);
    modules_release();
    return 1;
}

/* The file is opened anew each time: a program may close what it did not open. */
static void read_some(struct search *s, uint64_t end, char *buffer)
{
    struct stat file;
    int more = 0, fd = *s->path ? raw_open(s->path, O_RDONLY | O_NONBLOCK) : -1;
    if (fd >= 0 && !fstat(fd, &file) && S_ISREG(file.st_mode)) {
        more = s->begun ? s->inode == (uint64_t)file.st_ino : search_begin(s, fd, &file, buffer);
        if (more && !elf_names_are_due(s->names_bytes)) {
            now->row[s->row].later = s->names_bytes;
            s->row = MODULES;
        }
        while (more && s->row < MODULES && total < READ_MOST) {
            more = search_step(s, fd, buffer);
            if (trace_now() > end)
                break;
        }
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (s->row < MODULES && (!more || total >= READ_MOST)) {
        now->row[s->row].searched = 1;
        s->row = MODULES;
    }
}

void jit_descriptors_poll(struct capture_thread *ours)
{
    static uint32_t seen;
    static int busy, told;
    uint64_t end = trace_now() + LOOK_NS;
    uint32_t generation = modules_generation();
    if (generation != seen) {
        struct known_images *next = now == &tables[0] ? &tables[1] : &tables[0];
        next->n = 0;
        modules_hold();
        modules_each(image_visit, next);
        modules_release();
        now = next;
        seen = generation;
        busy = 1;
        search.row = MODULES; /* begins again: another may be at its place in the table */
    }
    char *buffer = busy && modules_outside ? raw_map(PIECE, 0) : NULL;
    while (buffer && trace_now() < end) {
        if ((search.row >= now->n) && !next_search(&search)) {
            busy = search_is_left();
            break;
        }
        read_some(&search, end, buffer);
    }
    if (buffer)
        raw_unmap(buffer, PIECE);
    if (total >= READ_MOST && !told++)
        capture_note(ours, 0, "jit.search",
                     "libraries with symbol tables of more than 512 MiB were not searched for "
                     "code that is made at run time");
}
