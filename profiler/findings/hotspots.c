/* Walks down the call tree of own code: from a line to the one below it that holds nearly all of
 * its time, and into each branch where the time divides. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/findings/hotspots.h"

#define NEARLY_ALL 0.8  /* of a line's time in one line below: the line above merely calls it */
#define MOSTLY     0.7  /* of it in a few branches: these are told in its place */
#define TRUISM     0.9  /* of all time below one line: everybody knows */
#define ITSELF     0.5  /* of it in the line and the libraries that it calls */
#define LEAST      0.05 /* of all time: smaller branches are not told */
enum { BRANCHES = 3, NOWHERE = -1 };

struct hotspot_search {
    const struct model *m;
    int *place;   /* of each node: the first node of the same line */
    double *cost; /* of each node itself */
    double *incl; /* of each place, for one step */
    int *depth;   /* of each place, likewise */
    int *last;    /* the node that counted last for the place: a recursive line counts once */
    struct hotspots *out;
    enum hotspots_of what;
};

static int text_order(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int own_by_place(const void *a, const void *b)
{
    const struct model_own *x = *(const struct model_own *const *)a,
                           *y = *(const struct model_own *const *)b;
    int order = text_order(x->file, y->file);
    if (!order && x->line != y->line)
        order = x->line < y->line ? -1 : 1;
    if (!order && !x->file)
        order = text_order(x->function, y->function);
    return order || x->file ? order : text_order(x->module, y->module);
}

static enum err search_places(struct hotspot_search *h)
{
    size_t n = (size_t)h->m->own_count;
    const struct model_own **all = calloc(n + 1, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the hotspots");
    for (size_t i = 0; i < n; i++)
        all[i] = &h->m->own[i];
    array_sort(all, n, sizeof *all, own_by_place);
    for (size_t i = 0, first = 0; i < n; i++) {
        first = own_by_place(&all[first], &all[i]) ? i : first;
        h->place[all[i] - h->m->own] = (int)(all[first] - h->m->own);
    }
    free(all);
    return ERR_OK;
}

static int is_code(const struct model_own *o)
{
    return o->kind && !strcmp(o->kind, "code");
}

/* The nodes of `set` that have the place on their way up to `from`; their number. The way ends
 * there, as in place_largest(): where two lines call each other it gets shorter with each step
 * down. */
static int nodes_below(const struct hotspot_search *h, const int *set, int n, int place, int from,
                       int want, int *out)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int at = set[i];
        while (at >= 0 && h->place[at] != place && h->place[at] != from)
            at = h->m->own[at].parent;
        if ((at >= 0 && h->place[at] == place) == want)
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

/* The place below `from` with most of the set's time, the deepest of equals; NOWHERE: none. */
static int place_largest(struct hotspot_search *h, const int *set, int n, int from)
{
    int best = NOWHERE;
    for (int zero = 1; zero >= 0; zero--)
        for (int i = 0; i < n; i++)
            for (int at = set[i], up = 0; at >= 0 && h->place[at] != from;
                 at = h->m->own[at].parent, up++) {
                int p = h->place[at];
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
        for (int at = set[i]; at >= 0 && h->place[at] != from; at = h->m->own[at].parent) {
            int p = h->place[at];
            if (is_code(&h->m->own[at]) &&
                (best == NOWHERE || h->incl[p] > h->incl[best] ||
                 (h->incl[p] >= h->incl[best] && h->depth[p] < h->depth[best])))
                best = p;
        }
    return best;
}

static void hotspot_add(struct hotspot_search *h, int place, const int *set, int n)
{
    struct hotspots *out = h->out;
    struct hotspot row = {.at = &h->m->own[place], .ns = nodes_cost(h, set, n)};
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

/* Lines of one function: its caller says more than three of its lines. */
static int places_share_function(const struct hotspot_search *h, const int *places, int n)
{
    for (int i = 1; i < n; i++) {
        const struct model_own *a = &h->m->own[places[0]], *b = &h->m->own[places[i]];
        if (text_order(a->function, b->function) || text_order(a->file, b->file))
            return 0;
    }
    return n > 1;
}

static enum err search_expand(struct hotspot_search *h, int *set, int n, int from);

/* Tells `from`, or the branches below it. `set` is used up. */
static enum err search_divide(struct hotspot_search *h, int *set, int n, int from)
{
    int places[BRANCHES], counts[BRANCHES], k = 0, left = n;
    double all = nodes_cost(h, set, n), of_branches = 0, first = 0, direct = 0;
    int *branches = calloc((size_t)n + 1, sizeof *branches), *rest = branches, *whole = NULL;
    enum err e = branches ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the hotspots");
    whole = e == ERR_OK ? calloc((size_t)n + 1, sizeof *whole) : NULL;
    if (e == ERR_OK && !whole)
        e = FAIL(ERR_MEMORY, "no memory for the hotspots");
    if (e == ERR_OK)
        memcpy(whole, set, (size_t)n * sizeof *set);
    for (int i = 0; i < n; i++)
        direct += from >= 0 && h->place[set[i]] == from ? h->cost[set[i]] : 0;
    while (e == ERR_OK && k < BRANCHES && left) {
        int place = place_largest(h, set, left, from);
        if (place == NOWHERE || !(h->incl[place] > 0))
            break;
        places[k] = place;
        first = k ? first : h->incl[place];
        of_branches += h->incl[place];
        counts[k] = nodes_below(h, set, left, place, from, 1, rest);
        rest += counts[k++];
        left = nodes_below(h, set, left, place, from, 0, set);
    }
    int truism = from < 0 || all >= TRUISM * h->out->total_ns;
    int worth = of_branches >= MOSTLY * all &&
                !(first < ITSELF * all && places_share_function(h, places, k));
    int itself = direct >= ITSELF * all && !(truism && of_branches > 2 * LEAST * h->out->total_ns);
    if (e == ERR_OK && from >= 0 && (itself || !k || !(truism || worth))) {
        hotspot_add(h, from, whole, n);
        k = 0;
    } else if (e == ERR_OK && direct > 2 * LEAST * h->out->total_ns) {
        int own = 0;
        for (int i = 0; i < n; i++)
            if (h->place[whole[i]] == from)
                whole[own++] = whole[i];
        hotspot_add(h, from, whole, own);
    }
    rest = branches;
    for (int i = 0; i < k && e == ERR_OK; rest += counts[i++])
        if (nodes_cost(h, rest, counts[i]) >= LEAST * h->out->total_ns)
            e = search_expand(h, rest, counts[i], places[i]);
    free(branches);
    free(whole);
    return e;
}

static enum err search_expand(struct hotspot_search *h, int *set, int n, int from)
{
    for (;;) {
        int next = place_largest(h, set, n, from);
        if (next == NOWHERE || h->incl[next] < NEARLY_ALL * nodes_cost(h, set, n))
            break;
        n = nodes_below(h, set, n, next, from, 1, set);
        from = next;
    }
    return search_divide(h, set, n, from);
}

static double own_cost(const struct model_own *o, enum hotspots_of what)
{
    const int64_t ns[HOTSPOTS_KINDS] = {
        [HOTSPOTS_CPU] = o->cpu_ns, [HOTSPOTS_GPU] = o->gpu_ns, [HOTSPOTS_WAIT] = o->path_wait_ns};
    int import = o->kind && !strcmp(o->kind, "import");
    int idle = what == HOTSPOTS_WAIT && o->waits_for && !strcmp(o->waits_for, "requests");
    return ns[what] > 0 && !import && !idle ? (double)ns[what] : 0;
}

enum err hotspots_find(const struct model *m, enum hotspots_of what, struct hotspots *out)
{
    size_t n = (size_t)m->own_count;
    int *set = calloc(n + 1, sizeof *set), count = 0;
    struct hotspot_search h = {.m = m, .out = out, .what = what};
    h.place = calloc(n + 1, sizeof *h.place);
    h.depth = calloc(n + 1, sizeof *h.depth);
    h.last = calloc(n + 1, sizeof *h.last);
    h.cost = calloc(n + 1, sizeof *h.cost);
    h.incl = calloc(n + 1, sizeof *h.incl);
    *out = (struct hotspots){.count = 0};
    enum err e = set && h.place && h.depth && h.last && h.cost && h.incl
                     ? search_places(&h)
                     : FAIL(ERR_MEMORY, "no memory for the hotspots");
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        h.cost[i] = own_cost(&m->own[i], what);
        out->total_ns += h.cost[i];
        if (h.cost[i] > 0)
            set[count++] = (int)i;
    }
    if (e == ERR_OK && count)
        e = search_expand(&h, set, count, NOWHERE);
    free(set);
    free(h.place);
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
    if (at->file)
        snprintf(out, 300, "%.200s:%lld", at->file, (long long)at->line);
    else if (at->function && (!at->module || own_made_at_run_time(at)))
        snprintf(out, 300, "%.200s", at->function);
    else
        snprintf(out, 300, "%.200s (%.60s)", at->function ? at->function : "unknown code",
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
