/* Merges calls of a page that are too small to be seen. profile.json keeps all of them. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/array.h"
#include "profiler/report/page/page_profile.h"

/* More than a screen shows: of 16,000 calls the smallest took 0.04 % of a run with MBIRJAX. */
enum { PAGE_NODES = 16000 };

static const char *const weights[] = {"cpu_ns", "wait_ns", "gpu_ns", "alloc_bytes", "peak_bytes"};
enum { WEIGHTS = sizeof weights / sizeof *weights, NO_NODE = -1, MERGED = -2 };

/* A tree of stacks in columns, parents before their children. */
struct page_tree {
    int n, *parent, *frame; /* parent: NO_NODE at the root */
    double *weight[WEIGHTS];
};

static cJSON *page_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void tree_free(struct page_tree *t)
{
    free(t->parent);
    free(t->frame);
    for (int w = 0; w < WEIGHTS; w++)
        free(t->weight[w]);
}

static enum err tree_make(struct page_tree *t, int n)
{
    int ok = (t->parent = calloc((size_t)n + 1, sizeof *t->parent)) != NULL;
    ok &= (t->frame = calloc((size_t)n + 1, sizeof *t->frame)) != NULL;
    for (int w = 0; w < WEIGHTS; w++)
        ok &= (t->weight[w] = calloc((size_t)n + 1, sizeof(double))) != NULL;
    FAIL_IF(!ok, ERR_MEMORY, "no memory for the report of %d stacks", n);
    return ERR_OK;
}

static void column_integers(const cJSON *column, int n, int *out)
{
    const cJSON *at = column ? column->child : NULL;
    for (int i = 0; i < n; i++, at = at ? at->next : NULL)
        out[i] = cJSON_IsNumber(at) ? at->valueint : NO_NODE;
}

static void column_numbers(const cJSON *column, int n, double *out)
{
    const cJSON *at = column ? column->child : NULL;
    for (int i = 0; at && i < n; i++, at = at->next)
        out[i] = cJSON_IsNumber(at) && at->valuedouble > 0 ? at->valuedouble : 0;
}

/* `valid` is 0 where the columns do not make a tree, whose parents come first. */
static enum err tree_read(const cJSON *stacks, int frames, struct page_tree *t, int *valid)
{
    t->n = cJSON_GetArraySize(page_get(stacks, "parent"));
    TRY(tree_make(t, t->n));
    column_integers(page_get(stacks, "parent"), t->n, t->parent);
    column_integers(page_get(stacks, "frame"), t->n, t->frame);
    for (int w = 0; w < WEIGHTS; w++)
        column_numbers(page_get(stacks, weights[w]), t->n, t->weight[w]);
    *valid = 1;
    for (int i = 0; i < t->n; i++)
        *valid &= t->parent[i] < i && t->frame[i] >= 0 && t->frame[i] < frames;
    return ERR_OK;
}

ARRAY_ORDER(by_share, double, COMPARE(*y, *x));

/* Sums what each node takes with its callees, as a share of a weight: the largest of them.
 * PAGE_NODES have more than `least`. */
static enum err tree_shares(const struct page_tree *t, double *share, double *least)
{
    double *below = malloc(((size_t)t->n + 1) * sizeof *below);
    FAIL_IF(!below, ERR_MEMORY, "no memory for the report of %d stacks", t->n);
    for (int w = 0; w < WEIGHTS; w++) {
        double all = 0;
        array_copy(below, t->weight[w], (size_t)t->n, sizeof *below);
        for (int i = t->n - 1; i >= 0; i--) {
            all += t->weight[w][i];
            if (t->parent[i] >= 0)
                below[t->parent[i]] += below[i];
        }
        for (int i = 0; i < t->n && all > 0; i++)
            if (below[i] / all > share[i])
                share[i] = below[i] / all;
    }
    array_copy(below, share, (size_t)t->n, sizeof *below);
    qsort(below, (size_t)t->n, sizeof *below, by_share);
    *least = below[PAGE_NODES];
    free(below);
    return ERR_OK;
}

/* Copies the nodes above `least`. The others below one of them become one node, whose frame is
 * `small`; below a root, which is a thread, they become the root's own. moved: where a node went;
 * joined: MERGED, else the node of its small callees or NO_NODE. */
static void tree_merge(const struct page_tree *t, const double *share, double least, int small,
                       struct page_tree *out, int *moved, int *joined)
{
    for (int i = 0; i < t->n; i++) {
        const int p = t->parent[i], merged = p >= 0 && share[i] <= least;
        joined[i] = merged ? MERGED : NO_NODE;
        if (merged && (joined[p] == MERGED || t->parent[p] < 0)) {
            moved[i] = moved[p];
        } else if (merged && joined[p] >= 0) {
            moved[i] = joined[p];
        } else {
            moved[i] = out->n++;
            out->parent[moved[i]] = p < 0 ? NO_NODE : moved[p];
            out->frame[moved[i]] = merged ? small : t->frame[i];
            if (merged)
                joined[p] = moved[i];
        }
        for (int w = 0; w < WEIGHTS; w++)
            out->weight[w][moved[i]] += t->weight[w][i];
    }
}

