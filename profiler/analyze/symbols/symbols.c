#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/memory.h"
#include "host/base/arena.h"
#include "profiler/analyze/symbols/demangle.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "profiler/analyze/symbols/symbols.h"
#include "host/base/table.h"

enum {
    OPEN_FILES = 256, /* descriptors */
    FRAMES = 64,      /* of one address */
    TEXT = 4096       /* of a file name */
};

struct span { /* a module in a process; sorted by start */
    uint64_t start, end, bias, from;
    uint64_t reach; /* largest end up to here */
    uint32_t image;
};
struct process {
    struct span *spans;
    size_t count, room;
};
struct image { /* a file, once per build id */
    const char *path;
    uint8_t build_id[64];
    int build_id_bytes;
    int asked; /* symbol_file_open was called */
    struct symbol_facts facts;
    struct symbol_file *file; /* NULL: cannot be had, or closed for now */
    uint64_t used, memory;
};
struct chain { /* frames of an address */
    uint32_t first, count;
};

struct symbols {
    struct arena *texts;
    struct table process_of, image_of, chain_of, name_of;
    struct process *processes;
    struct image *images;
    struct chain *chains;
    struct symbol_frame *frames;
    const char **names; /* readable, by name_of the linked one */
    size_t process_count, process_room, image_count, image_room, chain_count, chain_room;
    size_t frame_count, frame_room, name_count, name_room;
    uint64_t clock, memory, memory_limit; /* of the open files */
    int open;
};

enum err symbols_create(struct symbols **out)
{
    struct symbols *s = calloc(1, sizeof *s);
    *out = s;
    FAIL_IF(!s, ERR_MEMORY, "no memory for symbols");
    s->memory_limit = mem_available() / 4;
    enum err e = arena_create(&s->texts);
    if (e) {
        symbols_free(s);
        *out = NULL;
    }
    return e;
}

void symbols_free(struct symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->image_count; i++)
        symbol_file_close(s->images[i].file);
    for (size_t i = 0; i < s->process_count; i++)
        free(s->processes[i].spans);
    table_free(&s->process_of);
    table_free(&s->image_of);
    table_free(&s->chain_of);
    table_free(&s->name_of);
    free(s->processes);
    free(s->images);
    free(s->chains);
    free(s->frames);
    free(s->names);
    arena_free(s->texts);
    free(s);
}

static enum err find_image(struct symbols *s, const char *path, const void *id, int bytes,
                           uint32_t *image)
{
    uint64_t key = bytes ? table_hash(id, (size_t)bytes) : ~table_hash(path, strlen(path));
    *image = table_get(&s->image_of, key);
    if (*image != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(&s->images, &s->image_room, s->image_count + 1, sizeof *s->images));
    struct image new = {.path = arena_text(s->texts, path), .build_id_bytes = bytes};
    FAIL_IF(!new.path, ERR_MEMORY, "no memory for module names");
    if (bytes)
        memcpy(new.build_id, id, (size_t)bytes);
    *image = (uint32_t)s->image_count;
    TRY(table_put(&s->image_of, key, *image));
    s->images[s->image_count++] = new;
    return ERR_OK;
}

static enum err find_process(struct symbols *s, int32_t pid, struct process **out)
{
    uint32_t at = table_get(&s->process_of, (uint32_t)pid);
    if (at == TABLE_NONE) {
        TRY(array_room(&s->processes, &s->process_room, s->process_count + 1,
                       sizeof *s->processes));
        at = (uint32_t)s->process_count;
        TRY(table_put(&s->process_of, (uint32_t)pid, at));
        s->process_count++;
    }
    *out = &s->processes[at];
    return ERR_OK;
}

