/* Costs of stacks to source lines, functions and modules. A cost belongs to the innermost frame of
 * the program's own code; where there is none, to the innermost with a source line; else to the
 * module of its leaf. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "profiler/import/build/internal.h"

/* Folders and files that are not the program's own. */
static int is_library(const char *file)
{
    static const char *const within[] = {
        "site-packages/", "dist-packages/", "/lib/python", "/usr/", "<", "/build/", "/sysdeps/"};
    static const char *const first[] = {"torch/", "jax/", "jaxlib/", "numpy/", "scipy/",
                                        "<",      "[",    "../",     "./",     "lib/python"};
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (strstr(file, within[i]))
            return 1;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!strncmp(file, first[i], strlen(first[i])))
            return 1;
    return !strncmp(file, "threading.py", 12) || !strncmp(file, "runpy.py", 8) ||
           !strncmp(file, "contextlib.py", 13);
}

static enum err row_of(struct builder *b, const char *file, int64_t line, const char *function,
                       uint32_t *at)
{
    uint64_t key = index_key(INDEX_LINE, (uintptr_t)file, (uint64_t)line, (uintptr_t)function, 0);
    *at = table_get(&b->index, key);
    if (*at != TABLE_NONE)
        return ERR_OK;
    *at = (uint32_t)b->lines.count;
    TRY(vector_add(&b->lines,
                   (struct import_line){
                       .file = file, .function = function, .line = line, .mark = TABLE_NONE}));
    return table_put(&b->index, key, *at);
}

static void add(double to[IMPORT_COSTS], const struct import_node *n)
{
    for (int k = 0; k < IMPORT_COSTS; k++)
        to[k] += (double)n->cost[k];
}

static enum err self(struct builder *b, const struct import_node *n, const struct model_frame *f)
{
    const struct model_frame *leaf = &b->frames.items[n->frame];
    uint32_t rows[2];
    TRY(row_of(b, f->file, f->line, NULL, &rows[0]));
    TRY(row_of(b, f->file, 0, f->function, &rows[1]));
    for (int i = 0; i < 2; i++) {
        struct import_line *l = &b->lines.items[rows[i]];
        add(l->self, n);
        l->samples += n->samples;
        l->native += strcmp(leaf->kind, "python") ? (double)n->cost[IMPORT_CPU] : 0;
    }
    return ERR_OK;
}

static enum err inclusive(struct builder *b, uint32_t node, const struct import_node *n)
{
    for (int32_t at = (int32_t)node; at >= 0; at = b->nodes.items[at].parent) {
        const struct model_frame *f = &b->frames.items[b->nodes.items[at].frame];
        for (int i = 0; f->file && f->line > 0 && i < 2; i++) {
            uint32_t row;
            TRY(row_of(b, f->file, i ? 0 : f->line, i ? f->function : NULL, &row));
            if (b->lines.items[row].mark != node)
                add(b->lines.items[row].incl, n);
            b->lines.items[row].mark = node;
        }
    }
    return ERR_OK;
}

static enum err to_module(struct builder *b, const struct import_node *n)
{
    const struct model_frame *f = &b->frames.items[n->frame];
    const char *name = f->module ? f->module : "[no source line]";
    uint64_t key = index_key(INDEX_MODULE, table_hash(name, strlen(name)), 0, 0, 0);
    uint32_t at = table_get(&b->index, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)b->modules.count;
        TRY(vector_add(&b->modules, (struct import_module){.name = name}));
        TRY(table_put(&b->index, key, at));
    }
    add(b->modules.items[at].self, n);
    b->modules.items[at].samples += n->samples;
    return ERR_OK;
}

enum err attribute_costs(struct builder *b)
{
    for (uint32_t i = 0; i < b->nodes.count; i++) {
        const struct import_node n = b->nodes.items[i];
        const struct model_frame *own = NULL, *any = NULL;
        int64_t sum = n.samples;
        for (int k = 0; k < IMPORT_COSTS; k++)
            sum |= n.cost[k];
        if (!sum)
            continue;
        for (int32_t at = (int32_t)i; at >= 0 && !own; at = b->nodes.items[at].parent) {
            const struct model_frame *f = &b->frames.items[b->nodes.items[at].frame];
            if (!f->file || f->line <= 0)
                continue;
            any = any ? any : f;
            own = is_library(f->file) ? NULL : f;
        }
        own = own ? own : any;
        if (own) { /* rows are made, so frames stay where they are */
            struct model_frame f = *own;
            TRY(self(b, &n, &f));
        } else
            TRY(to_module(b, &n));
        TRY(inclusive(b, i, &n));
    }
    return ERR_OK;
}

ARRAY_ORDER(by_place, struct import_line,
            strcmp(x->file, y->file) ?: COMPARE(!x->line, !y->line) ?: COMPARE(x->line, y->line)
                ?: (x->function && y->function ? strcmp(x->function, y->function) : 0));

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

static double seconds(const struct builder *b, enum import_cost kind, double ns)
{
    return b->known[kind] ? ns * 1e-9 : (double)NAN;
}

