/* The model of rootcause.json: rows, their order, the file. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "base/page/markup.h"
#include "base/rootcause/rootcause.h"
#include "base/text.h"

/* Writes the model as a page of Markdown. Names of files and functions come from anywhere. */

static void markdown_number(FILE *out, double v, const char *unit)
{
    if (isfinite(v))
        fprintf(out, "%.4g%s%s", v, unit && *unit ? " " : "", unit ? unit : "");
    else
        fputs("not measured", out);
}

static void markdown_range(FILE *out, double low, double high)
{
    if (!isfinite(high))
        fputs("not known", out);
    else if (isfinite(low))
        fprintf(out, "%.3g to %.3g s", low, high);
    else
        fprintf(out, "at most %.3g s", high);
}

static void markdown_head(const struct rootcause *r, FILE *out)
{
    fputs("# Root causes: ", out);
    markdown_text(out, r->subject);
    fputs("\n\n", out);
    if (r->date)
        fprintf(out, "Measured %s (UTC).\n\n", r->date);
    if (r->number_name) {
        fputs("> **", out);
        markdown_text(out, r->number_name);
        fputs(": ", out);
        markdown_number(out, r->number, r->number_unit);
        fputs("**\n>\n", out);
    }
    fputs("> ", out);
    markdown_text(out, r->summary);
    fputs("\n", out);
}

static void markdown_evidence(const struct rootcause *r, FILE *out)
{
    fputs("\n## Evidence\n", out);
    markdown_table(out, "what | value | note");
    for (int i = 0; i < r->evidence_count; i++) {
        const struct rootcause_number *n = &r->evidence[i];
        fputs("| ", out);
        markdown_text(out, n->name);
        fputs(" | ", out);
        markdown_number(out, n->value, n->unit);
        fputs(" | ", out);
        if (n->note)
            markdown_text(out, n->note);
        fputs(" |\n", out);
    }
}

static void markdown_causes(const struct rootcause *r, FILE *out)
{
    fputs("\n## Causes, the largest gain first\n", out);
    if (!r->causes_count)
        fputs("\nNone of the rules found a cause.\n", out);
    for (int i = 0; i < r->causes_count; i++) {
        const struct rootcause_cause *c = &r->causes[i];
        fprintf(out, "\n%d. **", i + 1);
        markdown_text(out, c->rule);
        fputs(": ", out);
        markdown_text(out, c->statement);
        fputs("**", out);
        if (c->confidence) {
            fputs(" Confidence: ", out);
            markdown_text(out, c->confidence);
            fputs(".", out);
        }
        fputs("\n   - Evidence: ", out);
        markdown_text(out, c->evidence);
        fputs("\n   - Gain: ", out);
        markdown_range(out, c->gain_low_s, c->gain_high_s);
        fputs("\n   - Refuted by: ", out);
        markdown_text(out, c->refuted_by);
        if (c->test) {
            fputs("\n   - Test: ", out);
            markdown_text(out, c->test);
        }
        fputs("\n", out);
    }
}

static const char *effort_name(double days)
{
    return !(days > 0) ? "not known" : days < 0.5 ? "a setting" : days < 3 ? "code" : "format";
}

static void markdown_actions(const struct rootcause *r, FILE *out)
{
    if (!r->actions_count)
        return;
    fputs("\n## Actions, by gain over effort\n", out);
    markdown_table(out, "action | cause | effort | expected | measured");
    for (int i = 0; i < r->actions_count; i++) {
        const struct rootcause_action *a = &r->actions[i];
        fputs("| ", out);
        markdown_text(out, a->text);
        fputs(" | ", out);
        markdown_text(out, a->rule);
        fprintf(out, " | %s | ", effort_name(a->effort_days));
        markdown_range(out, a->expected_low_s, a->expected_high_s);
        fputs(" | ", out);
        if (isfinite(a->measured_s))
            fprintf(out, "%.3g s", a->measured_s);
        else
            fputs("not yet", out);
        fputs(" |\n", out);
    }
    fputs(r->later ? "\nMeasured: how much less the cause may cost in the later run.\n"
                   : "\nRecord again after a change; `tomoprof compare THIS LATER` fills the last "
                     "column.\n",
          out);
}

/* Ratio and percentage come from the same two numbers. */
static void before_after(const struct rootcause *r, FILE *out)
{
    const struct rootcause_later *l = r->later;
    if (!l)
        return;
    fputs("\n## Before and after\n\nCompared with ", out);
    markdown_text(out, l->run);
    fputs(".\n", out);
    markdown_table(out, "time | before | after | speed-up | saved");
    const struct {
        const char *name;
        double a, b;
    } rows[] = {{"wall", l->before_s, l->after_s}, {"CPU", l->before_cpu_s, l->after_cpu_s}};
    for (int i = 0; i < 2; i++)
        if (rows[i].a > 0 && rows[i].b > 0)
            fprintf(out, "| %s | %.4g s | %.4g s | %.3g | %.3g %% |\n", rows[i].name, rows[i].a,
                    rows[i].b, rows[i].a / rows[i].b, 100 * (1 - rows[i].b / rows[i].a));
}

