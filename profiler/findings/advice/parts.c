/* Adds up the works of a line's nodes in the tree of own code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/advice/parts.h"

#define WHOLE   0.9 /* of the time with all lines below: these are part of the answer */
#define PACKAGE 0.5 /* of a package's time in one function: then that is named */
enum { TOLD = 3 };

struct part_sum {
    const char *kind, *what;
    double ns;
};
struct part_sums {
    VECTOR(struct part_sum) all;
};

static int part_is_of(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int node_is_at(const struct model_own *a, const struct hotspot *line)
{
    const struct model_own *b = line->at;
    if (!a->file || line->of_function)
        return part_is_of(a->function, b->function) && part_is_of(a->module, b->module) &&
               part_is_of(a->file, b->file);
    return part_is_of(a->file, b->file) && a->line == b->line;
}

/* Marks nodes at the line with 2, those below it with 1; their CPU time. */
static void nodes_mark(const struct model *m, const struct hotspot *line, char *mark,
                       double *direct, double *all)
{
    *direct = *all = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        int up = o->parent < i ? o->parent : -1, import = part_is_of(o->kind, "import");
        mark[i] = import ? 0 : node_is_at(o, line) ? 2 : up >= 0 && mark[up] ? 1 : 0;
        double ns = mark[i] && o->cpu_ns > 0 ? (double)o->cpu_ns : 0;
        *all += ns;
        *direct += mark[i] == 2 ? ns : 0;
    }
}

static enum err sum_add(struct part_sums *s, const char *kind, const char *what, double ns)
{
    for (size_t i = 0; i < s->all.count; i++)
        if (!strcmp(s->all.items[i].what, what)) {
            s->all.items[i].ns += ns;
            return ERR_OK;
        }
    return vector_add(&s->all, (struct part_sum){kind, what, ns});
}

ARRAY_ORDER(by_share, struct part_sum, COMPARE(y->ns, x->ns) ?: strcmp(x->what, y->what));

/* "scipy.ndimage.correlate1d": scipy; "f (libx)": libx; "std::vector::push_back": std. */
static size_t package_of(const char *what, const char **name)
{
    const char *open = text_ends(what, ")") ? strstr(what, " (") : NULL,
               *space = strstr(what, "::");
    *name = open ? open + 2 : what;
    return !open && space ? (size_t)(space - what) : strcspn(*name, open ? ")" : ".");
}

/* The names that C++'s and Rust's have. */
static const char *package_words(struct model *m, const char *name, size_t n)
{
    static const char *const standard[] = {"std", "core", "alloc", "__gnu_cxx"};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (strlen(standard[i]) == n && !strncmp(name, standard[i], n))
            return "the standard library";
    if (n == strlen("numpy") && !strncasecmp(name, "numpy", n))
        return "NumPy"; /* its Python files and its compiled code */
    return arena_text_n(m->arena, name, n);
}

/* Joins small functions of one package into one part. */
static enum err sums_join(struct model *m, struct part_sums *s, double all)
{
    for (size_t i = 0; i < s->all.count; i++) {
        const char *name, *other;
        size_t n = package_of(s->all.items[i].what, &name);
        if (strcmp(s->all.items[i].kind, "call"))
            continue;
        double ns = 0, most = s->all.items[i].ns;
        for (size_t k = i; k < s->all.count; k++)
            if (!strcmp(s->all.items[k].kind, "call") &&
                package_of(s->all.items[k].what, &other) == n && !strncasecmp(name, other, n))
                ns += s->all.items[k].ns;
        if (!n || ns <= most || most >= PACKAGE * ns || ns < PART_LEAST * all)
            continue;
        size_t kept = 0;
        for (size_t k = 0; k < s->all.count; k++) {
            struct part_sum *x = &s->all.items[k];
            if (k != i && !strcmp(x->kind, "call") && package_of(x->what, &other) == n &&
                !strncasecmp(name, other, n))
                continue;
            s->all.items[kept++] = *x;
            i = k == i ? kept - 1 : i;
        }
        s->all.count = kept;
        const char *package = package_words(m, name, n);
        FAIL_IF(!package, ERR_MEMORY, "no memory for the profile");
        s->all.items[i] = (struct part_sum){"call", package, ns};
    }
    return ERR_OK;
}

enum err line_parts(const struct model *m, const struct hotspot *line, struct line_parts *out)
{
    struct part_sums sums = {0};
    double direct, all;
    char *mark = calloc((size_t)m->own_count + 1, 1);
    *out = (struct line_parts){.count = 0};
    FAIL_IF(!mark, ERR_MEMORY, "no memory for the parts of a line");
    nodes_mark(m, line, mark, &direct, &all);
    int below = line->ns >= WHOLE * all;
    double whole = below ? all : direct;
    enum err e = ERR_OK;
    for (int i = 0; i < m->works_count && e == ERR_OK; i++) {
        const struct model_work *w = &m->works[i];
        int known = w->own >= 0 && w->own < m->own_count && w->kind && w->what && w->cpu_ns > 0;
        if (known && mark[w->own] >= (below ? 1 : 2))
            e = sum_add(&sums, w->kind, w->what, (double)w->cpu_ns);
    }
    free(mark);
    vector_sort(&sums.all, by_share);
    if (e == ERR_OK)
        e = sums_join((struct model *)m, &sums, whole);
    vector_sort(&sums.all, by_share);
    for (size_t i = 0; i < sums.all.count && i < PARTS_MAX && whole > 0; i++)
        out->list[out->count++] = (struct line_part){sums.all.items[i].kind, sums.all.items[i].what,
                                                     sums.all.items[i].ns / whole};
    vector_free(&sums.all);
    return e;
}

double line_parts_share(const struct line_parts *p, const char *kind)
{
    double share = 0;
    for (int i = 0; i < p->count; i++)
        share += text_begins(p->list[i].kind, kind) ? p->list[i].share : 0;
    return share;
}

void line_parts_text(const struct line_parts *p, char *out, size_t room)
{
    int told = 0, more = 0;
    *out = 0;
    for (int i = 0; i < p->count && told < TOLD && p->list[i].share >= PART_LEAST; i++) {
        const struct line_part *x = &p->list[i];
        const char *in = !strcmp(x->kind, "call") || !strcmp(x->kind, "python") ? "in " : "";
        text_append(out, room, "%s%.0f %% %s%.120s", told++ ? ", " : "", 100 * x->share, in,
                    x->what);
        more |= strcmp(x->kind, "self");
    }
    if (!more)
        *out = 0;
}