static struct model_cpu cpu_of(const struct builder *b, const double self[IMPORT_COSTS],
                               double native, int64_t samples)
{
    double all = (double)b->added[IMPORT_CPU] + (double)b->added[IMPORT_SYS];
    struct model_cpu c;
    json_blank(&record_model_cpu, &c);
    c.user = seconds(b, IMPORT_CPU, self[IMPORT_CPU]);
    c.sys = seconds(b, IMPORT_SYS, self[IMPORT_SYS]);
    c.wait = seconds(b, IMPORT_WAIT, self[IMPORT_WAIT]);
    c.native = seconds(b, IMPORT_CPU, native);
    c.python = seconds(b, IMPORT_CPU, self[IMPORT_CPU] - native);
    c.samples = samples > 0 ? samples : MODEL_UNKNOWN;
    c.share = share(self[IMPORT_CPU] + self[IMPORT_SYS], all);
    return c;
}

static struct model_incl incl_of(const struct builder *b, const double incl[IMPORT_COSTS])
{
    double all = (double)b->added[IMPORT_CPU] + (double)b->added[IMPORT_SYS];
    return (struct model_incl){seconds(b, IMPORT_CPU, incl[IMPORT_CPU]),
                               seconds(b, IMPORT_SYS, incl[IMPORT_SYS]),
                               seconds(b, IMPORT_WAIT, incl[IMPORT_WAIT]),
                               share(incl[IMPORT_CPU] + incl[IMPORT_SYS], all)};
}

/* The members that a line and a function have in common. */
#define FILL(b, l, row)                                                                            \
    do {                                                                                           \
        (row)->cpu = cpu_of(b, (l)->self, (l)->native, (l)->samples);                              \
        (row)->cpu_incl = incl_of(b, (l)->incl);                                                   \
        (row)->gpu_self_s = seconds(b, IMPORT_GPU, (l)->self[IMPORT_GPU]);                         \
        (row)->gpu_incl_s = seconds(b, IMPORT_GPU, (l)->incl[IMPORT_GPU]);                         \
        (row)->gpu.share = share((l)->self[IMPORT_GPU], (double)(b)->added[IMPORT_GPU]);           \
        if ((b)->known[IMPORT_ALLOC]) {                                                            \
            (row)->mem.alloc_mb = (l)->self[IMPORT_ALLOC] / 1048576;                               \
            (row)->mem.share = share((l)->self[IMPORT_ALLOC], (double)(b)->added[IMPORT_ALLOC]);   \
        }                                                                                          \
    } while (0)

static const char *language_of(const char *path)
{
    static const char *const known[][2] = {{".py", "python"}, {".cu", "cuda"}, {".cuh", "cuda"},
                                           {".c", "c"},       {".h", "c"},     {".cc", "c"},
                                           {".cpp", "c"},     {".hpp", "c"}};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t k = strlen(known[i][0]);
        if (n > k && !strcmp(path + n - k, known[i][0]))
            return known[i][1];
    }
    return "other";
}

static enum err file_rows(struct builder *b, struct model_file *f, const struct import_line *l,
                          size_t n)
{
    size_t lines = 0;
    while (lines < n && l[lines].line)
        lines++;
    f->path = l->file;
    f->language = language_of(f->path);
    f->user = !is_library(f->path);
    f->cpu_share = f->gpu_share = 0;
    TRY(model_list(b->m, model_line, f, lines, lines));
    TRY(model_list(b->m, model_function, f, functions, n - lines));
    for (size_t i = 0; i < lines; i++) {
        FILL(b, &l[i], &f->lines[i]);
        f->lines[i].line = l[i].line;
        f->cpu_share += f->lines[i].cpu.share;
        f->gpu_share += f->lines[i].gpu.share;
    }
    for (size_t i = lines; i < n; i++) {
        FILL(b, &l[i], &f->functions[i - lines]);
        f->functions[i - lines].name = l[i].function;
    }
    return ERR_OK;
}

static enum err module_rows(struct builder *b)
{
    TRY(model_list(b->m, model_module, b->m, unattributed, b->modules.count));
    for (size_t i = 0; i < b->modules.count; i++) {
        const struct import_module *m = &b->modules.items[i];
        struct model_module *row = &b->m->unattributed[i];
        row->module = m->name;
        row->cpu = cpu_of(b, m->self, m->self[IMPORT_CPU], m->samples);
        row->gpu_s = seconds(b, IMPORT_GPU, m->self[IMPORT_GPU]);
        row->alloc_mb = b->known[IMPORT_ALLOC] ? m->self[IMPORT_ALLOC] / 1048576 : (double)NAN;
    }
    return ERR_OK;
}

enum err rows_of_files(struct builder *b)
{
    size_t files = 0, at = 0;
    vector_sort(&b->lines, by_place);
    const struct import_line *l = b->lines.items;
    for (size_t i = 0; i < b->lines.count; i++)
        files += !i || strcmp(l[i].file, l[i - 1].file);
    TRY(model_list(b->m, model_file, b->m, files, files));
    for (size_t i = 0; i < files; i++) {
        size_t end = at + 1;
        while (end < b->lines.count && !strcmp(l[end].file, l[at].file))
            end++;
        TRY(file_rows(b, &b->m->files[i], l + at, end - at));
        at = end;
    }
    double none[IMPORT_COSTS] = {0}, native = 0;
    int64_t samples = 0;
    for (size_t i = 0; i < b->nodes.count; i++) {
        const struct import_node *n = &b->nodes.items[i];
        add(none, n);
        samples += n->samples;
        native +=
            strcmp(b->frames.items[n->frame].kind, "python") ? (double)n->cost[IMPORT_CPU] : 0;
    }
    b->m->totals.cpu = cpu_of(b, none, native, samples);
    return module_rows(b);
}
