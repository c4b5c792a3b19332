/* The stacks of two runs as one tree: functions by name and file, threads together, with the CPU
 * time of either side, for a flame graph of the difference. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "profiler/report/compare/compare_parts.h"

#define LEAST_SHARE 5e-4 /* of the CPU time of its side; smaller calls count for their caller */

struct stacks_of_two {
    struct compare_stack *rows;
    size_t count, room;
    struct table at;
};

/* The file of B that a file of A became; another one's own path. */
static const char *file_later(const struct model *m, const struct model *later, const char *path)
{
    for (int i = 0; later && path && i < m->files_count; i++)
        if (!strcmp(m->files[i].path, path)) {
            const struct model_file *f = compare_file_of(m, later, &m->files[i]);
            return f ? f->path : path;
        }
    return path;
}

static int file_is_own(const struct model *m, const char *path)
{
    for (int i = 0; path && i < m->files_count; i++)
        if (!strcmp(m->files[i].path, path))
            return m->files[i].user;
    return 0;
}

static enum err stack_row(struct stacks_of_two *t, const struct model *m, const struct model *later,
                          const struct model_frame *f, uint32_t parent, uint32_t *at)
{
    const char *name = f->function ? f->function : "", *file = file_later(m, later, f->file);
    const char *place = file ? file : f->module ? f->module : "";
    const uint64_t key = table_mix(
        table_mix(table_hash(name, strlen(name)), table_hash(place, strlen(place))), parent);
    *at = table_get(&t->at, key);
    if (*at != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(&t->rows, &t->room, t->count + 1, sizeof *t->rows));
    struct compare_stack *row = &t->rows[t->count];
    *row = (struct compare_stack){.parent = parent == TABLE_NONE ? -1 : (int)parent,
                                  .line = f->line,
                                  .own = file_is_own(m, f->file),
                                  .python = f->kind && !strcmp(f->kind, "python"),
                                  .function = strdup(name),
                                  .file = file ? strdup(file) : NULL,
                                  .module = f->module ? strdup(f->module) : NULL};
    *at = (uint32_t)t->count++;
    FAIL_IF(!row->function || (file && !row->file) || (f->module && !row->module), ERR_MEMORY,
            "no memory left for the comparison");
    return table_put(&t->at, key, *at);
}

/* later: B where m is A. place: the row of each node of the model. */
static enum err stacks_add(struct stacks_of_two *t, const struct model *m,
                           const struct model *later, uint32_t *place)
{
    double all = 0;
    double *below = calloc((size_t)m->stacks_count + 1, sizeof *below);
    enum err e = below ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for the comparison");
    for (int i = m->stacks_count - 1; below && i >= 0; i--) {
        const double ns = m->stacks[i].cpu_ns > 0 ? (double)m->stacks[i].cpu_ns : 0;
        all += ns;
        below[i] += ns;
        if (m->stacks[i].parent >= 0)
            below[m->stacks[i].parent] += below[i];
    }
    for (int i = 0; e == ERR_OK && i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        const struct model_frame *f = s->frame >= 0 ? &m->frames[s->frame] : NULL;
        const uint32_t parent = s->parent >= 0 ? place[s->parent] : TABLE_NONE;
        place[i] = parent;
        if (f && !(f->kind && !strcmp(f->kind, "thread")) && below[i] > LEAST_SHARE * all)
            e = stack_row(t, m, later, f, parent, &place[i]);
        if (e == ERR_OK && place[i] != TABLE_NONE && s->cpu_ns > 0)
            *(later ? &t->rows[place[i]].a_s : &t->rows[place[i]].b_s) += 1e-9 * (double)s->cpu_ns;
    }
    free(below);
    return e;
}

enum err compare_stacks(struct comparison *c, const struct model *a, const struct model *b)
{
    const struct model *sides[2] = {a, b};
    struct stacks_of_two t = {0};
    enum err e = ERR_OK;
    for (int side = 0; side < 2 && e == ERR_OK; side++) {
        uint32_t *place = malloc(((size_t)sides[side]->stacks_count + 1) * sizeof *place);
        e = place ? stacks_add(&t, sides[side], side ? NULL : b, place)
                  : FAIL(ERR_MEMORY, "no memory left for the comparison");
        free(place);
    }
    table_free(&t.at);
    c->stacks = t.rows;
    c->stacks_count = (int)t.count;
    return e;
}

void compare_stacks_free(struct comparison *c)
{
    for (int i = 0; i < c->stacks_count; i++) {
        free(c->stacks[i].function);
        free(c->stacks[i].file);
        free(c->stacks[i].module);
    }
    free(c->stacks);
}

void compare_stacks_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "stacks");
    for (int i = 0; i < c->stacks_count; i++) {
        const struct compare_stack *s = &c->stacks[i];
        jsonw_object(w);
        if (s->parent >= 0)
            jsonw_kint(w, "parent", s->parent);
        else
            jsonw_knull(w, "parent");
        jsonw_kstring(w, "function", s->function);
        jsonw_kstring(w, "file", s->file);
        jsonw_kstring(w, "module", s->module);
        jsonw_kint(w, "line", s->line > 0 ? s->line : 0);
        jsonw_kbool(w, "own", s->own);
        jsonw_kbool(w, "python", s->python);
        jsonw_knumber(w, "a_s", s->a_s);
        jsonw_knumber(w, "b_s", s->b_s);
        jsonw_end(w);
    }
    jsonw_end(w);
}
