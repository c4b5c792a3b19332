/* What a source adds, each thing once: processes, threads, frames, stacks, and their costs. */
#include <math.h>
#include <string.h>

#include "profiler/import/build/internal.h"

uint64_t index_key(enum index_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return table_mix(table_mix(table_mix(kind, a), table_mix(b, 3)), table_mix(c, d));
}

enum err builder_create(struct builder *b, const char *path)
{
    const char *slash = strrchr(path, '/');
    memset(b, 0, sizeof *b);
    TRY(model_create(&b->m));
    b->base = arena_text(b->m->arena, slash ? slash + 1 : path);
    FAIL_IF(!b->base, ERR_MEMORY, "no memory for the import");
    b->end = INT64_MIN;
    return ERR_OK;
}

static void free_rows(struct import_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dist_free(&rows[i].times);
    free(rows);
}

void builder_free(struct builder *b)
{
    free_rows(b->kernel_rows.items, b->kernel_rows.count);
    free_rows(b->transfer_rows.items, b->transfer_rows.count);
    free_rows(b->set_rows.items, b->set_rows.count);
    free_rows(b->api_rows.items, b->api_rows.count);
    free_rows(b->range_rows.items, b->range_rows.count);
    for (size_t i = 0; i < b->tracks.count; i++)
        track_free(&b->tracks.items[i].track);
    vector_free(&b->processes);
    vector_free(&b->threads);
    vector_free(&b->frames);
    vector_free(&b->nodes);
    vector_free(&b->kernels);
    vector_free(&b->transfers);
    vector_free(&b->sets);
    vector_free(&b->apis);
    vector_free(&b->ranges);
    vector_free(&b->spans);
    vector_free(&b->devices);
    vector_free(&b->tracks);
    vector_free(&b->flows.list);
    vector_free(&b->lines);
    vector_free(&b->modules);
    vector_free(&b->items);
    vector_free(&b->checks);
    vector_free(&b->facts);
    table_free(&b->index);
    model_destroy(b->m);
    memset(b, 0, sizeof *b);
}

/* Bytes of a well-formed character of UTF-8 at `s`, 0: not one. */
static size_t utf8(const unsigned char *s, size_t n)
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
        size_t length = utf8((const unsigned char *)s + i, n - i);
        if (length == 1 && (unsigned char)s[i] < ' ')
            kept[used++] = ' ';
        else if (length)
            memcpy(kept + used, s + i, length), used += length;
        else
            kept[used++] = '?';
        i += length ? length : 1;
    }
    return used ? arena_text_n(b->m->arena, kept, used) : NULL;
}

/* Absolute paths keep what tells files apart, not who owns them: the part within a library's
 * folder, else the last three names. Those of the system stay. */
const char *builder_path(struct builder *b, const char *s, size_t n)
{
    static const char *const libraries[] = {"/site-packages/", "/dist-packages/"};
    char path[TEXT_LIMIT];
    if (n >= sizeof path || !n)
        return builder_text(b, s, n);
    memcpy(path, s, n);
    path[n] = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const char *at = strstr(path, libraries[i]);
        if (at)
            return builder_text(b, at + 1, strlen(at + 1));
    }
    int windows = n > 2 && path[1] == ':';
    if ((*path != '/' && !windows) || !strncmp(path, "/usr/", 5) || !strncmp(path, "/lib", 4))
        return builder_text(b, path, n);
    const char *at = path + n;
    for (int names = 0; at > path; at--)
        if ((at[-1] == '/' || at[-1] == '\\') && ++names == 3)
            break;
    return builder_text(b, *at == '/' ? at + 1 : at, strlen(*at == '/' ? at + 1 : at));
}

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out)
{
    uint64_t key = index_key(INDEX_PROCESS, (uint64_t)pid, 0, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        struct model_process row;
        json_blank(&record_model_process, &row);
        row.pid = pid;
        at = (uint32_t)b->processes.count;
        TRY(vector_add(&b->processes, row));
        TRY(table_put(&b->index, key, at));
    }
    if (program)
        b->processes.items[at].program = program;
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out)
{
    uint64_t key = index_key(INDEX_THREAD, (uint64_t)process, (uint64_t)tid, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        struct model_thread row;
        json_blank(&record_model_thread, &row);
        row.process = process;
        row.tid = tid;
        row.main = b->processes.items[process].pid == tid;
        at = (uint32_t)b->threads.count;
        TRY(vector_add(&b->threads, row));
        TRY(table_put(&b->index, key, at));
    }
    if (name)
        b->threads.items[at].name = name;
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
    uint64_t key = index_key(INDEX_NODE, (uint64_t)(parent + 1), (uint64_t)frame, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        FAIL_IF(b->nodes.count >= 1 << 24, ERR_INPUT, "%s: more than 16 million different stacks",
                b->base);
        int32_t thread =
            parent >= 0 ? b->nodes.items[parent].thread : b->frames.items[frame].thread;
        at = (uint32_t)b->nodes.count;
        TRY(vector_add(&b->nodes,
                       (struct import_node){.parent = parent, .frame = frame, .thread = thread}));
        TRY(table_put(&b->index, key, at));
    }
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_root(struct builder *b, int32_t thread, int32_t *out)
{
    int32_t frame;
    TRY(builder_frame(
        b, &(struct model_frame){.line = MODEL_UNKNOWN, .kind = "thread", .thread = thread},
        &frame));
    return builder_node(b, -1, frame, out);
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
    return count ? vector_add(&b->items, item) : ERR_OK;
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
    for (size_t i = 0; i < b->facts.count; i++)
        if (!strcmp(b->facts.items[i].key, key))
            return ERR_OK;
    return value ? vector_add(&b->facts, (struct model_fact){key, value}) : ERR_OK;
}