static void markdown_checks(const struct rootcause *r, FILE *out)
{
    fputs("\n## What a change must keep\n\n", out);
    for (int i = 0; i < r->checks_count; i++) {
        const struct rootcause_check *c = &r->checks[i];
        int known = strcmp(c->state, "unknown") != 0;
        fprintf(out, "- [%c] ", !strcmp(c->state, "holds") ? 'x' : ' ');
        markdown_text(out, c->what);
        fprintf(out, "%s: ", known && strcmp(c->state, "holds") ? " (does not hold)" : "");
        markdown_text(out, c->text);
        fputs("\n", out);
    }
}

static void rootcause_markdown(const struct rootcause *r, FILE *out)
{
    markdown_head(r, out);
    markdown_evidence(r, out);
    markdown_causes(r, out);
    markdown_actions(r, out);
    before_after(r, out);
    if (r->checks_count)
        markdown_checks(r, out);
    if (r->questions_count)
        fputs("\n## Open questions\n\n", out);
    for (int i = 0; i < r->questions_count; i++) {
        fprintf(out, "%d. ", i + 1);
        markdown_text(out, r->questions[i]);
        fputs("\n", out);
    }
    if (r->details) {
        fputs("\n## Tables\n\n", out);
        markdown_fenced(out, r->details);
    }
}

#define FILE_LIMIT ((size_t)16 << 20)

ROOTCAUSE_STRUCTS(JSON_RECORD)
JSON_RECORD(rootcause, ROOTCAUSE_FIELDS)

static enum err rootcause_blank(struct rootcause **out)
{
    struct arena *arena;
    *out = NULL;
    TRY(arena_create(&arena));
    struct rootcause *r = arena_take(arena, sizeof *r);
    if (!r) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory for the causes");
    }
    json_blank(&record_rootcause, r);
    r->arena = arena;
    *out = r;
    return ERR_OK;
}

static enum err rootcause_lists(struct rootcause *r)
{
    const size_t n = ROOTCAUSE_MOST;
    TRY(json_items(r->arena, &record_rootcause_number, n, &r->evidence, &r->evidence_count));
    TRY(json_items(r->arena, &record_rootcause_cause, n, &r->causes, &r->causes_count));
    TRY(json_items(r->arena, &record_rootcause_action, n, &r->actions, &r->actions_count));
    TRY(json_items(r->arena, &record_rootcause_check, n, &r->checks, &r->checks_count));
    r->questions = arena_take(r->arena, n * sizeof *r->questions);
    FAIL_IF(!r->questions, ERR_MEMORY, "no memory for the causes");
    r->evidence_count = r->causes_count = r->actions_count = r->checks_count = 0;
    r->questions_count = 0;
    return ERR_OK;
}

enum err rootcause_create(struct rootcause **out)
{
    TRY(rootcause_blank(out));
    enum err e = rootcause_lists(*out);
    if (e) {
        rootcause_free(*out);
        *out = NULL;
    }
    return e;
}

void rootcause_free(struct rootcause *r)
{
    if (r)
        arena_free(r->arena);
}

void rootcause_number(struct rootcause *r, const char *name, double value, const char *unit,
                      const char *note)
{
    if (r->evidence_count < ROOTCAUSE_MOST)
        r->evidence[r->evidence_count++] =
            (struct rootcause_number){name, isfinite(value) ? value : (double)NAN, unit, note};
}

struct rootcause_cause *rootcause_cause(struct rootcause *r)
{
    return r->causes_count < ROOTCAUSE_MOST ? &r->causes[r->causes_count++] : NULL;
}

void rootcause_action(struct rootcause *r, const struct rootcause_cause *of, const char *text,
                      double effort_days)
{
    if (of && text && r->actions_count < ROOTCAUSE_MOST)
        r->actions[r->actions_count++] = (struct rootcause_action){
            of->rule, text, effort_days, of->gain_low_s, of->gain_high_s, (double)NAN};
}

void rootcause_check(struct rootcause *r, const char *what, const char *state, const char *text)
{
    if (r->checks_count < ROOTCAUSE_MOST)
        r->checks[r->checks_count++] = (struct rootcause_check){what, state, text};
}

void rootcause_question(struct rootcause *r, const char *text)
{
    if (r->questions_count < ROOTCAUSE_MOST)
        r->questions[r->questions_count++] = text;
}

static double or_less(double v)
{
    return isfinite(v) ? v : -1;
}

static int by_action_gain(const void *a, const void *b)
{
    const struct rootcause_cause *x = a, *y = b;
    double p = or_less(x->gain_high_s), q = or_less(y->gain_high_s);
    return p < q || p > q ? (p < q ? 1 : -1) : strcmp(x->rule, y->rule);
}

