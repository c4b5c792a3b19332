/* The ELF images of the process, by its list of mappings. Their unwind tables are read at the same
 * addresses in this process, where the files are mapped again, read-only: the unwinder is the one
 * of the capture library, to which the tables are plain memory. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/python.h"
#include "profiler/outside/process.h"

enum { IMAGES = 4096, HEADERS = 32, LINE = 4608, ID = 64 };
#define COPY_MOST ((size_t)64 << 20) /* of a file that is gone: from the memory of the process */
#define PAGE      ((uintptr_t)4096)

struct mapped_image {
    struct module m; /* its tables at the same place in this process, else none */
    unsigned long inode;
    size_t id_bytes;
    uint8_t id[ID];
    char path[1024];
    ElfW(Phdr) headers[HEADERS];
    int header_count;
    int mapped, seen;
};
static struct mapped_image *images[IMAGES];
static size_t image_count;
static int has_python;

/* Program headers of the image that begins at `start`: what the loader mapped, and where. */
static int read_headers(struct mapped_image *im, uintptr_t start)
{
    ElfW(Ehdr) e;
    uintptr_t low = UINTPTR_MAX, high = 0;
    if (!safe_read(start, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_phentsize != sizeof(ElfW(Phdr)) || !e.e_phnum || e.e_phnum > HEADERS ||
        (e.e_type != ET_DYN && e.e_type != ET_EXEC) ||
        !safe_read(start + e.e_phoff, im->headers, e.e_phnum * sizeof *im->headers))
        return 0;
    im->header_count = e.e_phnum;
    for (int i = 0; i < im->header_count; i++) {
        const ElfW(Phdr) *p = &im->headers[i];
        if (p->p_type != PT_LOAD)
            continue;
        low = p->p_vaddr < low ? p->p_vaddr : low;
        high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
    }
    if (low >= high)
        return 0;
    im->m.bias = start - low / PAGE * PAGE;
    im->m.start = im->m.bias + low;
    im->m.end = im->m.bias + high;
    return 1;
}

static void read_id(struct mapped_image *im)
{
    uint8_t notes[1024];
    for (int i = 0; i < im->header_count && !im->id_bytes; i++) {
        const ElfW(Phdr) *p = &im->headers[i];
        size_t n = p->p_type == PT_NOTE ? p->p_memsz : 0, align = p->p_align == 8 ? 8 : 4;
        n = n < sizeof notes ? n : sizeof notes;
        if (!n || !safe_read(im->m.bias + p->p_vaddr, notes, n))
            continue;
        for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= n;) {
            ElfW(Nhdr) h;
            memcpy(&h, notes + at, sizeof h);
            size_t name = at + sizeof h, text = name + (h.n_namesz + align - 1) / align * align;
            if (h.n_namesz > n || h.n_descsz > n || text > n || h.n_descsz > n - text)
                break;
            if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz <= ID &&
                !memcmp(notes + name, ELF_NOTE_GNU, 4)) {
                im->id_bytes = h.n_descsz;
                memcpy(im->id, notes + text, h.n_descsz);
                break;
            }
            at = text + (h.n_descsz + align - 1) / align * align;
        }
    }
}

