/* Walks down the call tree of own code by functions: from a function to the one that it calls and
 * that holds nearly all of its time, and into each branch where the time divides. Then names the
 * lines of the functions at which it ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/hotspots.h"

#define NEARLY_ALL 0.8  /* of a function's time in one that it calls: it merely calls it */
#define MOSTLY     0.7  /* of it in a few branches: these are told in its place */
#define TRUISM     0.9  /* of all time below one function: everybody knows */
#define ITSELF     0.5  /* of it in the function and the libraries that it calls */
#define LEAST      0.05 /* of all time: smaller branches are not told */
#define EDGE       0.1  /* of a function's time: lines with less do not widen its range */
#define ALONE      0.7  /* of a function's time: its one line is told */
#define NEARBY     8    /* lines: a loop, which is told as a whole */
#define FLAT       0.85 /* of the time: so many lines are counted where none dominates */
enum { BRANCHES = 4, LINES = 3, NOWHERE = -1 };

struct hotspot_search {
    const struct model *m;
    int *place, *group; /* of each node: the first node of the same line, of the same function */
    const int *key;     /* one of these, by which is searched */
    double *cost;       /* of each node itself */
    double *incl;       /* of each key, for one step */
    int *depth;         /* of each key, likewise */
    int *last;          /* the node that counted last for the key: a recursive line counts once */
    struct hotspots *out;
    enum hotspots_of what;
};

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* "<lambda>", "load.<genexpr>", C++'s "operator()": a file has many of one name. */
static int is_nameless(const char *function)
{
    const char *last = function ? strrchr(function, '.') : NULL;
    last = last ? last + 1 : function;
    return last && ((*last == '<' && strcmp(last, "<module>")) || !strncmp(last, "operator()", 10));
}

static int own_by_function(const void *a, const void *b)
{
    const struct model_own *x = *(const struct model_own *const *)a,
                           *y = *(const struct model_own *const *)b;
    int order = text_order(x->file, y->file);
    order = order ? order : text_order(x->function, y->function);
    if (!order && x->line != y->line && is_nameless(x->function))
        order = x->line < y->line ? -1 : 1;
    return order || x->file ? order : text_order(x->module, y->module);
}

static int own_by_place(const void *a, const void *b)
{
    const struct model_own *x = *(const struct model_own *const *)a,
                           *y = *(const struct model_own *const *)b;
    int order = text_order(x->file, y->file);
    if (!order && x->line != y->line)
        order = x->line < y->line ? -1 : 1;
    return order || x->file ? order : own_by_function(a, b);
}

static enum err search_keys(const struct model *m, int *key,
                            int (*order)(const void *, const void *))
{
    size_t n = (size_t)m->own_count;
    const struct model_own **all = calloc(n + 1, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the hotspots");
    for (size_t i = 0; i < n; i++)
        all[i] = &m->own[i];
    array_sort(all, n, sizeof *all, order);
    for (size_t i = 0, first = 0; i < n; i++) {
        first = order(&all[first], &all[i]) ? i : first;
        key[all[i] - m->own] = (int)(all[first] - m->own);
    }
    free(all);
    return ERR_OK;
}

static int is_code(const struct model_own *o)
{
    return o->kind && !strcmp(o->kind, "code");
}

/* The nodes of `set` that have the key on their way up to `from`; their number. The way ends
 * there, as in search_largest(): where two lines call each other it gets shorter with each step
 * down. */
static int nodes_below(const struct hotspot_search *h, const int *set, int n, int key, int from,
                       int want, int *out)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int at = set[i];
        while (at >= 0 && h->key[at] != key && h->key[at] != from)
            at = h->m->own[at].parent;
        if ((at >= 0 && h->key[at] == key) == want)
            out[kept++] = set[i];
    }
    return kept;
}

static double nodes_cost(const struct hotspot_search *h, const int *set, int n)
{
    double all = 0;
    for (int i = 0; i < n; i++)
        all += h->cost[set[i]];
    return all;
}

