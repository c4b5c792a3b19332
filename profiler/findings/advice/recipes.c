/* Takes the largest part of a line for which the table has a recipe that fits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/advice/recipe.h"
#include "profiler/findings/advice/recipes.h"
#include "profiler/findings/advice/replacements.h"
#include "profiler/findings/thresholds.h"

#define HELD       0.1 /* of the wall time: threads waited for a lock that the line held */
#define ONE        1.3 /* threads at a time */
#define MOST       0.5
#define FIRST_PART 0.25 /* of the line's time: a known pattern */

static int text_has_any(const char *text, const char *parts)
{
    char part[80];
    for (const char *at = parts; at && *at;) {
        size_t n = strcspn(at, "|");
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        if (strstr(text, part))
            return 1;
        at += n + (at[n] != 0);
    }
    return !parts;
}

/* 1: the line is the one that holds the lock, or below it; the GIL changes hands there. */
static int line_is_held(const struct model *m, const struct model_lock *l,
                        const struct model_holder *h, const struct model_own *at)
{
    const int gil = l->kind && !strcmp(l->kind, "gil");
    for (; at; at = at->parent >= 0 && !gil ? &m->own[at->parent] : NULL)
        if (h->file && at->file && !strcmp(h->file, at->file) &&
            (h->line == at->line ||
             (h->locked_file && h->function && at->function && !strcmp(h->function, at->function))))
            return 1;
    return 0;
}

int recipe_holds_lock(const struct run_facts *f, const struct model_own *at)
{
    double s[2] = {0};
    for (int i = 0; i < f->m->locks_count; i++) {
        const struct model_lock *l = &f->m->locks[i];
        const int gil = l->kind && !strcmp(l->kind, "gil");
        for (int k = 0; k < l->holders_count && l->role && !strcmp(l->role, "contention"); k++)
            s[gil] +=
                line_is_held(f->m, l, &l->holders[k], at) ? positive_or_0(l->holders[k].held_s) : 0;
    }
    return s[0] > HELD * f->wall   ? FACT_HOLDS_LOCK
           : s[1] > HELD * f->wall ? FACT_HOLDS_LOCK | FACT_HOLDS_GIL
                                   : 0;
}

static int run_uses_hdf5(const struct model *m)
{
    for (int i = 0; i < m->frames_count; i++)
        if (m->frames[i].module && strstr(m->frames[i].module, "libhdf5"))
            return 1;
    return 0;
}

/* Files of which a process read more than they have: one, or the many of a Zarr array together. */
static int run_reads_again(const struct model *m)
{
    double mb = 0;
    for (int i = 0; i < m->io.files_count; i++) {
        const struct model_io_file *f = &m->io.files[i];
        const double once = f->unique_mb * (f->processes > 1 ? (double)f->processes : 1);
        if (once > 0 && f->read.mb > REREAD_TIMES * once)
            mb += f->read.mb;
    }
    return mb > REREAD_MIB;
}

/* "values = np.append(values, x)" */
static int text_grows(const char *text)
{
    char name[80];
    text += strspn(text, " \t");
    size_t n = strcspn(text, " =([,+-*/");
    const char *equals = text + n + strspn(text + n, " ");
    if (!n || *equals != '=' || equals[1] == '=' ||
        !text_print(name, sizeof name, "%.*s", (int)n, text))
        return 0;
    for (const char *at = strstr(equals, name); at; at = strstr(at + 1, name))
        if (strchr(" ([,", at[-1]) && at[n] && strchr(" )],.", at[n]))
            return 1;
    return 0;
}

/* The line that calls the function of `at` has .apply( in its text. */
static int line_is_applied(const struct model *m, const struct model_own *at)
{
    const struct model_own *up = at->parent >= 0 ? &m->own[at->parent] : NULL;
    for (int f = 0; up && up->file && f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count && !strcmp(m->files[f].path, up->file); i++)
            if (m->files[f].lines[i].line == up->line && m->files[f].lines[i].text)
                return strstr(m->files[f].lines[i].text, ".apply(") != NULL;
    return 0;
}

