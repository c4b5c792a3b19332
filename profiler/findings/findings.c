/* Findings of a finished model: the rows of rules that fire, the largest gain first. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/answers.h"
#include "profiler/findings/findings.h"
#include "profiler/findings/rules.h"

/* Writes the command that records the run again, as a shell takes it. */
static void command_write(const struct model *m, char *out, size_t room)
{
    int fits = text_print(out, room, "tomoprof record --");
    for (int i = 0; i < m->meta.command_count && fits; i++) {
        const char *word = m->meta.command[i] ? m->meta.command[i] : "";
        int plain = *word != 0;
        for (const char *c = word; *c; c++)
            plain &= isalnum((unsigned char)*c) || strchr("-_./=:,+%@", *c);
        if (plain || strchr(word, '\''))
            fits = text_append(out, room, plain ? " %s" : " \"%s\"", word);
        else
            fits = text_append(out, room, " '%s'", word);
    }
    if (!m->meta.command_count)
        text_append(out, room, " COMMAND");
    else if (!fits)
        snprintf(out, room, "tomoprof record -- COMMAND");
}

/* The text of a row's test, with the command in the place of %s. */
static const char *test_text(struct model *m, const char *test)
{
    char command[400], text[900];
    const char *at = test ? strstr(test, "%s") : NULL;
    if (!at)
        return test;
    command_write(m, command, sizeof command);
    snprintf(text, sizeof text, "%.*s%s%.300s", (int)(at - test), test, command, at + 2);
    return arena_text(m->arena, text);
}

static enum err finding_to_row(struct model *m, const struct finding *f, struct model_finding *row)
{
    const struct cause_rule *rule = &f->rule->rule;
    TRY(f->e);
    json_blank(&record_model_finding, row);
    row->id = rule->id;
    row->severity = rule->severity;
    row->title = f->title;
    row->advice = f->advice;
    row->refuted_by = f->refuted_by;
    row->confidence = f->confidence;
    row->gain_s = f->gain_s;
    row->gain_low_s = f->gain_low_s;
    row->test = test_text(m, rule->test);
    row->evidence = arena_text(m->arena, f->evidence);
    FAIL_IF(!row->evidence || !row->test != !rule->test, ERR_MEMORY, "no memory for the findings");
    TRY(model_list(m, model_place, row, lines, f->lines.count));
    array_copy(row->lines, f->lines.items, f->lines.count, sizeof *f->lines.items);
    return ERR_OK;
}

static int finding_most_first(const void *a, const void *b)
{
    const struct model_finding *x = a, *y = b;
    double p = isfinite(x->gain_s) ? x->gain_s : -1, q = isfinite(y->gain_s) ? y->gain_s : -1;
    return p < q || p > q ? (p < q ? 1 : -1) : strcmp(x->id, y->id);
}

static enum err rules_apply(struct model *m, const struct run_facts *facts)
{
    TRY(model_list(m, model_finding, m, findings, finding_rules_count));
    m->findings_count = 0;
    for (size_t i = 0; i < finding_rules_count; i++) {
        const struct finding_rule *r = &finding_rules[i];
        struct finding f = {.rule = r,
                            .title = r->rule.title,
                            .advice = r->rule.advice[0].text,
                            .refuted_by = r->rule.refuted_by,
                            .gain_s = (double)NAN,
                            .gain_low_s = (double)NAN};
        enum err e = ERR_OK;
        if ((facts->has_io || !r->of_io) && r->evaluate(facts, &f))
            e = finding_to_row(m, &f, &m->findings[m->findings_count++]);
        vector_free(&f.lines);
        TRY(e);
    }
    array_sort(m->findings, (size_t)m->findings_count, sizeof *m->findings, finding_most_first);
    return ERR_OK;
}

enum err findings_add(struct model *m)
{
    struct run_facts facts;
    run_facts_of(m, &facts);
    TRY(rules_apply(m, &facts));
    TRY(answers_add(m, &facts));
    for (int i = 0; i < m->answers_count && model_counts_samples(m); i++)
        m->answers[i].cost_s = m->answers[i].gain_s = (double)NAN; /* samples are not seconds */
    return range_answers_add(m, &facts);
}

enum err findings_of_run(const char *run_folder, const struct analyze_options *options,
                         enum err (*add)(const void *facts, struct model *m), const void *facts,
                         struct model **out)
{
    *out = NULL;
    enum err e = analyze_run(run_folder, options, out);
    if (!e && add)
        e = add(facts, *out);
    if (!e)
        e = findings_add(*out);
    if (e) {
        model_destroy(*out);
        *out = NULL;
    }
    return e;
}

void findings_rules_write(FILE *out)
{
    rule_table(finding_rules, sizeof *finding_rules, finding_rules_count, out);
}
