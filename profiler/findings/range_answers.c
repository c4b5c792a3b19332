/* Answers for ranges: hotspots are looked for as in the whole run, in a view of the model that has
 * the time inside of the range alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/advice/recipe.h"
#include "profiler/findings/advice/recipes.h"
#include "profiler/findings/advice/waits.h"
#include "profiler/findings/answers.h"
#include "profiler/findings/hotspots.h"

#define TOGETHER 0.7 /* of the first line's time: the next is named too */
#define SMALL    0.1 /* of a range's time: a line with less does not answer for it */
enum { SAMPLES_LEAST = 20, LOOKS_LEAST = 3, RANGES_MAX = 200, NAMED = 3 };

struct range_view { /* the model, with rows of own code and their works as they were in a range */
    struct model m;
    double cpu, wait, samples; /* cpu, wait: seconds in own code */
};

static void view_free(struct range_view *v)
{
    free(v->m.own);
    free(v->m.works);
}

/* Scales what the whole run has of each row to the range. */
static enum err view_make(const struct model *m, const struct model_range *r, struct range_view *v)
{
    const size_t n = (size_t)m->own_count, works = (size_t)m->works_count;
    double *part = calloc(n + 1, sizeof *part);
    *v = (struct range_view){.m = *m};
    v->m.own = calloc(n + 1, sizeof *v->m.own);
    v->m.works = calloc(works + 1, sizeof *v->m.works);
    if (!part || !v->m.own || !v->m.works) {
        free(part);
        return FAIL(ERR_MEMORY, "no memory for the answers of ranges");
    }
    array_copy(v->m.own, m->own, n, sizeof *m->own);
    array_copy(v->m.works, m->works, works, sizeof *m->works);
    for (size_t i = 0; i < n; i++)
        v->m.own[i].cpu_ns = v->m.own[i].samples = v->m.own[i].path_cpu_ns =
            v->m.own[i].path_wait_ns = 0;
    for (int i = 0; i < r->own_count; i++) {
        const struct model_range_own *x = &r->own[i];
        if (x->own < 0 || (size_t)x->own >= n)
            continue;
        const struct model_own *whole = &m->own[x->own];
        struct model_own *o = &v->m.own[x->own];
        part[x->own] = whole->cpu_ns > 0 ? (double)x->cpu_ns / (double)whole->cpu_ns : 0;
        o->cpu_ns = o->path_cpu_ns = x->cpu_ns;
        o->path_wait_ns = x->wait_ns;
        v->cpu += 1e-9 * positive_or_0((double)x->cpu_ns);
        v->wait += 1e-9 * positive_or_0((double)x->wait_ns);
        v->samples += part[x->own] * positive_or_0((double)whole->samples);
    }
    for (size_t i = 0; i < works; i++) {
        struct model_work *w = &v->m.works[i];
        if (w->own >= 0 && (size_t)w->own < n)
            w->cpu_ns = (int64_t)((double)w->cpu_ns * part[w->own]);
    }
    free(part);
    return ERR_OK;
}

/* Names the two or three lines that share the time: "a.py:3 (40 %) and a.py:9 (35 %) take ...". */
static int lines_text(const struct range_view *v, const struct hotspots *hot, char *out,
                      size_t room)
{
    char name[400];
    int n = 1;
    while (n < hot->count && n < NAMED && hot->found[n].ns >= TOGETHER * hot->found[n - 1].ns)
        n++;
    *out = 0;
    for (int i = 0; i < n && n > 1; i++) {
        hotspot_name(&hot->found[i], name);
        text_append(out, room, "%s%.100s (%.0f %%)",
                    !i           ? ""
                    : i + 1 == n ? " and "
                                 : ", ",
                    name, 100e-9 * hot->found[i].ns / v->cpu);
    }
    if (n > 1)
        text_append(out, room, " take most of its CPU time (%s s).", NUMBER(3, v->cpu));
    return n > 1;
}

static enum err answer_computing(struct range_view *v, const struct run_facts *facts,
                                 struct model_answer *a)
{
    struct hotspots hot;
    char name[400], text[700];
    if (v->samples < SAMPLES_LEAST)
        return ERR_OK;
    TRY(hotspots_find(&v->m, HOTSPOTS_CPU, &hot));
    if (!hot.count || 1e-9 * hot.found[0].ns < SMALL * v->cpu)
        return ERR_OK;
    const struct hotspot *s = &hot.found[0];
    const int several = lines_text(v, &hot, text, sizeof text);
    if (!several) {
        if (s->of_function)
            hotspot_name(s, name);
        else
            own_place_and_text(&v->m, s->at, name);
        text_print(text, sizeof text, "%s takes %.0f %% of its CPU time (%s of %s s).", name,
                   100e-9 * s->ns / v->cpu, NUMBER(3, 1e-9 * s->ns), NUMBER(3, v->cpu));
    }
    a->text = arena_text(v->m.arena, text);
    FAIL_IF(!a->text, ERR_MEMORY, "no memory for the answers of ranges");
    const char *whole = a->text;
    const struct recipe_line line = {s, hotspots_file(&v->m, s->at->file),
                                     own_line_of(&v->m, s->at->file, s->at->line)};
    TRY(recipes_apply(&v->m, facts, &line, a));
    a->text = several ? whole : a->text; /* the parts are those of the first line alone */
    return ERR_OK;
}

static enum err answer_waiting(struct range_view *v, const struct model_range *r,
                               struct model_answer *a)
{
    struct hotspots hot;
    char name[400], waits[200], text[800];
    TRY(hotspots_find(&v->m, HOTSPOTS_WAIT, &hot));
    if (!hot.count || !(hot.found[0].at->file || hot.found[0].at->function))
        return ERR_OK;
    const struct model_own *at = hot.found[0].at;
    own_place_and_text(&v->m, at, name);
    const char *kind = waits_words(&v->m, at, waits, sizeof waits);
    text_print(text, sizeof text, "%s %s for %s of its %s s.", name, waits,
               NUMBER(3, 1e-9 * hot.found[0].ns), NUMBER(3, r->time.total_s));
    const struct model_line *line = own_line_of(&v->m, at->file, at->line);
    a->advice = recipe_of_wait(kind, line ? line->text : NULL);
    a->text = arena_text(v->m.arena, text);
    FAIL_IF(!a->text, ERR_MEMORY, "no memory for the answers of ranges");
    return ERR_OK;
}

static enum err range_answer(struct model *m, const struct run_facts *facts, struct model_range *r)
{
    struct range_view v;
    struct model_answer a;
    json_blank(&record_model_answer, &a);
    enum err e = view_make(m, r, &v);
    if (!e && v.wait > v.cpu && v.wait * m->meta.wait_hz >= LOOKS_LEAST)
        e = answer_waiting(&v, r, &a);
    else if (!e)
        e = answer_computing(&v, facts, &a);
    view_free(&v);
    r->answer = a.text;
    r->advice = a.text ? a.advice : NULL;
    return e;
}

enum err range_answers_add(struct model *m, const struct run_facts *facts)
{
    for (int i = 0, n = 0; i < m->ranges_count && n < RANGES_MAX; i++)
        if (m->ranges[i].name && m->ranges[i].own_count) {
            TRY(range_answer(m, facts, &m->ranges[i]));
            n++;
        }
    return ERR_OK;
}
