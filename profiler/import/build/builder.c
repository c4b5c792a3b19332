/* Adds what a source reads, each thing once: processes, threads, frames, stacks, and their
 * costs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/stack_tree.h"
#include "profiler/analyze/build/build.h"
#include "profiler/import/build/builder.h"

enum index_kind { INDEX_PROCESS = 1, INDEX_THREAD, INDEX_FRAME };

/* Texts are kept once, so their addresses are keys. */
static uint64_t index_key(enum index_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return table_mix(table_mix(table_mix(kind, a), table_mix(b, 3)), table_mix(c, d));
}

enum err builder_create(struct builder *b, const char *path)
{
    static const struct analyze_options options = {.no_source =
                                                       1}; /* a capture may name any file */
    const char *slash = strrchr(path, '/');
    *b = (struct builder){
        .run = calloc(1, sizeof *b->run), .image = calloc(1, sizeof *b->image), .end = INT64_MIN};
    enum err e = b->run && b->image ? model_create(&b->run->m)
                                    : FAIL(ERR_MEMORY, "no memory for the import");
    if (e == ERR_OK) {
        b->run->options = &options;
        b->run->home = getenv("HOME");
        b->run->heap_cut = 1; /* what was released is not known */
        b->image->run = b->run;
        b->image->program.stripped = 1;
        b->base = run_text(b->run, slash ? slash + 1 : path);
        e = b->base ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the import");
    }
    if (e)
        builder_free(b);
    return e;
}

void builder_free(struct builder *b)
{
    for (size_t i = 0; b->run && i < b->run->gpu.kernels.count; i++)
        free((void *)b->run->gpu.kernels.items[i].counted);
    if (b->run)
        build_free(b->run);
    free(b->image);
    vector_free(&b->frames);
    vector_free(&b->nodes);
    vector_free(&b->checks);
    table_free(&b->index);
    table_free(&b->tracks);
    memset(b, 0, sizeof *b);
}

/* Returns the bytes of a well-formed character of UTF-8 at `s`, 0: not one. */
static size_t utf8_character(const unsigned char *s, size_t n)
{
    size_t length = *s < 0x80                 ? 1
                    : *s >= 0xC2 && *s < 0xE0 ? 2
                    : *s >= 0xE0 && *s < 0xF0 ? 3
                    : *s >= 0xF0 && *s < 0xF5 ? 4
                                              : 0;
    if (!length || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    int low = (*s == 0xE0 && s[1] < 0xA0) || (*s == 0xF0 && s[1] < 0x90);
    int high = (*s == 0xED && s[1] > 0x9F) || (*s == 0xF4 && s[1] > 0x8F);
    return low || high ? 0 : length;
}

#define TEXT_LIMIT 4096 /* longer names are truncated */

const char *builder_text(struct builder *b, const char *s, size_t n)
{
    char kept[TEXT_LIMIT];
    size_t used = 0;
    for (size_t i = 0; i < n && used + 4 < sizeof kept;) {
        size_t length = utf8_character((const unsigned char *)s + i, n - i);
        if (length == 1 && (unsigned char)s[i] < ' ')
            kept[used++] = ' ';
        else if (length)
            memcpy(kept + used, s + i, length), used += length;
        else
            kept[used++] = '?';
        i += length ? length : 1;
    }
    return used ? arena_text_n(b->run->m->arena, kept, used) : NULL;
}

/* Windows' paths keep their last three names: path_shown knows no home folders there. */
const char *builder_path(struct builder *b, const char *s, size_t n)
{
    size_t at = n;
    for (int names = 0; n > 2 && s[1] == ':' && at > 0; at--)
        if ((s[at - 1] == '/' || s[at - 1] == '\\') && ++names == 3)
            break;
    return at < n ? builder_text(b, s + at, n - at) : builder_text(b, s, n);
}

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out)
{
    struct run *r = b->run;
    uint64_t key = index_key(INDEX_PROCESS, (uint64_t)pid, 0, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        struct model_process row;
        json_blank(&record_model_process, &row);
        row.pid = pid;
        at = (uint32_t)r->processes.count;
        TRY(vector_add(&r->processes, row));
        TRY(table_put(&b->index, key, at));
    }
    if (program)
        r->processes.items[at].program = path_shown(r, program);
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out)
{
    struct run *r = b->run;
    uint64_t key = index_key(INDEX_THREAD, (uint64_t)process, (uint64_t)tid, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        struct model_thread row;
        json_blank(&record_model_thread, &row);
        row.process = process;
        row.tid = tid;
        row.main = r->processes.items[process].pid == tid;
        at = (uint32_t)r->threads.count;
        TRY(vector_add(&r->threads, row));
        TRY(table_put(&b->index, key, at));
    }
    if (name)
        r->threads.items[at].name = name;
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_frame(struct builder *b, const struct model_frame *f, int32_t *out)
{
    uint64_t key = index_key(INDEX_FRAME, (uintptr_t)f->function ^ (uint64_t)(f->thread + 1) << 52,
                             (uintptr_t)f->file, (uint64_t)f->line,
                             (uintptr_t)f->module ^ (uint64_t)(unsigned char)*f->kind << 56);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)b->frames.count;
        TRY(vector_add(&b->frames, *f));
        TRY(table_put(&b->index, key, at));
    }
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_node(struct builder *b, int32_t parent, int32_t frame, int32_t *out)
{
    struct run *r = b->run;
    const struct model_frame *f = &b->frames.items[frame];
    const struct tree_frame shown = {.function = f->function,
                                     .file = path_shown(r, f->file),
                                     .module = path_shown(r, f->module),
                                     .kind = run_text(r, f->kind),
                                     .line = f->line > 0 && f->line < INT32_MAX ? (int)f->line : 0,
                                     .thread = f->thread + 1};
    uint32_t node;
    FAIL_IF(r->nodes.count >= 1 << 24, ERR_INPUT, "%s: more than 16 million different stacks",
            b->base);
    TRY(stack_tree_child(r, parent < 0 ? TABLE_NONE : (uint32_t)parent, &shown, &node));
    if (node == b->nodes.count)
        TRY(vector_add(
            &b->nodes,
            (struct import_node){.frame = frame,
                                 .thread = parent >= 0 ? b->nodes.items[parent].thread : f->thread,
                                 .kernel = -1}));
    *out = (int32_t)node;
    return ERR_OK;
}

