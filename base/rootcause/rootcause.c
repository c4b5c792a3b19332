/* The model of rootcause.json: rows, their order, the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "base/rootcause/markdown.h"
#include "base/rootcause/rootcause.h"
#include "base/text.h"

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
