/* Finds the function of another package that a line spends its time in, by the stacks below it. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/advice/replacements.h"

#define MOST 0.5 /* of the line's time */

/* 1: the function takes the time of a row. */
static int row_has_frame(const struct replacement *r, const char *name)
{
    if (!*r->frames)
        return !strcmp(r->name, name);
    for (const char *at = r->frames; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        if (strlen(name) == n && !strncmp(name, at, n))
            return 1;
        at += n;
    }
    return 0;
}

/* Returns the row of a Python frame; NULL: none. */
static const struct replacement *frame_replacement(const struct model_frame *f)
{
    if (!f->function || !f->file || !f->kind || strcmp(f->kind, "python"))
        return NULL;
    const char *dot = strrchr(f->function, '.'), *name = dot ? dot + 1 : f->function;
    for (size_t i = 0; i < replacements_count; i++)
        if (row_has_frame(&replacements[i], name) && !fnmatch(replacements[i].file, f->file, 0))
            return &replacements[i];
    return NULL;
}

static int frame_is_at(const struct model_frame *f, const struct model_own *at)
{
    return f->file && at->file && f->line == at->line && !strcmp(f->file, at->file);
}

/* 1: the text has all words of a part, with & between them. */
static int text_has_words(const char *text, const char *words, size_t length)
{
    for (const char *at = words, *end = words + length; at < end;) {
        char word[80];
        size_t n = strcspn(at, "&|");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (!strstr(text, word))
            return 0;
        at += n + 1;
    }
    return 1;
}

/* 1: the text has one of the parts, with | between them. */
static int text_has_part(const char *text, const char *parts)
{
    for (const char *at = parts; *at; at += *at == '|') {
        const size_t n = strcspn(at, "|");
        if (text_has_words(text, at, n))
            return 1;
        at += n;
    }
    return 0;
}

/* 1: what the line's text shows of the arguments has an equal. */
static int arguments_fit(const struct replacement *r, const char *text)
{
    return (!*r->text || text_has_part(text, r->text)) && !text_has_part(text, r->unless);
}

static double known_ns(int64_t ns)
{
    return ns == MODEL_UNKNOWN ? 0 : (double)ns;
}

/* Finds the function of the table in which a line spends most of its time; NULL: none. */
static enum err replacement_of_line(const struct model *m, const struct model_own *at,
                                    const char *text, const struct replacement **out)
{
    enum { OUTSIDE, BELOW };
    *out = NULL;
    if (!at || !at->file)
        return ERR_OK;
    /* Notes of each node whether it is below the line, and the first function of the table there. */
    struct line_node {
        char state;
        const struct replacement *row;
    } *node = calloc((size_t)m->stacks_count + 1, sizeof *node);
    double *ns = calloc(replacements_count, sizeof *ns), all = 0; /* sums of a hostile file fit */
    for (int i = 0; node && ns && i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        const struct model_frame *f = &m->frames[s->frame];
        if (s->parent >= 0)
            node[i] = node[s->parent];
        if (frame_is_at(f, at))
            node[i] = (struct line_node){BELOW, NULL};
        else if (node[i].state == BELOW && !node[i].row)
            node[i].row = frame_replacement(f);
        const double time = known_ns(s->cpu_ns) + known_ns(s->wait_ns);
        all += node[i].state == BELOW ? time : 0;
        if (node[i].row)
            ns[node[i].row - replacements] += time;
    }
    for (size_t i = 0; node && ns && i < replacements_count; i++)
        if (ns[i] > 0 && ns[i] >= MOST * all && arguments_fit(&replacements[i], text ? text : ""))
            *out = &replacements[i];
    const int missing = !node || !ns;
    free(node);
    free(ns);
    FAIL_IF(missing, ERR_MEMORY, "no memory for the stacks of the run");
    return ERR_OK;
}

enum err replacement_offer(struct model *m, const struct model_own *at, const char *text,
                           struct model_answer *a)
{
    const struct replacement *r;
    TRY(replacement_of_line(m, at, text, &r));
    if (r)
        a->text = arena_print(m->arena, "%s %s computes %s; try it: tomoprof try latest", a->text,
                              r->label, r->equal);
    FAIL_IF(!a->text, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}
