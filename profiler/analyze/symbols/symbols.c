/* Finds the module of an address of a process, and the frames there. Names each address once, and
 * closes files when memory runs short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/array.h"
#include "profiler/analyze/symbols/code_image.h"
#include "profiler/analyze/symbols/demangle.h"
#include "profiler/analyze/symbols/jit.h"
#include "profiler/analyze/symbols/spans.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "profiler/analyze/symbols/symbols.h"

enum {
    OPEN_FILES = 256, /* descriptors */
    FRAMES = 64,      /* of one address */
    TEXT = 4096       /* of a file name */
};

struct module_map {            /* of a process */
    struct spans files, codes; /* codes: images of code that it made */
    struct jit *jit;           /* NULL: none is described */
};
struct module_file { /* a file, once per build id; or an image of code that was made at run time */
    const char *path;
    const char *code_file; /* where such an image lies, NULL: it is a file; its path is "[jit]" */
    uint64_t code_offset, code_bytes;
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
    VECTOR(struct module_map) processes;
    VECTOR(struct module_file) images;
    VECTOR(struct chain) chains;
    VECTOR(struct symbol_frame) frames;
    VECTOR(const char *) names;           /* readable, by symbols_name the linked one */
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
    for (size_t i = 0; i < s->images.count; i++)
        symbol_file_close(s->images.items[i].file);
    for (size_t i = 0; i < s->processes.count; i++) {
        spans_free(&s->processes.items[i].files);
        spans_free(&s->processes.items[i].codes);
        jit_free(s->processes.items[i].jit);
    }
    table_free(&s->process_of);
    table_free(&s->image_of);
    table_free(&s->chain_of);
    table_free(&s->name_of);
    vector_free(&s->processes);
    vector_free(&s->images);
    vector_free(&s->chains);
    vector_free(&s->frames);
    vector_free(&s->names);
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
    TRY(vector_room(&s->images, s->images.count + 1));
    struct module_file new = {.path = arena_text(s->texts, path), .build_id_bytes = bytes};
    FAIL_IF(!new.path, ERR_MEMORY, "no memory for module names");
    if (bytes)
        memcpy(new.build_id, id, (size_t)bytes);
    *image = (uint32_t)s->images.count;
    TRY(table_put(&s->image_of, key, *image));
    s->images.items[s->images.count++] = new;
    return ERR_OK;
}

static enum err find_process(struct symbols *s, int32_t pid, struct module_map **out)
{
    uint32_t at = table_get(&s->process_of, (uint32_t)pid);
    if (at == TABLE_NONE) {
        TRY(vector_room(&s->processes, s->processes.count + 1));
        at = (uint32_t)s->processes.count;
        TRY(table_put(&s->process_of, (uint32_t)pid, at));
        s->processes.count++;
    }
    *out = &s->processes.items[at];
    return ERR_OK;
}

static enum err jit_of(struct symbols *s, int32_t pid, struct jit **out)
{
    struct module_map *p;
    TRY(find_process(s, pid, &p));
    if (!p->jit)
        TRY(jit_create(s->texts, &p->jit));
    *out = p->jit;
    return ERR_OK;
}

enum err symbols_jit_map(struct symbols *s, int32_t pid, const char *text, size_t bytes,
                         const struct jit_mark *marks, size_t count)
{
    struct jit *j;
    TRY(jit_of(s, pid, &j));
    return jit_read_map(j, text, bytes, marks, count);
}

enum err symbols_jit_dump(struct symbols *s, int32_t pid, const void *bytes, size_t n,
                          uint32_t real_pid)
{
    struct jit *j;
    TRY(jit_of(s, pid, &j));
    return jit_read_dump(j, bytes, n, real_pid);
}

enum err symbols_module(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                        uint64_t end, uint64_t bias, const char *path, const void *build_id,
                        int build_id_bytes)
{
    struct module_map *p;
    struct module_span span = {
        .start = start, .end = end, .bias = bias, .from = time_ns, .until = UINT64_MAX};
    if (end <= start || !path || !*path)
        return ERR_OK;
    if (!build_id || build_id_bytes < 0 || build_id_bytes > 64)
        build_id_bytes = 0;
    TRY(find_image(s, path, build_id, build_id_bytes, &span.image));
    TRY(find_process(s, pid, &p));
    return spans_add(&p->files, span);
}