/* The key below `from` with most of the set's time, the deepest of equals; NOWHERE: none. */
static int search_largest(struct hotspot_search *h, const int *set, int n, int from)
{
    int best = NOWHERE;
    for (int zero = 1; zero >= 0; zero--)
        for (int i = 0; i < n; i++)
            for (int at = set[i], up = 0; at >= 0 && h->key[at] != from;
                 at = h->m->own[at].parent, up++) {
                int p = h->key[at];
                if (!is_code(&h->m->own[at]))
                    continue;
                if (zero) {
                    h->incl[p] = 0;
                    h->depth[p] = up;
                    h->last[p] = NOWHERE;
                    continue;
                }
                h->incl[p] += h->last[p] == i ? 0 : h->cost[set[i]];
                h->last[p] = i;
                h->depth[p] = up < h->depth[p] ? up : h->depth[p];
            }
    for (int i = 0; i < n; i++)
        for (int at = set[i]; at >= 0 && h->key[at] != from; at = h->m->own[at].parent) {
            int p = h->key[at];
            if (is_code(&h->m->own[at]) &&
                (best == NOWHERE || h->incl[p] > h->incl[best] ||
                 (h->incl[p] >= h->incl[best] && h->depth[p] < h->depth[best])))
                best = p;
        }
    return best;
}

static void hotspot_add(struct hotspot_search *h, struct hotspot row, const int *set, int n)
{
    struct hotspots *out = h->out;
    row.ns = nodes_cost(h, set, n);
    for (int i = 0; i < n; i++) {
        const struct model_own *o = &h->m->own[set[i]];
        int64_t ns = h->what == HOTSPOTS_WAIT ? o->path_wait_ns : o->path_cpu_ns;
        row.path_ns += ns > 0 ? (double)ns : 0;
    }
    int at = out->count;
    while (at > 0 && out->found[at - 1].ns < row.ns)
        at--;
    if (at >= HOTSPOTS_MAX || row.ns < LEAST * out->total_ns)
        return;
    int last = out->count < HOTSPOTS_MAX ? out->count++ : HOTSPOTS_MAX - 1;
    memmove(&out->found[at + 1], &out->found[at], (size_t)(last - at) * sizeof row);
    out->found[at] = row;
}

/* A part of a set: nodes that share a key. */
struct branch {
    int key, *nodes, count;
    double ns;
};

/* Takes up to `most` branches out of the set, the largest first; their number. `nodes` has room
 * for all of the set, which keeps what is left. */
static int search_branches(struct hotspot_search *h, int *set, int *n, int from, int most,
                           int *nodes, struct branch *out)
{
    int k = 0;
    while (k < most && *n) {
        const int key = search_largest(h, set, *n, from);
        if (key == NOWHERE || !(h->incl[key] > 0))
            break;
        out[k] =
            (struct branch){key, nodes, nodes_below(h, set, *n, key, from, 1, nodes), h->incl[key]};
        *n = nodes_below(h, set, *n, key, from, 0, set);
        nodes += out[k++].count;
    }
    return k;
}

/* Everybody knows that the program runs it. */
static int is_outermost(const struct model_own *o)
{
    return !o->function || *o->function == '<' || !strcmp(o->function, "main");
}

/* The nodes above which a function is: its lines, each with what it calls. */
static int lines_of_function(struct hotspot_search *h, const int *set, int n, int function,
                             int *lines)
{
    for (int i = 0; i < n; i++) {
        int at = set[i];
        while (at >= 0 && h->group[at] != function)
            at = h->m->own[at].parent;
        lines[i] = at >= 0 ? h->place[at] : h->place[set[i]];
    }
    return n;
}