static int image_open(pid_t pid, const struct mapped_image *im, struct stat *st)
{
    char path[PROCESS_PATH + sizeof im->path];
    process_path(path, pid, "root"); /* its own view: it may be in a container */
    strcat(path, im->path);
    int fd = im->path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_ino != im->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void map_segment(const struct mapped_image *im, const ElfW(Phdr) * p, int fd,
                        off_t file_bytes)
{
    uintptr_t start = (im->m.bias + p->p_vaddr) / PAGE * PAGE,
              end = im->m.bias + p->p_vaddr + p->p_filesz;
    off_t offset = (off_t)(p->p_offset / PAGE * PAGE);
    if (fd >= 0 && (off_t)(p->p_offset + p->p_filesz) <= file_bytes) {
        (void)mmap((void *)start, end - start, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, offset);
    } else if (end - start <= COPY_MOST &&
               mprotect((void *)start, (end - start + PAGE - 1) / PAGE * PAGE,
                        PROT_READ | PROT_WRITE) == 0) {
        (void)safe_read_some(start, (void *)start, end - start);
    }
}

/* The whole range is taken first, so that no table leads to what is not there. Where this process
 * has something at that place, the image is unwound by frame pointers. */
static void map_tables(struct mapped_image *im, int fd, off_t file_bytes)
{
    uintptr_t start = im->m.start / PAGE * PAGE, end = (im->m.end + PAGE - 1) / PAGE * PAGE;
    void *at = mmap((void *)start, end - start, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED)
        return;
    if (at != (void *)start) { /* kernels before 4.17 */
        munmap(at, end - start);
        return;
    }
    im->mapped = 1;
    for (int i = 0; i < im->header_count; i++) {
        const ElfW(Phdr) *p = &im->headers[i];
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
            map_segment(im, p, fd, file_bytes);
        if (p->p_type == PT_GNU_EH_FRAME)
            im->m.eh_frame_hdr = im->m.bias + p->p_vaddr;
    }
}

static void find_python(struct capture_thread *t, const struct mapped_image *im, int is_program,
                        int fd, off_t file_bytes)
{
    struct python_symbols s = {0};
    const char *name = strrchr(im->path, '/');
    if (has_python || fd < 0 || (!is_program && !strstr(name ? name : "", "python")))
        return;
    void *file = mmap(NULL, (size_t)file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return;
    python_search_file(&s, file, (size_t)file_bytes, im->m.bias, 1);
    munmap(file, (size_t)file_bytes);
    has_python = python_use(t, &s);
}

static void put_module(struct capture_thread *t, const struct mapped_image *im, uint16_t kind,
                       uint64_t time_ns)
{
    size_t path_bytes = kind == TRACE_MODULE ? strlen(im->path) : 0,
           id_bytes = kind == TRACE_MODULE ? im->id_bytes : 0;
    struct trace_module r = {.r = {.kind = kind, .time_ns = time_ns},
                             .start = im->m.start,
                             .end = im->m.end,
                             .bias = im->m.bias,
                             .path_bytes = (uint16_t)path_bytes,
                             .build_id_bytes = (uint16_t)id_bytes};
    trace_put2(&t->stream, &r.r, sizeof r, im->path, path_bytes, im->id, id_bytes);
}

static void image_add(struct capture_thread *t, pid_t pid, const struct mapped_image *found)
{
    struct stat st = {0};
    struct mapped_image *im = image_count < IMAGES ? malloc(sizeof *im) : NULL;
    if (!im)
        return;
    *im = *found;
    im->seen = 1;
    int fd = image_open(pid, im, &st);
    read_id(im);
    map_tables(im, fd, st.st_size);
    put_module(t, im, TRACE_MODULE, 0);
    find_python(t, im, image_count == 0, fd, st.st_size);
    if (fd >= 0)
        close(fd);
    images[image_count++] = im;
}

static void image_drop(struct mapped_image *im)
{
    uintptr_t start = im->m.start / PAGE * PAGE;
    if (im->mapped)
        munmap((void *)start, (im->m.end + PAGE - 1) / PAGE * PAGE - start);
    free(im);
}

/* A line of the list of mappings that begins an image: "start-end perms offset dev inode path". */
static int read_line(char *line, struct mapped_image *im)
{
    uintptr_t start;
    unsigned long offset;
    int at = 0;
    *im = (struct mapped_image){0};
    if (sscanf(line, "%lx-%*x %*4c %lx %*s %lu %n", &start, &offset, &im->inode, &at) < 3 || !at ||
        offset)
        return 0;
    line[strcspn(line, "\n")] = 0;
    char *deleted = strstr(line + at, " (deleted)");
    if (deleted)
        *deleted = 0;
    if (line[at] != '/' && strcmp(line + at, "[vdso]"))
        return 0;
    int n = snprintf(im->path, sizeof im->path, "%s", line + at);
    return n < (int)sizeof im->path && read_headers(im, start);
}

static struct mapped_image *image_find(const struct mapped_image *found)
{
    for (size_t i = 0; i < image_count; i++)
        if (images[i]->m.start == found->m.start && images[i]->m.end == found->m.end &&
            images[i]->inode == found->inode && !strcmp(images[i]->path, found->path))
            return images[i];
    return NULL;
}

ARRAY_ORDER(by_start, struct module, COMPARE(x->start, y->start));

static void images_publish(int gone)
{
    static struct module list[IMAGES];
    for (size_t i = 0; i < image_count; i++)
        list[i] = images[i]->m;
    qsort(list, image_count, sizeof *list, by_start);
    (void)modules_set(list, image_count, gone);
}

static int drop_unseen(struct capture_thread *t, uint64_t begin)
{
    size_t kept = 0, before = image_count;
    for (size_t i = 0; i < before; i++) {
        if (images[i]->seen) {
            images[kept++] = images[i];
            continue;
        }
        put_module(t, images[i], TRACE_MODULE_GONE, begin);
        image_drop(images[i]);
    }
    image_count = kept;
    return kept < before;
}

void images_refresh(struct capture_thread *t, pid_t pid)
{
    static struct mapped_image found[1];
    char path[PROCESS_PATH], line[LINE];
    uint64_t begin = trace_now();
    int lines = 0;
    process_path(path, pid, "maps");
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    for (size_t i = 0; i < image_count; i++)
        images[i]->seen = 0;
    /* Two passes: what took the place of another is mapped here when that one is gone. */
    for (int pass = 0; pass < 2; pass++) {
        size_t had = image_count;
        rewind(f);
        for (lines = 0; fgets(line, sizeof line, f); lines++) {
            if (!read_line(line, found))
                continue;
            struct mapped_image *im = image_find(found);
            if (im)
                im->seen = 1;
            else if (pass)
                image_add(t, pid, found);
        }
        int gone = !pass && lines ? drop_unseen(t, begin) : 0;
        if (gone || image_count != had)
            images_publish(gone);
    }
    fclose(f);
}

void images_forget(void)
{
    while (image_count)
        image_drop(images[--image_count]);
}