enum err symbols_module_gone(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                             uint64_t end)
{
    struct module_map *p;
    TRY(find_process(s, pid, &p));
    return spans_end(&p->files, start, end, time_ns);
}

static void *code_read(const struct module_file *image)
{
    size_t n = (size_t)image->code_bytes;
    void *bytes = jit_file_part(image->code_file, image->code_offset, n);
    if (bytes && !code_image_place(bytes, n)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

enum err symbols_jit_code(struct symbols *s, int32_t pid, uint64_t from_ns, uint64_t until_ns,
                          const char *file, uint64_t offset, uint64_t n)
{
    enum { RANGES = 256 };
    struct code_range found[RANGES];
    struct module_map *p;
    uint32_t image = (uint32_t)s->images.count;
    TRY(find_process(s, pid, &p));
    TRY(vector_add(&s->images, ((struct module_file){.path = "[jit]",
                                                     .code_file = arena_text(s->texts, file),
                                                     .code_offset = offset,
                                                     .code_bytes = n})));
    FAIL_IF(!s->images.items[image].code_file, ERR_MEMORY, "no memory for generated code");
    void *bytes = code_read(&s->images.items[image]);
    size_t count = bytes ? code_image_ranges(bytes, (size_t)n, found, RANGES) : 0;
    free(bytes);
    enum err e = ERR_OK;
    for (size_t i = 0; i < count && !e; i++) {
        struct module_span span = {.start = found[i].start,
                                   .end = found[i].end,
                                   .from = from_ns,
                                   .until = until_ns,
                                   .image = image};
        e = spans_add(&p->codes, span);
        if (!e && until_ns != UINT64_MAX)
            e = spans_end(&p->codes, span.start, span.end, until_ns);
    }
    return e;
}

static void close_oldest(struct symbols *s)
{
    struct module_file *oldest = NULL;
    for (size_t i = 0; i < s->images.count; i++)
        if (s->images.items[i].file && (!oldest || s->images.items[i].used < oldest->used))
            oldest = &s->images.items[i];
    if (oldest) {
        symbol_file_close(oldest->file);
        oldest->file = NULL;
        s->memory -= oldest->memory;
        oldest->memory = 0;
        s->open--;
    }
}

/* Its file, opened, or opened again; NULL when it cannot be had. */
static struct symbol_file *symbols_file(struct symbols *s, struct module_file *image)
{
    if (!image->file && (!image->asked || image->facts.state == SYMBOL_FILE_FOUND)) {
        if (s->open >= OPEN_FILES)
            close_oldest(s);
        image->asked = 1;
        void *code = image->code_file ? code_read(image) : NULL;
        enum err e = code ? symbol_file_open_code(code, (size_t)image->code_bytes, &image->file)
                     : image->code_file
                         ? ERR_INPUT
                         : symbol_file_open(image->path, image->build_id, image->build_id_bytes,
                                            &image->file, &image->facts);
        if (!e && image->file)
            s->open++;
        else if (image->code_file)
            image->facts.state = SYMBOL_FILE_MISSING;
    }
    image->used = ++s->clock;
    return image->file;
}

static const char *symbols_readable(struct symbols *s, const char *linked)
{
    if (!linked || !*linked)
        return NULL;
    uint64_t key = table_hash(linked, strlen(linked));
    uint32_t at = table_get(&s->name_of, key);
    if (at != TABLE_NONE)
        return s->names.items[at];
    size_t n = strcspn(linked, "@"); /* memcpy@@GLIBC_2.14 */
    char *plain = n ? strndup(linked, n) : strdup(linked), *name = plain ? demangle(plain) : NULL;
    const char *text = name ? arena_text(s->texts, name) : NULL;
    free(plain);
    free(name);
    if (vector_room(&s->names, s->names.count + 1) == ERR_OK &&
        table_put(&s->name_of, key, (uint32_t)s->names.count) == ERR_OK)
        s->names.items[s->names.count++] = text;
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

/* numba tells its versions of a function apart by ABI tags: "loop[abi:v1][abi:c8tJTI](long)". */
static const char *without_tags(struct symbols *s, const char *name)
{
    char text[TEXT];
    size_t n = 0;
    if (!name || !strstr(name, "[abi:") || strlen(name) >= sizeof text)
        return name;
    for (const char *p = name; *p;) {
        const char *end = strncmp(p, "[abi:", 5) ? NULL : strchr(p, ']');
        if (!end)
            text[n++] = *p++;
        else
            p = end + 1;
    }
    return arena_text_n(s->texts, text, n);
}

static const char *symbols_name(struct symbols *s, uint32_t image, const char *linked)
{
    const char *name = symbols_readable(s, linked);
    return s->images.items[image].code_file ? without_tags(s, name) : name;
}

static const struct chain *symbols_find(struct symbols *s, uint32_t image, uint64_t address)
{
    uint64_t key = table_mix(image, address);
    uint32_t at = table_get(&s->chain_of, key);
    if (at != TABLE_NONE)
        return &s->chains.items[at];
    struct file_frame found[FRAMES];
    struct symbol_file *file = symbols_file(s, &s->images.items[image]);
    int n = file ? symbol_file_at(file, address, found, FRAMES) : 0;
    if (file) {
        s->memory += symbol_file_memory(file) - s->images.items[image].memory;
        s->images.items[image].memory = symbol_file_memory(file);
        while (s->memory > s->memory_limit && s->open > 1) /* this one is the newest */
            close_oldest(s);
    }
    if (vector_room(&s->frames, s->frames.count + FRAMES) ||
        vector_room(&s->chains, s->chains.count + 1) ||
        table_put(&s->chain_of, key, (uint32_t)s->chains.count))
        return NULL;
    struct chain *chain = &s->chains.items[s->chains.count++];
    *chain = (struct chain){(uint32_t)s->frames.count, n ? (uint32_t)n : 1};
    struct symbol_frame *frame = &s->frames.items[s->frames.count];
    *frame = (struct symbol_frame){.module = s->images.items[image].path};
    for (int i = 0; i < n; i++)
        frame[i] = (struct symbol_frame){.function = symbols_name(s, image, found[i].function),
                                         .file = clean_path(s, found[i].folder, found[i].file),
                                         .module = s->images.items[image].path,
                                         .line = found[i].line > 0 ? found[i].line : 0,
                                         .function_line = found[i].function_line,
                                         .inlined = i + 1 < n};
    s->frames.count += chain->count;
    return chain;
}

int symbols_at(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t address, int exact,
               struct symbol_frame *out, int max)
{
    uint32_t process = table_get(&s->process_of, (uint32_t)pid);
    address -= exact || !address ? 0 : 1;
    struct module_map *p = process != TABLE_NONE ? &s->processes.items[process] : NULL;
    const struct module_span *span = p ? spans_at(&p->files, time_ns, address) : NULL;
    const char *module = span ? s->images.items[span->image].path : NULL;
    if (p && !span) /* code outside of all modules was made at run time */
        span = spans_at(&p->codes, time_ns, address);
    const struct chain *chain = span ? symbols_find(s, span->image, address - span->bias) : NULL;
    if (!module && !(chain && s->frames.items[chain->first].function)) {
        struct jit_place at;
        *out = (struct symbol_frame){.module = p && address >> 12 ? "[jit]" : "[unknown]"};
        if (p && p->jit && jit_find(p->jit, time_ns, address, &at)) {
            out->function =
                strncmp(at.function, "_Z", 2) ? at.function : symbols_readable(s, at.function);
            out->file = at.file;
            out->line = at.line;
            out->function_line = at.function_line;
        }
        return 1;
    }
    if (!chain) {
        *out = (struct symbol_frame){.module = module};
        return 1;
    }
    int n = (int)chain->count < max ? (int)chain->count : max;
    memcpy(out, &s->frames.items[chain->first], (size_t)n * sizeof *out);
    return n;
}

struct symbols_quality symbols_quality(const struct symbols *s)
{
    struct symbols_quality q = {0};
    for (size_t i = 0; s && i < s->images.count; i++) {
        const struct module_file *image = &s->images.items[i];
        const struct symbol_facts *facts = &image->facts;
        if (!image->asked || image->code_file)
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