/* The node at the place of `key` that has most: two of a line may wait for different things. */
static const struct model_own *most_at(const struct hotspot_search *h, const int *set, int n,
                                       int key)
{
    int most = key;
    for (int i = 0; i < n; i++)
        if (h->place[set[i]] == key && h->cost[set[i]] > h->cost[most])
            most = set[i];
    return &h->m->own[most];
}

static int node_order(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : (x->key > y->key) - (x->key < y->key);
}

/* Names the line of a function that has most of the set's time, its few lines, or all of them
 * together. `function` NOWHERE: each node is a line. */
static enum err search_lines(struct hotspot_search *h, const int *set, int n, int function)
{
    struct branch *lines = calloc((size_t)n + 1, sizeof *lines);
    int *of = calloc((size_t)n + 1, sizeof *of), *nodes = calloc((size_t)n + 1, sizeof *nodes);
    double all = 0;
    int count = 0;
    enum err e = lines && of && nodes ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the hotspots");
    if (e == ERR_OK)
        lines_of_function(h, set, n, function, of);
    for (int i = 0; i < n && e == ERR_OK; i++) {
        h->last[of[i]] = NOWHERE;
        h->incl[of[i]] = 0;
    }
    for (int i = 0; i < n && e == ERR_OK; i++) {
        if (!is_code(&h->m->own[of[i]]))
            continue;
        if (h->last[of[i]] == NOWHERE) {
            h->last[of[i]] = count;
            lines[count++].key = of[i];
        }
        lines[h->last[of[i]]].ns += h->cost[set[i]];
        all += h->cost[set[i]];
    }
    if (e == ERR_OK)
        array_sort(lines, (size_t)count, sizeof *lines, node_order);
    const double two = count ? lines[0].ns + (count > 1 ? lines[1].ns : 0) : 0;
    const int flat = count && lines[0].ns < ITSELF * all && two < MOSTLY * all;
    struct hotspot row = {.of_function = 1, .first = MODEL_UNKNOWN, .last = MODEL_UNKNOWN};
    for (int i = 0; i < count; i++) {
        const struct model_own *o = &h->m->own[lines[i].key];
        if (lines[i].ns < EDGE * all || o->line == MODEL_UNKNOWN)
            continue;
        row.first = row.first == MODEL_UNKNOWN || o->line < row.first ? o->line : row.first;
        row.last = row.last == MODEL_UNKNOWN || o->line > row.last ? o->line : row.last;
    }
    const int loop = function >= 0 && row.last > row.first && row.last - row.first <= NEARBY &&
                     !is_outermost(&h->m->own[function]);
    const int told = function >= 0 && count && lines[0].ns < ALONE * all &&
                     (loop || (flat && all < TRUISM * h->out->total_ns));
    row.of_function = told;
    h->out->flat |= flat && !told && all >= ITSELF * h->out->total_ns;
    for (int k = 0; k < count && k < (told ? 1 : LINES); k++) {
        int kept = 0;
        for (int i = 0; i < n; i++)
            if (told || of[i] == lines[k].key)
                nodes[kept++] = set[i];
        row.at = most_at(h, set, n, lines[k].key);
        hotspot_add(h, row, nodes, kept);
    }
    free(lines);
    free(of);
    free(nodes);
    return e;
}

static enum err search_expand(struct hotspot_search *h, int *set, int n, int from);

/* The key of the innermost code that a node belongs to: workers have none. */
static int node_key(const struct hotspot_search *h, int node)
{
    while (node >= 0 && !is_code(&h->m->own[node]))
        node = h->m->own[node].parent;
    return node >= 0 ? h->key[node] : NOWHERE;
}