enum err builder_root(struct builder *b, int32_t thread, int32_t *out)
{
    return builder_call(
        b, -1, &(struct model_frame){.line = MODEL_UNKNOWN, .kind = "thread", .thread = thread},
        out);
}

enum err builder_call(struct builder *b, int32_t parent, const struct model_frame *f, int32_t *out)
{
    int32_t frame;
    TRY(builder_frame(b, f, &frame));
    return builder_node(b, parent, frame, out);
}

enum err builder_cost(struct builder *b, int32_t node, enum import_cost kind, int64_t amount,
                      int64_t samples)
{
    struct import_node *n = &b->nodes.items[node];
    FAIL_IF(amount < 0 || b->added[kind] > (1ll << 53) - amount, ERR_INPUT,
            "%s: times or amounts add up to more than 2^53 (ns or bytes): the file is damaged",
            b->base);
    n->cost[kind] += amount;
    n->samples += samples;
    b->samples += samples;
    n->cpu_square += samples ? (double)amount * (double)amount / (double)samples : 0;
    b->added[kind] += amount;
    b->known[kind] = 1;
    return ERR_OK;
}

enum err builder_note(struct builder *b, int64_t count, const char *id, const char *severity,
                      const char *text, const char *effect)
{
    struct model_item item;
    json_blank(&record_model_item, &item);
    item.id = id;
    item.severity = severity;
    item.count = count;
    item.text = text;
    item.effect = effect;
    return count ? vector_add(&b->run->q.notes, item) : ERR_OK;
}

enum err builder_check(struct builder *b, const char *id, double expected, double found,
                       double slack, const char *text)
{
    struct model_check row = {.id = id, .expected = expected, .found = found, .text = text};
    row.ok = fabs(found - expected) <= slack * fmax(fabs(expected), fabs(found)) + 1e-12;
    return vector_add(&b->checks, row);
}

enum err builder_fact(struct builder *b, const char *key, const char *value)
{
    struct run *r = b->run;
    for (size_t i = 0; i < r->facts.count; i++)
        if (!strcmp(r->facts.items[i].key, key))
            return ERR_OK;
    return value ? vector_add(&r->facts, (struct model_fact){key, value}) : ERR_OK;
}
