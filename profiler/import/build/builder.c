/* Adds what a source reads, each thing once: processes, threads, frames, stacks, and their
 * costs. */
#include <string.h>

#include "base/arena.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/stack_tree.h"
#include "profiler/analyze/build/build.h"
#include "profiler/import/build/builder.h"
#include "profiler/trace/secrets.h"

enum index_kind { INDEX_PROCESS = 1, INDEX_THREAD };

static uint64_t index_key(enum index_kind kind, uint64_t a, uint64_t b)
{
    return table_mix(table_mix(kind, a), table_mix(b, 3));
}

#define WORDS_BYTES 4096 /* of a name; more is cut, as of any text of a capture */

/* Returns a name of a process or thread as it is kept: some tools put the command line into it. */
static const char *name_masked(struct builder *b, const char *name)
{
    char words[WORDS_BYTES], kept[WORDS_BYTES];
    const size_t n = name ? strnlen(name, sizeof words - 1) : 0;
    if (!n || !memchr(name, ' ', n))
        return name;
    memcpy(words, name, n);
    words[n] = 0;
    for (size_t i = 0; i < n; i++)
        words[i] = words[i] == ' ' ? 0 : words[i];
    size_t used = secrets_mask_words(words, n + 1, kept, sizeof kept);
    for (size_t i = 0; i < used; i++)
        kept[i] = kept[i] == '\n' ? ' ' : kept[i];
    return arena_text_n(b->run->m->arena, kept, used);
}

enum err builder_process(struct builder *b, int64_t pid, const char *program, int32_t *out)
{
    struct run *r = b->run;
    uint64_t key = index_key(INDEX_PROCESS, (uint64_t)pid, 0);
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
        r->processes.items[at].program = path_shown(r, name_masked(b, program));
    *out = (int32_t)at;
    return ERR_OK;
}

enum err builder_thread(struct builder *b, int32_t process, int64_t tid, const char *name,
                        int32_t *out)
{
    struct run *r = b->run;
    uint64_t key = index_key(INDEX_THREAD, (uint64_t)process, (uint64_t)tid);
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
        r->threads.items[at].name = name_masked(b, name);
    *out = (int32_t)at;
    return ERR_OK;
}

static enum err call_add(struct builder *b, int32_t parent, const struct model_frame *f,
                         int32_t *out)
{
    struct run *r = b->run;
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
    if (r->frames.count > b->frames.count)
        TRY(vector_add(&b->frames, *f));
    if (node == b->nodes.count) {
        const int32_t thread = parent >= 0 ? b->nodes.items[parent].thread : f->thread;
        TRY(vector_add(&b->nodes, (struct import_node){.thread = thread, .kernel = -1}));
    }
    *out = (int32_t)node;
    return ERR_OK;
}

enum err builder_call(struct builder *b, int32_t parent, const struct model_frame *f, int32_t *out)
{
    if (parent < -1) {
        const struct model_frame root = {
            .line = MODEL_UNKNOWN, .kind = "thread", .thread = IMPORT_ROOT(parent)};
        TRY(call_add(b, -1, &root, &parent));
    }
    *out = parent;
    return f ? call_add(b, parent, f, out) : ERR_OK;
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