/* Index of the first span that starts above `address`. */
static size_t above(const struct process *p, uint64_t address)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->spans[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum err symbols_module(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                        uint64_t end, uint64_t bias, const char *path, const void *build_id,
                        int build_id_bytes)
{
    struct process *p;
    struct span span = {.start = start, .end = end, .bias = bias, .from = time_ns};
    if (end <= start || !path || !*path)
        return ERR_OK;
    if (!build_id || build_id_bytes < 0 || build_id_bytes > 64)
        build_id_bytes = 0;
    TRY(find_image(s, path, build_id, build_id_bytes, &span.image));
    TRY(find_process(s, pid, &p));
    TRY(array_room(&p->spans, &p->room, p->count + 1, sizeof *p->spans));
    size_t at = above(p, start);
    memmove(&p->spans[at + 1], &p->spans[at], (p->count - at) * sizeof span);
    p->spans[at] = span;
    p->count++;
    for (uint64_t reach = at ? p->spans[at - 1].reach : 0; at < p->count; at++) {
        reach = reach > p->spans[at].end ? reach : p->spans[at].end;
        p->spans[at].reach = reach;
    }
    return ERR_OK;
}

/* The newest of those that were there at the time; else the oldest, whose record came late. */
static const struct span *span_at(const struct process *p, uint64_t time_ns, uint64_t address)
{
    const struct span *best = NULL;
    for (size_t i = above(p, address); i-- && p->spans[i].reach > address;) {
        const struct span *span = &p->spans[i];
        if (address >= span->end)
            continue;
        int there = span->from <= time_ns, best_there = best && best->from <= time_ns;
        if (!best || (there ? !best_there || span->from > best->from
                            : !best_there && span->from < best->from))
            best = span;
    }
    return best;
}

static void close_oldest(struct symbols *s)
{
    struct image *oldest = NULL;
    for (size_t i = 0; i < s->image_count; i++)
        if (s->images[i].file && (!oldest || s->images[i].used < oldest->used))
            oldest = &s->images[i];
    if (oldest) {
        symbol_file_close(oldest->file);
        oldest->file = NULL;
        s->memory -= oldest->memory;
        oldest->memory = 0;
        s->open--;
    }
}

/* Its file, opened, or opened again; NULL when it cannot be had. */
static struct symbol_file *file_of(struct symbols *s, struct image *image)
{
    if (!image->file && (!image->asked || image->facts.state == SYMBOL_FILE_FOUND)) {
        if (s->open >= OPEN_FILES)
            close_oldest(s);
        image->asked = 1;
        if (symbol_file_open(image->path, image->build_id, image->build_id_bytes, &image->file,
                             &image->facts) == ERR_OK &&
            image->file)
            s->open++;
    }
    image->used = ++s->clock;
    return image->file;
}

static const char *readable(struct symbols *s, const char *linked)
{
    if (!linked || !*linked)
        return NULL;
    uint64_t key = table_hash(linked, strlen(linked));
    uint32_t at = table_get(&s->name_of, key);
    if (at != TABLE_NONE)
        return s->names[at];
    size_t n = strcspn(linked, "@"); /* memcpy@@GLIBC_2.14 */
    char *plain = n ? strndup(linked, n) : strdup(linked), *name = plain ? demangle(plain) : NULL;
    const char *text = name ? arena_text(s->texts, name) : NULL;
    free(plain);
    free(name);
    if (array_room(&s->names, &s->name_room, s->name_count + 1, sizeof *s->names) == ERR_OK &&
        table_put(&s->name_of, key, (uint32_t)s->name_count) == ERR_OK)
        s->names[s->name_count++] = text;
    return text;
}

/* `file` in `folder` (may be NULL), without //, /./ and /a/../ */
static const char *clean_path(struct symbols *s, const char *folder, const char *file)
{
    char path[TEXT], clean[TEXT];
    size_t n = 0;
    if (!file || !*file)
        return NULL;
    int in_folder = *file != '/' && folder && *folder;
    int all =
        snprintf(path, sizeof path, "%s%s%s", in_folder ? folder : "", in_folder ? "/" : "", file);
    if (all >= TEXT)
        return arena_text(s->texts, file);
    for (const char *p = path; *p;) {
        size_t length = strcspn(p, "/");
        if (length == 2 && !strncmp(p, "..", 2) && n > 1 && clean[n - 1] == '/' &&
            !(n >= 3 && !strncmp(clean + n - 3, "../", 3))) {
            for (n--; n && clean[n - 1] != '/'; n--)
                ;
        } else if (length && !(length == 1 && *p == '.')) {
            memcpy(clean + n, p, length);
            n += length;
            if (p[length])
                clean[n++] = '/';
        } else if (p == path && !length) {
            clean[n++] = '/';
        }
        p += length + (p[length] == '/');
    }
    return arena_text_n(s->texts, clean, n);
}

static const struct chain *look_up(struct symbols *s, uint32_t image, uint64_t address)
{
    uint64_t key = table_mix(image, address);
    uint32_t at = table_get(&s->chain_of, key);
    if (at != TABLE_NONE)
        return &s->chains[at];
    struct file_frame found[FRAMES];
    struct symbol_file *file = file_of(s, &s->images[image]);
    int n = file ? symbol_file_at(file, address, found, FRAMES) : 0;
    if (file) {
        s->memory += symbol_file_memory(file) - s->images[image].memory;
        s->images[image].memory = symbol_file_memory(file);
        while (s->memory > s->memory_limit && s->open > 1) /* this one is the newest */
            close_oldest(s);
    }
    if (array_room(&s->frames, &s->frame_room, s->frame_count + FRAMES, sizeof *s->frames) ||
        array_room(&s->chains, &s->chain_room, s->chain_count + 1, sizeof *s->chains) ||
        table_put(&s->chain_of, key, (uint32_t)s->chain_count))
        return NULL;
    struct chain *chain = &s->chains[s->chain_count++];
    *chain = (struct chain){(uint32_t)s->frame_count, n ? (uint32_t)n : 1};
    struct symbol_frame *frame = &s->frames[s->frame_count];
    *frame = (struct symbol_frame){.module = s->images[image].path};
    for (int i = 0; i < n; i++)
        frame[i] = (struct symbol_frame){.function = readable(s, found[i].function),
                                         .file = clean_path(s, found[i].folder, found[i].file),
                                         .module = s->images[image].path,
                                         .line = found[i].line > 0 ? found[i].line : 0,
                                         .function_line = found[i].function_line,
                                         .inlined = i + 1 < n};
    s->frame_count += chain->count;
    return chain;
}

int symbols_at(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t address, int exact,
               struct symbol_frame *out, int max)
{
    uint32_t process = table_get(&s->process_of, (uint32_t)pid);
    address -= exact || !address ? 0 : 1;
    const struct span *span = NULL;
    if (process != TABLE_NONE)
        span = span_at(&s->processes[process], time_ns, address);
    const struct chain *chain = NULL;
    if (span)
        chain = look_up(s, span->image, address - span->bias);
    if (!chain) { /* code outside of all modules was made at run time */
        const char *module = process != TABLE_NONE && address >> 12 ? "[jit]" : "[unknown]";
        *out = (struct symbol_frame){.module = span ? s->images[span->image].path : module};
        return 1;
    }
    int n = (int)chain->count < max ? (int)chain->count : max;
    memcpy(out, &s->frames[chain->first], (size_t)n * sizeof *out);
    return n;
}

struct symbols_quality symbols_quality(const struct symbols *s)
{
    struct symbols_quality q = {0};
    for (size_t i = 0; i < s->image_count; i++) {
        const struct image *image = &s->images[i];
        const struct symbol_facts *facts = &image->facts;
        if (!image->asked)
            continue;
        q.modules++;
        q.missing_files += facts->state == SYMBOL_FILE_MISSING;
        q.changed_files += facts->state == SYMBOL_FILE_CHANGED;
        if (facts->state != SYMBOL_FILE_FOUND)
            continue;
        q.no_symbols += !facts->symbols;
        q.no_lines += !facts->lines;
        q.unverified += !image->build_id_bytes;
    }
    return q;
}
