/* Frames and nodes of the tree of stacks: each is there once. */
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/stack_tree.h"

static enum err frame_of(struct run *r, const struct tree_frame *f, uint32_t *index)
{
    uint64_t key = table_mix((uintptr_t)f->function, (uintptr_t)f->file);
    key = table_mix(table_mix(key, (uintptr_t)f->module), (uintptr_t)f->kind);
    key = table_mix(key, (uint64_t)(uint32_t)f->line << 32 | (uint32_t)f->thread);
    *index = table_get(&r->frame_by_key, key);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->frames.count;
    TRY(vector_add(&r->frames, *f));
    return table_put(&r->frame_by_key, key, *index);
}

enum err stack_tree_child(struct run *r, uint32_t parent, const struct tree_frame *f,
                          uint32_t *node)
{
    uint32_t frame;
    TRY(frame_of(r, f, &frame));
    uint64_t key = table_mix(((uint64_t)parent << 32) | frame, 3);
    *node = table_get(&r->node_by_key, key);
    if (*node != TABLE_NONE)
        return ERR_OK;
    *node = (uint32_t)r->nodes.count;
    TRY(vector_add(&r->nodes, (struct tree_node){.parent = parent, .frame = frame}));
    return table_put(&r->node_by_key, key, *node);
}

enum err stack_tree_root(struct run *r, const char *name, int thread, uint32_t *node)
{
    const struct tree_frame f = {
        .function = run_text(r, name), .kind = "thread", .thread = thread + 1};
    return stack_tree_child(r, TABLE_NONE, &f, node);
}

/* Source files and sites by what they are called. */

static enum err site_source(struct run *r, const char *recorded, uint32_t *index)
{
    const char *kept = run_text(r, recorded), *path = path_shown(r, recorded);
    FAIL_IF(!kept || !path, ERR_MEMORY, "no memory for the profile");
    *index = table_get(&r->source_by_path, (uintptr_t)path);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->sources.count;
    TRY(vector_add(&r->sources, (struct source){kept, path, 0, text_has_suffix(path, ".py")}));
    return table_put(&r->source_by_path, (uintptr_t)path, *index);
}

/* Finds the site of a line, or (line 0) of a function. */
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out)
{
    uint32_t file = 0, index;
    const char *name = run_text(r, function);
    TRY(site_source(r, recorded, &file));
    uint64_t key = table_mix(((uint64_t)file << 32) | (uint32_t)line, line ? 0 : (uintptr_t)name);
    index = table_get(&r->site_by_key, key);
    if (index == TABLE_NONE) {
        index = (uint32_t)r->sites.count;
        TRY(vector_add(&r->sites, (struct site){.file = file,
                                                .line = line,
                                                .begins = begins,
                                                .function = -1,
                                                .name = line ? NULL : name}));
        TRY(table_put(&r->site_by_key, key, index));
    }
    *out = (int)index;
    return ERR_OK;
}
