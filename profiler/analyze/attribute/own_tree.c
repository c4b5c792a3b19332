/* Nodes of the tree of own lines, by parent and line (or function where a program has no lines). */
#include <string.h>

#include "profiler/analyze/attribute/own_tree.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/site_index.h"

enum { CHAIN_MAX = 200 };

static int same_place(const struct resolved *a, const struct resolved *b)
{
    if (a->file && b->file)
        return a->file == b->file && a->line == b->line;
    return !a->file && !b->file && a->function == b->function && a->module == b->module;
}

/* 1: a frame of Python's import machinery. */
static int is_import(const struct resolved *f)
{
    static const char machinery[] = "<frozen importlib._bootstrap";
    return f->python && f->file && !strncmp(f->file, machinery, strlen(machinery));
}

static enum err own_child(struct run *r, uint32_t parent, uint64_t place, struct own_node like,
                          uint32_t *node)
{
    uint64_t key = table_mix(((uint64_t)parent << 1) + 1, place);
    *node = table_get(&r->own_by_key, key);
    if (*node != TABLE_NONE)
        return ERR_OK;
    *node = (uint32_t)r->own.count;
    like.parent = parent;
    TRY(vector_add(&r->own, like));
    return table_put(&r->own_by_key, key, *node);
}

static enum err child_of_frame(struct run *r, uint32_t parent, const struct resolved *f,
                               uint32_t *node)
{
    int site = -1;
    uint64_t place = table_mix((uintptr_t)f->function, (uintptr_t)f->module);
    if (f->file) {
        TRY(site_of(r, f->file, f->line, NULL, 0, &site));
        place = (uint64_t)site + 1;
    }
    const struct own_node like = {.kind = "code",
                                  .site = site,
                                  .name = run_text(r, f->function),
                                  .module = f->module ? path_shown(r, f->module) : NULL};
    return own_child(r, parent, place, like, node);
}

enum err own_tree_add(struct image *im, const struct resolved *frames, int count,
                      const struct costs *s, uint32_t *node)
{
    struct run *r = im->run;
    int chain[CHAIN_MAX], n = 0, importing = 0;
    for (int i = 0; i < count && n < CHAIN_MAX; i++) {
        importing |= !n && is_import(&frames[i]);
        int k = n, is_own = frames[i].owner == OWNER_OWN;
        while (is_own && k > 0 && !same_place(&frames[chain[k - 1]], &frames[i]))
            k--;
        if (is_own && !k)
            chain[n++] = i;
    }
    if (!r->own.count)
        TRY(vector_add(&r->own, (struct own_node){TABLE_NONE, .site = -1, .kind = "run"}));
    *node = 0;
    for (int i = n - 1; i >= 0; i--)
        TRY(child_of_frame(r, *node, &frames[chain[i]], node));
    if (importing)
        TRY(own_child(r, *node, 0, (struct own_node){.site = -1, .kind = "import"}, node));
    struct own_node *own = &r->own.items[*node];
    own->cpu += s->user + s->sys;
    own->samples += s->samples;
    own->wait += s->wait;
    return ERR_OK;
}