/* The middle of what is expected for each day of work. */
static double action_worth(const struct rootcause_action *a)
{
    double low = isfinite(a->expected_low_s) ? a->expected_low_s : 0;
    return isfinite(a->expected_high_s) && a->effort_days > 0
               ? (low + a->expected_high_s) / 2 / a->effort_days
               : -1;
}

static int by_worth(const void *a, const void *b)
{
    const struct rootcause_action *x = a, *y = b;
    double p = action_worth(x), q = action_worth(y);
    return p < q || p > q ? (p < q ? 1 : -1) : strcmp(x->text, y->text);
}

void rootcause_rank(struct rootcause *r)
{
    if (r->causes_count)
        qsort(r->causes, (size_t)r->causes_count, sizeof *r->causes, by_action_gain);
    if (r->actions_count)
        qsort(r->actions, (size_t)r->actions_count, sizeof *r->actions, by_worth);
}

static enum err write_json(const struct rootcause *r, const char *path)
{
    struct outfile f;
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", ROOTCAUSE_SCHEMA);
    json_write_fields(&w, &record_rootcause, r);
    jsonw_end(&w);
    return outfile_commit(&f);
}

enum err rootcause_write(const struct rootcause *r, const char *folder)
{
    char path[4096];
    struct outfile f;
    FAIL_IF(!text_print(path, sizeof path, "%s/rootcause.json", folder), ERR_INPUT,
            "the path of the run is longer than %zu bytes: %s", sizeof path, folder);
    TRY(write_json(r, path));
    snprintf(path, sizeof path, "%s/rootcause.md", folder);
    TRY(outfile_open(&f, path));
    rootcause_markdown(r, f.stream);
    return outfile_commit(&f);
}

/* Texts that nobody asks for again: the file may be anyone's. */
static int is_whole(const struct rootcause *r)
{
    int whole = 1;
    for (int i = 0; i < r->causes_count; i++)
        whole &= r->causes[i].rule != NULL;
    for (int i = 0; i < r->actions_count; i++)
        whole &= r->actions[i].rule && r->actions[i].text;
    for (int i = 0; i < r->checks_count; i++)
        whole &= r->checks[i].what && r->checks[i].state;
    return whole;
}

static enum err rootcause_from_file(const char *path, const cJSON *root, struct rootcause *r)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    FAIL_IF(!cJSON_IsString(schema) || strcmp(schema->valuestring, ROOTCAUSE_SCHEMA), ERR_INPUT,
            "%s: not written by this version of tomoprof: `tomoprof report --reanalyze` writes it "
            "again",
            path);
    TRY(json_read(r->arena, &record_rootcause, root, r, JSON_STRICT));
    FAIL_IF(
        !is_whole(r), ERR_INPUT,
        "%s: a cause, action or check has no name: `tomoprof report --reanalyze` writes it again",
        path);
    return ERR_OK;
}

enum err rootcause_read(const char *folder, struct rootcause **out)
{
    char path[4096];
    cJSON *root;
    *out = NULL;
    if (!text_print(path, sizeof path, "%s/rootcause.json", folder) || access(path, R_OK))
        return ERR_OK;
    TRY(json_parse_file(path, FILE_LIMIT, &root));
    enum err e = rootcause_blank(out);
    if (!e)
        e = rootcause_from_file(path, root, *out);
    cJSON_Delete(root);
    if (e) {
        rootcause_free(*out);
        *out = NULL;
    }
    return e;
}

enum err rootcause_schema_write(const char *path)
{
    static const struct json_record *const types[] = {
#define X(name, fields) &record_##name,
        ROOTCAUSE_STRUCTS(X)
#undef X
    };
    const struct json_schema s = {"rootcause.json",
                                  "Why something takes its time",
                                  ROOTCAUSE_SCHEMA,
                                  &record_rootcause,
                                  types,
                                  sizeof types / sizeof *types};
    return json_schema_write(&s, path);
}

static const struct cause_rule *rule_at(const void *rows, size_t size, size_t i)
{
    return (const struct cause_rule *)(const void *)((const char *)rows + i * size);
}

const struct cause_rule *rule_find(const void *rows, size_t size, size_t count, const char *id)
{
    for (size_t i = 0; i < count && id; i++)
        if (!strcmp(rule_at(rows, size, i)->id, id))
            return rule_at(rows, size, i);
    return NULL;
}

void rule_table(const void *rows, size_t size, size_t count, FILE *out)
{
    int codes = 0;
    for (size_t i = 0; i < count; i++)
        codes |= rule_at(rows, size, i)->code != NULL;
    markdown_table(out, codes ? "finding | rule | fires" : "rule | fires");
    for (size_t i = 0; i < count; i++) {
        const struct cause_rule *r = rule_at(rows, size, i);
        if (codes)
            fprintf(out, "| `%s` | %s | %s |\n", r->id, r->code ? r->code : "", r->fires);
        else
            fprintf(out, "| %s | %s |\n", r->id, r->fires);
    }
}
