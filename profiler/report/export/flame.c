/* A flame graph as SVG: functions of one name below the same caller are one box, as wide as their
 * time. Static: every box has its name and time as a title, which viewers show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/page/markup.h"
#include "base/table.h"
#include "profiler/report/export/export.h"
#include "profiler/report/export/flame.h"

#define WIDTH  1200
#define HEIGHT 16  /* of a row */
#define TOP    24  /* of the title */
#define LETTER 6.6 /* of text of 11 px */
#define LEAST  0.4 /* px: narrower boxes are left out */

struct flame_box {
    const char *name, *module;
    int64_t total;
    int32_t parent, child, sibling; /* -1: none; lists of children */
};

struct flame {
    struct flame_box *boxes;
    int32_t count;
    struct table names; /* of (parent, name) */
    int counted;        /* 1: weights are numbers of samples */
};

static int32_t box_of(struct flame *f, int32_t parent, const char *name, const char *module)
{
    const uint64_t key = table_mix(table_hash(name, strlen(name)), (uint64_t)parent + 1);
    const uint32_t known = table_get(&f->names, key);
    if (known != TABLE_NONE)
        return (int32_t)known;
    const int32_t at = f->count++;
    f->boxes[at] = (struct flame_box){name, module, 0, parent, -1, -1};
    if (parent >= 0) {
        f->boxes[at].sibling = f->boxes[parent].child;
        f->boxes[parent].child = at;
    }
    return table_put(&f->names, key, (uint32_t)at) ? -1 : at;
}

/* The box of every node of the stacks; a node without a frame is its parent's. */
static int flame_build(const struct model *m, const int64_t *weights, struct flame *f, int32_t *at)
{
    box_of(f, -1, "all", NULL);
    for (int i = 0; i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        const int32_t above = s->parent >= 0 ? at[s->parent] : 0;
        const struct model_frame *frame = s->frame >= 0 ? &m->frames[s->frame] : NULL;
        at[i] = frame ? box_of(f, above, export_frame_name(frame), frame->module) : above;
        if (at[i] < 0)
            return 0;
        for (int32_t b = at[i]; b >= 0 && weights[i]; b = f->boxes[b].parent)
            f->boxes[b].total += weights[i];
    }
    return 1;
}

/* Writes warm colours, the same for a module in every graph. */
static void put_colour(FILE *out, const struct flame_box *b)
{
    const uint64_t h = b->module ? table_hash(b->module, strlen(b->module)) : 1;
    const uint64_t n = table_hash(b->name, strlen(b->name));
    fprintf(out, "hsl(%d,%d%%,%d%%)", (int)(h % 50) + 5, 60 + (int)(n % 30),
            62 + (int)(n / 64 % 14));
}

/* Writes "12.5 ms", or "3 samples" of a capture without times. */
static void put_amount(FILE *out, const struct flame *f, int64_t weight)
{
    if (f->counted)
        fprintf(out, "%lld sample%s", (long long)weight, weight == 1 ? "" : "s");
    else
        fprintf(out, "%.4g ms", (double)weight * 1e-6);
}

static void put_box(FILE *out, const struct flame *f, int32_t i, double x, double unit, int depth)
{
    const struct flame_box *b = &f->boxes[i];
    const double width = (double)b->total * unit;
    const int y = TOP + depth * HEIGHT;
    fputs("<g><title>", out);
    markup_text(out, b->name, 400);
    fputs(" (", out);
    put_amount(out, f, b->total);
    fprintf(out, ", %.2f %%)</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"",
            100.0 * (double)b->total / (double)f->boxes[0].total, x, y, width, HEIGHT - 1);
    put_colour(out, b);
    fputs("\"/>", out);
    const int letters = (int)((width - 6) / LETTER);
    if (letters >= 3) {
        fprintf(out, "<text x=\"%.2f\" y=\"%d\">", x + 3, y + 12);
        markup_text(out, b->name, (unsigned)letters);
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

struct open_box {
    int32_t box;
    double x;
    int depth;
};

/* Depth first, children beside each other from their parent's left edge on. Returns the rows. */
static int put_boxes(FILE *out, const struct flame *f, struct open_box *stack)
{
    const double unit = WIDTH / (double)f->boxes[0].total;
    int n = 0, rows = 0;
    stack[n++] = (struct open_box){0, 0, 0};
    while (n) {
        const struct open_box o = stack[--n];
        double x = o.x;
        rows = o.depth + 1 > rows ? o.depth + 1 : rows;
        if (out)
            put_box(out, f, o.box, o.x, unit, o.depth);
        for (int32_t c = f->boxes[o.box].child; c >= 0; c = f->boxes[c].sibling) {
            const double width = (double)f->boxes[c].total * unit;
            if (width >= LEAST)
                stack[n++] = (struct open_box){c, x, o.depth + 1};
            x += width;
        }
    }
    return rows;
}

static void put_graph(FILE *out, const struct flame *f, const char *title, struct open_box *stack)
{
    const int empty = !f->boxes[0].total;
    const int rows = empty ? 1 : put_boxes(NULL, f, stack);
    svg_begin(out, WIDTH, TOP + rows * HEIGHT, "Flame graph", SVG_FILE);
    fputs("<g font-family=\"monospace\"><text x=\"3\" y=\"16\" font-size=\"13\">", out);
    markup_text(out, title, 200);
    fputs(empty ? ": no sample" : ": ", out);
    if (!empty)
        put_amount(out, f, f->boxes[0].total);
    fputs(empty || f->counted ? "</text>\n" : " of CPU time</text>\n", out);
    if (!empty)
        put_boxes(out, f, stack);
    fputs("</g>\n", out);
    svg_end(out);
}

void flame_write(const struct model *m, const int64_t *weights, const char *title, FILE *out)
{
    const size_t n = (size_t)m->stacks_count + 1;
    struct flame f = {.boxes = malloc(n * sizeof *f.boxes), .counted = model_counts_samples(m)};
    int32_t *at = malloc(n * sizeof *at);
    struct open_box *stack = malloc(n * sizeof *stack);
    if (f.boxes && at && stack && flame_build(m, weights, &f, at))
        put_graph(out, &f, title, stack);
    else
        fputs("<!-- no memory left -->\n", out);
    table_free(&f.names);
    free(f.boxes);
    free(at);
    free(stack);
}
