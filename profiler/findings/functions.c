/* Walks over the tree of stacks: a function's inclusive time is that of its outermost frames. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/functions.h"

#define MUCH 0.01 /* of the CPU time */
enum { NONE = -1 };
enum { RANK_MUCH, RANK_OWN, RANK_REST };

struct edge { /* time of `callee` in calls from `caller`; NONE: the start of a thread */
    int callee, caller;
    double s;
};
struct function_walk {
    const struct model *m;
    int *of;                   /* function of each frame */
    int *child, *next;         /* of each node: its first child, its next sibling */
    int *open;                 /* of each function: frames of it on the path */
    int *at;                   /* of each node: the node of the function whose self time it is */
    char *python;              /* of each node: 1 at and below a Python frame */
    double *below;             /* of each node: seconds in it and below */
    struct function_row *rows; /* by function */
    struct edge *edges;
    size_t count, edges_count;
};

static const char *path_tail(const char *path)
{
    return path ? base_name(path) : "";
}

static const char *frame_place(const struct model_frame *f)
{
    return f->file ? f->file : f->module ? f->module : "";
}

static int frame_order(const void *x, const void *y)
{
    const struct model_frame *a = *(const struct model_frame *const *)x,
                             *b = *(const struct model_frame *const *)y;
    int order = strcmp(a->function ? a->function : "", b->function ? b->function : "");
    return order ? order : strcmp(path_tail(frame_place(a)), path_tail(frame_place(b)));
}

/* Those with much time of their own by it, then own code by what it holds, then the rest. */
static int row_by_rank(const void *x, const void *y)
{
    const struct function_row *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    double of_a = a->rank == RANK_OWN ? a->incl_s : a->self_s;
    double of_b = b->rank == RANK_OWN ? b->incl_s : b->self_s;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->place, b->place);
}

ARRAY_ORDER(by_pair, struct edge, COMPARE(x->callee, y->callee) ?: COMPARE(x->caller, y->caller));