static void replace_column(cJSON *table, const char *key, const double *values, int n)
{
    if (page_get(table, key))
        cJSON_ReplaceItemInObjectCaseSensitive(table, key, cJSON_CreateDoubleArray(values, n));
}

/* Leaves out the frames that no node has, and adds `small` behind the n of before. kept: where a
 * frame went. */
static void frames_keep(cJSON *frames, const struct page_tree *t, int *kept, int n)
{
    int next = 0;
    for (int i = 0; i < t->n; i++)
        kept[t->frame[i]] = 1;
    for (int f = 0; f <= n; f++)
        kept[f] = kept[f] || f == n ? next++ : NO_NODE;
    for (cJSON *column = frames->child; column; column = column->next) {
        int f = 0, is_kind = !strcmp(column->string, "kind");
        for (cJSON *at = column->child, *after; at; at = after, f++) {
            after = at->next;
            if (f >= n || kept[f] < 0)
                cJSON_Delete(cJSON_DetachItemViaPointer(column, at));
        }
        cJSON_AddItemToArray(column, is_kind ? cJSON_CreateString("small") : cJSON_CreateNull());
    }
}

/* Events of samples and waits name nodes. */
static void events_move(cJSON *profile, const int *moved, int n)
{
    const cJSON *track;
    cJSON_ArrayForEach (track, page_get(profile, "timeline")) {
        const cJSON *kind = page_get(track, "kind"), *events = page_get(track, "events"), *what;
        if (!cJSON_IsString(kind) ||
            (strcmp(kind->valuestring, "cpu") && strcmp(kind->valuestring, "wait")))
            continue;
        what = page_get(events, "what");
        for (cJSON *at = what ? what->child : NULL; at; at = at->next)
            if (cJSON_IsNumber(at) && at->valueint >= 0 && at->valueint < n)
                cJSON_SetNumberValue(at, moved[at->valueint]);
    }
}

static enum err stacks_write(cJSON *profile, const struct page_tree *out, int frames)
{
    cJSON *stacks = page_get(profile, "stacks");
    int *kept = calloc((size_t)frames + 1, sizeof *kept);
    double *column = malloc(((size_t)out->n + 1) * sizeof *column);
    enum err e = ERR_OK;
    if (!kept || !column) {
        e = FAIL(ERR_MEMORY, "no memory for the report of %d stacks", out->n);
        goto out;
    }
    frames_keep(page_get(profile, "frames"), out, kept, frames);
    for (int i = 0; i < out->n; i++)
        column[i] = kept[out->frame[i]];
    replace_column(stacks, "frame", column, out->n);
    for (int i = 0; i < out->n; i++)
        column[i] = out->parent[i];
    replace_column(stacks, "parent", column, out->n);
    for (int w = 0; w < WEIGHTS; w++)
        replace_column(stacks, weights[w], out->weight[w], out->n);
out:
    free(kept);
    free(column);
    return e;
}

enum err page_merge_stacks(cJSON *profile)
{
    struct page_tree tree = {0}, out = {0};
    double *share = NULL, least = 0;
    int valid = 0, *moved = NULL, *joined = NULL;
    const int frames = cJSON_GetArraySize(page_get(page_get(profile, "frames"), "kind"));
    enum err e = tree_read(page_get(profile, "stacks"), frames, &tree, &valid);
    if (e != ERR_OK || !valid || tree.n <= PAGE_NODES)
        goto out;
    TRY_OUT(tree_make(&out, tree.n));
    share = calloc((size_t)tree.n, sizeof *share);
    moved = calloc((size_t)tree.n, sizeof *moved);
    joined = calloc((size_t)tree.n, sizeof *joined);
    if (!share || !moved || !joined) {
        e = FAIL(ERR_MEMORY, "no memory for the report of %d stacks", tree.n);
        goto out;
    }
    TRY_OUT(tree_shares(&tree, share, &least));
    tree_merge(&tree, share, least, frames, &out, moved, joined);
    TRY_OUT(stacks_write(profile, &out, frames));
    events_move(profile, moved, tree.n);
    cJSON *note = cJSON_AddObjectToObject(profile, "merged");
    cJSON_AddNumberToObject(note, "share", least);
    cJSON_AddNumberToObject(note, "nodes", tree.n);
out:
    tree_free(&tree);
    tree_free(&out);
    free(share);
    free(moved);
    free(joined);
    return e;
}