static int run_reads_small(const struct model *m)
{
    for (int i = 0; i < m->io.files_count; i++) {
        const struct model_io_calls *c = &m->io.files[i].read;
        const char *kind = m->io.files[i].kind; /* libraries read hundreds of files of /sys */
        if ((!kind || !strcmp(kind, "file")) && c->calls >= SMALL_CALLS &&
            c->mb * 1048576 < 10240.0 * (double)c->calls)
            return 1;
    }
    return 0;
}

/* 1: nobody builds it again for a profile. */
static int is_installed(const char *module)
{
    static const char *const folders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/lib"};
    for (size_t i = 0; module && i < sizeof folders / sizeof *folders; i++)
        if (text_begins(module, folders[i]))
            return 1;
    return 0;
}

static void recipe_facts_of(const struct run_facts *f, const struct recipe_line *line,
                            struct recipe_facts *out)
{
    const struct model_file *file = line->file;
    const struct model_line *row = line->row;
    const struct model_own *at = line->hot->at;
    const int known = file || own_made_at_run_time(at);
    const double at_once = line->hot->path_ns > 0 ? line->hot->ns / line->hot->path_ns : 1;
    out->text = row && row->text ? row->text : "";
    out->has = (file && file->language && !strcmp(file->language, "python") ? FACT_PYTHON
                                                                            : FACT_COMPILED) |
               (known || is_installed(at->module) ? 0 : FACT_NO_LINES) | recipe_holds_lock(f, at) |
               (at_once < ONE && f->cpus > 1 ? FACT_ONE_THREAD : 0) |
               (f->cpus > 0 && f->threads > f->cpus ? FACT_CROWDED : 0) |
               (f->m->processes_count > 1 ? FACT_PROCESSES : 0) |
               (run_uses_hdf5(f->m) ? FACT_HDF5 : 0) | (run_reads_again(f->m) ? FACT_REREAD : 0) |
               (at->function && text_ends(at->function, "__getitem__") ? FACT_DATASET : 0) |
               (text_grows(out->text) ? FACT_GROWS : 0) |
               (line_is_applied(f->m, at) ? FACT_APPLIED : 0) |
               (run_reads_small(f->m) ? FACT_SMALL : 0) | (f->busy ? FACT_BUSY : 0);
}

/* A profile that holds no works still tells what the interpreter itself took. */
static void parts_guess(const struct run_facts *f, const struct recipe_line *line,
                        struct line_parts *p)
{
    const struct model_line *row = line->row;
    double self = row ? positive_or_0(row->cpu.user) + positive_or_0(row->cpu.sys) : 0;
    if (p->count || f->m->works_count || !(self > MOST * 1e-9 * line->hot->ns))
        return;
    if (positive_or_0(row->cpu.python) > MOST * self)
        p->list[p->count++] = (struct line_part){"python", "Python's interpreter", NAN};
}

static int recipe_fits(const struct advice_recipe *r, const struct recipe_facts *f,
                       const struct line_part *part)
{
    const int needs = r->needs & ~RECIPE_FIRST;
    const char *text = part && !strcmp(part->kind, "call") ? part->what : f->text;
    return (needs & f->has) == needs && !(r->unless & f->has) && text_has_any(text, r->text);
}

/* The recipe of the largest part that has one; those of kind NULL go by text and facts alone, those
 * of "*" come last. `part`: what the recipe is about. */