static int by_path(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The files of own code, sorted. NULL: no memory. */
static const char **own_files(const struct model *m, size_t *count)
{
    const char **paths = calloc((size_t)m->files_count + 1, sizeof *paths);
    *count = 0;
    for (int i = 0; paths && i < m->files_count; i++)
        if (m->files[i].user && m->files[i].path)
            paths[(*count)++] = m->files[i].path;
    if (paths)
        array_sort(paths, *count, sizeof *paths, by_path);
    return paths;
}

static enum err walk_number_functions(struct function_walk *w)
{
    size_t n = (size_t)w->m->frames_count, files;
    const char **own = own_files(w->m, &files);
    const struct model_frame **order = calloc(n + 1, sizeof *order);
    for (size_t i = 0; order && i < n; i++)
        order[i] = &w->m->frames[i];
    if (own && order)
        array_sort(order, n, sizeof *order, frame_order);
    for (size_t i = 0; own && order && i < n; i++) {
        const struct model_frame *f = order[i];
        if (!i || frame_order(&order[i - 1], &order[i]))
            w->rows[w->count++] =
                (struct function_row){.name = f->function ? f->function : "[unknown]",
                                      .place = path_tail(frame_place(f))};
        struct function_row *row = &w->rows[w->count - 1];
        row->own |= f->file && files && bsearch(&f->file, own, files, sizeof *own, by_path);
        w->of[f - w->m->frames] = (int)w->count - 1;
    }
    enum err e = own && order ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the functions of the run");
    free(own);
    free(order);
    return e;
}

static int walk_function(const struct function_walk *w, int node)
{
    return node < 0 ? NONE : w->of[w->m->stacks[node].frame];
}

/* libpython3.11.so.1.0, python3.11 */
static int is_interpreter(const struct model_frame *f)
{
    const char *module = path_tail(f->module);
    return f->kind && strcmp(f->kind, "python") &&
           (!strncmp(module, "libpython", 9) || !strncmp(module, "python", 6));
}

/* Not the thread's own node, nor time without a stack ([start-up]). What the interpreter does for a
 * Python function is that function. */
static int is_function(const struct model_frame *f, int under_python)
{
    return !(f->kind && !strcmp(f->kind, "thread")) && !(f->function && *f->function == '[') &&
           !(under_python && is_interpreter(f));
}

static void find_functions(struct function_walk *w)
{
    for (int i = 0; i < w->m->stacks_count; i++) {
        const struct model_stack *s = &w->m->stacks[i];
        int known = s->frame >= 0 && s->frame < w->m->frames_count;
        int parent = s->parent < i ? s->parent : NONE;
        const struct model_frame *f = known ? &w->m->frames[s->frame] : NULL;
        int under = parent >= 0 && w->python[parent];
        w->python[i] = (char)(under || (f && f->kind && !strcmp(f->kind, "python")));
        w->at[i] = f && is_function(f, under) ? i : parent >= 0 ? w->at[parent] : NONE;
    }
}

/* Links children to their parents, which come before them, and adds up the time below. */
static void link_nodes(struct function_walk *w, int *root)
{
    const struct model_stack *s = w->m->stacks;
    *root = NONE;
    for (int i = 0; i < w->m->stacks_count; i++)
        w->child[i] = w->next[i] = NONE;
    for (int i = w->m->stacks_count - 1; i >= 0; i--) {
        int parent = s[i].parent < i ? s[i].parent : NONE;
        int *first = parent >= 0 ? &w->child[parent] : root;
        w->below[i] += s[i].cpu_ns > 0 ? 1e-9 * (double)s[i].cpu_ns : 0;
        w->next[i] = *first;
        *first = i;
        if (parent >= 0)
            w->below[parent] += w->below[i];
    }
}

static void walk_enter(struct function_walk *w, int node)
{
    int64_t ns = w->m->stacks[node].cpu_ns;
    int f = walk_function(w, w->at[node]);
    if (f != NONE && ns > 0)
        w->rows[f].self_s += 1e-9 * (double)ns;
    if (w->at[node] != node || w->open[f]++ || !(w->below[node] > 0))
        return;
    int parent = w->m->stacks[node].parent < node ? w->m->stacks[node].parent : NONE;
    int caller = parent >= 0 ? walk_function(w, w->at[parent]) : NONE;
    w->rows[f].incl_s += w->below[node];
    w->edges[w->edges_count++] = (struct edge){f, caller, w->below[node]};
}

static void walk_leave(struct function_walk *w, int node)
{
    if (w->at[node] == node)
        w->open[walk_function(w, node)]--;
}

/* Depth first, without recursion: stacks are deeper than this program's own. */
static void walk_visit(struct function_walk *w, int node)
{
    while (node >= 0) {
        walk_enter(w, node);
        if (w->child[node] >= 0) {
            node = w->child[node];
            continue;
        }
        walk_leave(w, node);
        while (node >= 0 && w->next[node] < 0) {
            int parent = w->m->stacks[node].parent;
            node = parent < node ? parent : NONE;
            if (node >= 0)
                walk_leave(w, node);
        }
        node = node >= 0 ? w->next[node] : NONE;
    }
}

/* Adds the largest edges of each function. */
static void add_callers(struct function_walk *w)
{
    size_t kept = 0;
    array_sort(w->edges, w->edges_count, sizeof *w->edges, by_pair);
    for (size_t i = 0; i < w->edges_count; i++)
        if (kept && !by_pair(&w->edges[kept - 1], &w->edges[i]))
            w->edges[kept - 1].s += w->edges[i].s;
        else
            w->edges[kept++] = w->edges[i];
    for (size_t i = 0; i < kept; i++) {
        struct function_row *row = &w->rows[w->edges[i].callee];
        if (w->edges[i].caller == NONE)
            continue;
        double share = w->edges[i].s / row->incl_s;
        int at = row->callers_count;
        while (at > 0 && row->callers[at - 1].share < share)
            at--;
        if (at == FUNCTION_CALLERS)
            continue;
        row->callers_count += row->callers_count < FUNCTION_CALLERS;
        int last = row->callers_count - 1;
        memmove(&row->callers[at + 1], &row->callers[at],
                (size_t)(last - at) * sizeof row->callers[0]);
        row->callers[at].name = w->rows[w->edges[i].caller].name;
        row->callers[at].share = share;
    }
}

static enum err walk_fill(struct function_walk *w)
{
    int root;
    TRY(walk_number_functions(w));
    find_functions(w);
    link_nodes(w, &root);
    walk_visit(w, root);
    add_callers(w);
    return ERR_OK;
}

enum err functions_find(const struct model *m, struct function_row **rows, size_t *count)
{
    size_t nodes = (size_t)m->stacks_count + 1, frames = (size_t)m->frames_count + 1, kept = 0;
    struct function_walk w = {.m = m,
                              .of = calloc(frames, sizeof(int)),
                              .child = calloc(nodes, sizeof(int)),
                              .next = calloc(nodes, sizeof(int)),
                              .open = calloc(frames, sizeof(int)),
                              .at = calloc(nodes, sizeof(int)),
                              .python = calloc(nodes, 1),
                              .below = calloc(nodes, sizeof(double)),
                              .rows = calloc(frames, sizeof(struct function_row)),
                              .edges = calloc(nodes, sizeof(struct edge))};
    int whole =
        w.of && w.child && w.next && w.open && w.at && w.python && w.below && w.rows && w.edges;
    enum err e = whole ? walk_fill(&w) : FAIL(ERR_MEMORY, "no memory for the functions of the run");
    *rows = NULL;
    *count = 0;
    double all = 0;
    for (size_t i = 0; !e && i < w.count; i++)
        all += w.rows[i].self_s;
    for (size_t i = 0; !e && i < w.count; i++) {
        struct function_row row = w.rows[i];
        row.rank = row.self_s >= MUCH * all ? RANK_MUCH : row.own ? RANK_OWN : RANK_REST;
        if (row.self_s > 0 || (row.own && row.incl_s > 0))
            w.rows[kept++] = row;
    }
    if (!e) {
        array_sort(w.rows, kept, sizeof *w.rows, row_by_rank);
        *rows = w.rows;
        *count = kept;
    } else {
        free(w.rows);
    }
    free(w.of);
    free(w.child);
    free(w.next);
    free(w.open);
    free(w.at);
    free(w.python);
    free(w.below);
    free(w.edges);
    return e;
}

int summary_waits(const struct model *m)
{
    const struct model_totals *t = &m->totals;
    double ready = isfinite(t->wait.runnable) ? t->wait.runnable : 0;
    return !(t->gpu_sum_s > 0) && t->cpu.user + t->cpu.sys + ready < 0.5 * m->meta.wall_s;
}

int summary_lacks_lines(const struct model *m)
{
    return m->quality.unattributed_cpu_share > 0.5 && m->stacks_count > 0;
}
