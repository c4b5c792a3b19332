/* Follows the images that come and go after the start without the loader's lock. The loader adds an
 * image to its list before it is relocated, and drops it where one that it needs is missing; once
 * _dl_find_object knows it, it stays until it is closed. That may be at any moment, also by calls
 * that have no hook (iconv's, dlclose by dlsym of the C library): so each read goes through the
 * kernel, and counts where the image is still there after it. */
#include <elf.h>
#include <string.h>

#include "profiler/capture/core/unwind/later.h"
#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"

enum { IMAGES = 1024, HEADERS = 64, NAME_BYTES = 4096, ROOM = 1 << 20, TURNS = 100 };

struct later_image {
    const struct link_map *map;
    void *dynamic, *start;
    const char *name; /* the loader's */
    struct dl_phdr_info info;
};

/* Program headers and names lie in `room` one after the other, as the images do. */
static struct later_table {
    struct later_image image[IMAGES];
    char room[ROOM], name_now[NAME_BYTES];
} * table;
static size_t count, used;
int (*later_find_object)(void *, struct found_object *);

void later_forget(void)
{
    count = used = 0;
}

size_t later_count(void)
{
    return count;
}

struct dl_phdr_info *later_info(size_t i)
{
    return &table->image[i].info;
}

int image_read(uintptr_t at, void *to, size_t bytes)
{
    if (one_thread_hands_off())
        return safe_read(at, to, bytes);
    memcpy(to, (const void *)at, bytes);
    return 1;
}

static int is_whole(const struct link_map *map, void *dynamic, struct found_object *o)
{
    return !later_find_object(dynamic, o) && o->map == map;
}

/* Another image may have come to the same place, and its entry of the list too. */
static int is_there(const struct later_image *image)
{
    const size_t bytes = strlen(image->info.dlpi_name) + 1;
    struct found_object o;
    struct link_map map;
    return is_whole(image->map, image->dynamic, &o) && o.start == image->start &&
           safe_read2((uintptr_t)image->map, &map, sizeof map, (uintptr_t)image->name,
                      table->name_now, bytes) == 2 &&
           map.l_name == image->name && !memcmp(image->info.dlpi_name, table->name_now, bytes);
}

static size_t room_name_bytes(const char *name)
{
    return (strlen(name) + 8) & ~(size_t)7;
}

/* Moves what an image has in `room` to `at`, which is not behind it. Returns what follows. */
static size_t room_move(struct dl_phdr_info *info, size_t at)
{
    const size_t headers = info->dlpi_phnum * sizeof *info->dlpi_phdr,
                 bytes = headers + room_name_bytes(info->dlpi_name);
    memmove(table->room + at, info->dlpi_phdr, bytes);
    info->dlpi_phdr = (void *)(table->room + at);
    info->dlpi_name = table->room + at + headers;
    return at + bytes;
}

/* Leaves out what went: a program may load and close its plugins without end. */
static int later_drop(void)
{
    size_t kept = 0, to = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_there(&table->image[i]))
            continue;
        table->image[kept] = table->image[i];
        to = room_move(&table->image[kept++].info, to);
    }
    const int went = kept != count;
    count = kept;
    used = to;
    return went;
}

/* Copies the program headers, which are behind the file's header at the start of the first segment;
 * 0: they are not, or not of this image. */
static int later_headers(const struct link_map *map, uintptr_t start, struct later_image *image)
{
    ElfW(Ehdr) e;
    ElfW(Phdr) *header = (void *)(table->room + used);
    if (!safe_read(start, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_phentsize != sizeof *header || e.e_phnum > HEADERS ||
        used + e.e_phnum * sizeof *header > ROOM ||
        !safe_read(start + e.e_phoff, header, e.e_phnum * sizeof *header))
        return 0;
    image->info.dlpi_phdr = header;
    image->info.dlpi_phnum = e.e_phnum;
    used += e.e_phnum * sizeof *header;
    for (unsigned i = 0; i < e.e_phnum; i++)
        if (header[i].p_type == PT_DYNAMIC)
            return map->l_addr + header[i].p_vaddr == (uintptr_t)map->l_ld;
    return 0;
}

static int later_name(const struct link_map *map, struct later_image *image)
{
    char *name = table->room + used;
    const size_t left = ROOM - used, most = left < NAME_BYTES ? left : NAME_BYTES,
                 bytes = safe_read_some((uintptr_t)map->l_name, name, most);
    const char *end = memchr(name, 0, bytes);
    image->name = map->l_name;
    image->info.dlpi_name = name;
    if (end)
        used += room_name_bytes(name);
    return end != NULL;
}

static int later_read(const struct link_map *at)
{
    struct link_map map;
    struct found_object o;
    struct later_image image = {.map = at};
    if (!safe_read((uintptr_t)at, &map, sizeof map) || !is_whole(at, map.l_ld, &o) ||
        !safe_read((uintptr_t)at, &map, sizeof map))
        return 0;
    const size_t before = used;
    const int is_read = count < IMAGES && later_headers(&map, (uintptr_t)o.start, &image) &&
                        later_name(&map, &image);
    image.dynamic = map.l_ld;
    image.start = o.start;
    image.info.dlpi_addr = map.l_addr;
    if (!is_read || !is_whole(at, map.l_ld, &o) || o.start != image.start) {
        used = before;
        return is_whole(at, map.l_ld, &o) ? -1 : 0;
    }
    table->image[count++] = image;
    return 1;
}

/* 1: it has been added; 0: it is not whole yet, or went; -1: it cannot be read, or room is missing.
 * The last is asked for in many turns before it counts: dlclose unmaps an image before
 * _dl_find_object forgets it, and may lose its CPU between the two; and another may have come to the
 * same place while it was read. */
static int later_add(const struct link_map *at)
{
    static unsigned failed;
    const int r = later_read(at);
    failed = r < 0 ? failed + 1 : 0;
    return r < 0 && failed < TURNS ? 0 : r;
}

int later_follow(const struct link_map *last)
{
    const struct link_map *next;
    int changed = later_drop(), added = 1;
    while (added > 0) {
        last = count ? table->image[count - 1].map : last;
        if (!safe_read((uintptr_t)&last->l_next, &next, sizeof next))
            return count ? changed : -1; /* one that went meanwhile: the next turn leaves it out */
        if (next && !table && !(table = raw_map(sizeof *table, 0)))
            return -1;
        added = next ? later_add(next) : 0;
        changed |= added > 0;
    }
    return added < 0 ? -1 : changed;
}