/* Tells `from`, or the branches below it. `set` is used up. */
static enum err search_divide(struct hotspot_search *h, int *set, int n, int from)
{
    struct branch branches[BRANCHES];
    double all = nodes_cost(h, set, n), of_branches = 0, direct = 0;
    int *nodes = calloc((size_t)n + 1, sizeof *nodes),
        *whole = calloc((size_t)n + 1, sizeof *whole);
    enum err e = nodes && whole ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the hotspots");
    int k = 0, left = n;
    if (e == ERR_OK) {
        memcpy(whole, set, (size_t)n * sizeof *set);
        k = search_branches(h, set, &left, from, BRANCHES, nodes, branches);
    }
    for (int i = 0; i < n && e == ERR_OK; i++)
        direct += from >= 0 && node_key(h, whole[i]) == from ? h->cost[whole[i]] : 0;
    for (int i = 0; i < k; i++)
        of_branches += branches[i].ns;
    const double total = h->out->total_ns;
    const int truism = from < 0 || all >= TRUISM * total;
    const int worth = of_branches + (truism ? direct : 0) >= MOSTLY * all;
    const int itself = direct >= ITSELF * all && !(truism && of_branches > 2 * LEAST * total);
    if (e == ERR_OK && (itself || !k || !worth)) {
        e = search_lines(h, whole, n, worth || !truism || itself ? from : NOWHERE);
        k = 0;
    } else if (e == ERR_OK && direct > 2 * LEAST * total) {
        int own = 0;
        for (int i = 0; i < n; i++)
            if (node_key(h, whole[i]) == from)
                whole[own++] = whole[i];
        e = search_lines(h, whole, own, from);
    }
    for (int i = 0; i < k && e == ERR_OK; i++)
        if (branches[i].ns >= LEAST * total)
            e = search_expand(h, branches[i].nodes, branches[i].count, branches[i].key);
    free(nodes);
    free(whole);
    return e;
}

static enum err search_expand(struct hotspot_search *h, int *set, int n, int from)
{
    for (;;) {
        int next = search_largest(h, set, n, from);
        if (next == NOWHERE || h->incl[next] < NEARLY_ALL * nodes_cost(h, set, n))
            break;
        n = nodes_below(h, set, n, next, from, 1, set);
        from = next;
    }
    return search_divide(h, set, n, from);
}

/* Counts the lines of a profile without hotspots: so few as share most of it. */
static enum err search_flat(struct hotspot_search *h)
{
    size_t n = (size_t)h->m->own_count;
    struct branch *lines = calloc(n + 1, sizeof *lines);
    FAIL_IF(!lines, ERR_MEMORY, "no memory for the hotspots");
    for (size_t i = 0; i < n; i++) {
        lines[i].key = (int)i;
        lines[h->place[i]].ns += is_code(&h->m->own[i]) ? h->cost[i] : 0;
    }
    array_sort(lines, n, sizeof *lines, node_order);
    h->out->largest = (struct hotspot){.at = &h->m->own[lines[0].key], .ns = lines[0].ns};
    for (size_t i = 0; i < n && h->out->shared_ns < FLAT * h->out->total_ns && lines[i].ns > 0;
         i++) {
        h->out->shared_ns += lines[i].ns;
        h->out->lines++;
    }
    free(lines);
    return ERR_OK;
}

static double own_cost(const struct model_own *o, enum hotspots_of what)
{
    const int64_t ns[HOTSPOTS_KINDS] = {
        [HOTSPOTS_CPU] = o->cpu_ns, [HOTSPOTS_GPU] = o->gpu_ns, [HOTSPOTS_WAIT] = o->path_wait_ns};
    int import = o->kind && !strcmp(o->kind, "import");
    int idle = what == HOTSPOTS_WAIT && o->waits_for && !strcmp(o->waits_for, "requests");
    int of_worker = what == HOTSPOTS_WAIT && o->kind && !strcmp(o->kind, "workers");
    return ns[what] > 0 && !import && !idle && !of_worker ? (double)ns[what] : 0;
}