static const struct advice_recipe *recipe_choose(const struct line_parts *p,
                                                 const struct recipe_facts *f,
                                                 const struct line_part **part)
{
    *part = NULL;
    for (size_t i = 0; i < recipes_count; i++)
        if (!recipes[i].kind && recipe_fits(&recipes[i], f, NULL))
            return &recipes[i];
    for (int first = 1; first >= 0; first--)
        for (int k = 0; k < p->count && !(p->list[k].share < (first ? FIRST_PART : PART_LEAST));
             k++)
            for (size_t i = 0; i < recipes_count; i++)
                if (recipes[i].kind && (!first || recipes[i].needs & RECIPE_FIRST) &&
                    text_begins(p->list[k].kind, recipes[i].kind) &&
                    recipe_fits(&recipes[i], f, &p->list[k])) {
                    *part = &p->list[k];
                    return &recipes[i];
                }
    for (size_t i = 0; i < recipes_count && p->count; i++)
        if (recipes[i].kind && *recipes[i].kind == '*' && recipe_fits(&recipes[i], f, NULL))
            return &recipes[i];
    return NULL;
}

/* The advice with the part's name in the place of %s, with the numbers of threads and CPUs in those of
 * %t and %c. */
static const char *recipe_text(struct model *m, const struct run_facts *f,
                               const struct advice_recipe *r, const struct line_part *part)
{
    char text[600] = "";
    if (!r || !strchr(r->advice, '%'))
        return r ? r->advice : NULL;
    for (const char *at = r->advice; *at;) {
        const size_t n = strcspn(at, "%");
        text_append(text, sizeof text, "%.*s", (int)n, at);
        at += n;
        if (*at && at[1] == 't')
            text_append(text, sizeof text, "%lld", (long long)f->threads);
        else if (*at && at[1] == 'c')
            text_append(text, sizeof text, "%d", f->cpus);
        else if (*at && at[1] == 's')
            text_append(text, sizeof text, "%.120s", part ? part->what : "it");
        at += *at ? 2 : 0;
    }
    return arena_text(m->arena, text);
}

const char *recipe_of_kind(const char *kind)
{
    for (size_t i = 0; i < recipes_count; i++)
        if (recipes[i].kind && text_begins(kind, recipes[i].kind) &&
            !(recipes[i].needs & ~RECIPE_FIRST) && !recipes[i].text)
            return recipes[i].advice;
    return NULL;
}

const char *recipe_of_wait(const char *waits_for, const char *text)
{
    char kind[40];
    snprintf(kind, sizeof kind, "wait.%s", waits_for);
    for (size_t i = 0; i < recipes_count; i++)
        if (recipes[i].kind && text_begins(recipes[i].kind, "wait") &&
            text_begins(kind, recipes[i].kind) && text_has_any(text ? text : "", recipes[i].text))
            return recipes[i].advice;
    return NULL;
}

enum err recipes_apply(struct model *m, const struct run_facts *facts,
                       const struct recipe_line *line, struct model_answer *a)
{
    struct line_parts parts;
    struct recipe_facts f;
    const struct line_part *part;
    char of[500], text[1200];
    TRY(line_parts(m, line->hot, &parts));
    parts_guess(facts, line, &parts);
    recipe_facts_of(facts, line, &f);
    f.has |= line_parts_share(&parts, "compile.") >= FIRST_PART ? FACT_COMPILES : 0;
    f.has |= line_parts_share(&parts, "loop") >= PART_LEAST ? FACT_LOOP : 0;
    f.has |= line_parts_share(&parts, "pool") >= PART_LEAST ? FACT_POOL : 0;
    const struct advice_recipe *r = recipe_choose(&parts, &f, &part);
    a->advice = recipe_text(m, facts, r, part);
    line_parts_text(&parts, of, sizeof of);
    size_t n = a->text ? strlen(a->text) : 0;
    if (*of && n && a->text[n - 1] == '.') {
        snprintf(text, sizeof text, "%.*s: %s.", (int)(n - 1 < 600 ? n - 1 : 600), a->text, of);
        a->text = arena_text(m->arena, text);
    }
    FAIL_IF(!a->text || (r && !a->advice), ERR_MEMORY, "no memory for the profile");
    return line->hot->of_function
               ? ERR_OK
               : replacement_offer(m, line->hot->at, line->row ? line->row->text : NULL, a);
}