static enum err search_run(struct hotspot_search *h, int *set)
{
    size_t n = (size_t)h->m->own_count;
    int count = 0;
    FAIL_IF(!set || !h->place || !h->group || !h->depth || !h->last || !h->cost || !h->incl,
            ERR_MEMORY, "no memory for the hotspots");
    TRY(search_keys(h->m, h->place, own_by_place));
    TRY(search_keys(h->m, h->group, own_by_function));
    for (size_t i = 0; i < n; i++) {
        h->cost[i] = own_cost(&h->m->own[i], h->what);
        h->out->total_ns += h->cost[i];
        if (h->cost[i] > 0)
            set[count++] = (int)i;
    }
    h->key = h->group;
    if (count)
        TRY(search_expand(h, set, count, NOWHERE));
    return h->out->flat ? search_flat(h) : ERR_OK;
}

enum err hotspots_find(const struct model *m, enum hotspots_of what, struct hotspots *out)
{
    size_t n = (size_t)m->own_count + 1;
    int *set = calloc(n, sizeof *set);
    struct hotspot_search h = {.m = m, .out = out, .what = what};
    h.place = calloc(n, sizeof *h.place);
    h.group = calloc(n, sizeof *h.group);
    h.depth = calloc(n, sizeof *h.depth);
    h.last = calloc(n, sizeof *h.last);
    h.cost = calloc(n, sizeof *h.cost);
    h.incl = calloc(n, sizeof *h.incl);
    *out = (struct hotspots){.count = 0};
    enum err e = search_run(&h, set);
    free(set);
    free(h.place);
    free(h.group);
    free(h.depth);
    free(h.last);
    free(h.cost);
    free(h.incl);
    return e;
}

const struct model_file *hotspots_file(const struct model *m, const char *path)
{
    for (int i = 0; i < m->files_count && path; i++)
        if (!strcmp(m->files[i].path, path))
            return &m->files[i];
    return NULL;
}

const struct model_line *own_line_of(const struct model *m, const char *path, int64_t line)
{
    const struct model_file *f = hotspots_file(m, path);
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line == line)
            return &f->lines[i];
    return NULL;
}

void own_place(const struct model_own *at, char out[300])
{
    const char *slash = at->module ? strrchr(at->module, '/') : NULL;
    char name[NAME_TEXT];
    if (at->file)
        snprintf(out, 300, "%.200s:%lld", at->file, (long long)at->line);
    else if (at->function && (!at->module || own_made_at_run_time(at)))
        snprintf(out, 300, "%s", name_text(at->function, name));
    else
        snprintf(out, 300, "%s (%.60s)",
                 at->function ? name_text(at->function, name) : "unknown code",
                 slash        ? slash + 1
                 : at->module ? at->module
                              : "no module");
}

void own_place_and_text(const struct model *m, const struct model_own *at, char out[400])
{
    const struct model_line *line = own_line_of(m, at->file, at->line);
    const char *text = line && line->text ? line->text : "";
    char where[300];
    own_place(at, where);
    text += strspn(text, " \t");
    size_t n = strlen(text), room = 50;
    while (n > room && (text[room] & 0xC0) == 0x80)
        room--;
    if (*text)
        snprintf(out, 400, "%s `%.*s%s`", where, (int)(n > room ? room : n), text,
                 n > room ? "..." : "");
    else
        snprintf(out, 400, "%s", where);
}

void hotspot_name(const struct hotspot *s, char out[400])
{
    char place[300];
    const char *f = s->at->function;
    own_place(s->at, place);
    if (!s->of_function || !f || *f == '<' || !s->at->file) {
        snprintf(out, 400, "%s", place);
        return;
    }
    char name[NAME_TEXT];
    (void)name_text(f, name);
    char *inner = strstr(name, ".<");
    if (inner)
        *inner = 0;
    int n = snprintf(out, 400, "%s%s (", name, strchr(name, '(') ? "" : "()");
    if (s->last > s->first)
        snprintf(out + n, 400 - (size_t)n, "%.200s:%lld to %lld)", s->at->file, (long long)s->first,
                 (long long)s->last);
    else
        snprintf(out + n, 400 - (size_t)n, "%s)", place);
}
