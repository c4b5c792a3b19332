/* Writes and reads files of `bench --save`. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "host/suite/bench/bench.h"

#define SCHEMA     "tomoprof-bench/1"
#define FILE_LIMIT ((size_t)64 << 20)

static const char *const statuses[] = {
    [ROW_SKIPPED] = "skipped", [ROW_OK] = "ok", [ROW_FAILED] = "failed", NULL};
static const char *const bounds[] = {
    [BOUND_UNKNOWN] = "", [BOUND_ARITHMETIC] = "arithmetic", [BOUND_COPY] = "copy", NULL};

/* The numbers of a row, by key: one table writes and reads them. */
static const struct bench_number {
    const char *key;
    size_t offset;
    int required; /* of a row that is ok */
} numbers[] = {
#define NUMBER(key, member, required)                                                              \
    {                                                                                              \
        key, offsetof(struct bench_row, member), required                                          \
    }
    NUMBER("amount", amount, 1),
    NUMBER("min", min, 1),
    NUMBER("median", median, 1),
    NUMBER("spread", spread, 0),
    NUMBER("rate", rate, 1),
    NUMBER("roof_share", roof_share, 0),
    NUMBER("flops", work.flops, 0),
    NUMBER("bytes", work.bytes_min, 0),
    NUMBER("cycles_per_unit", cycles_per_unit, 0),
    NUMBER("thread_efficiency", efficiency, 0),
    NUMBER("peak_bytes", peak_bytes, 0),
    NUMBER("closed_form_bytes", closed_form_bytes, 0),
#undef NUMBER
};
#define NUMBERS (int)(sizeof numbers / sizeof *numbers)

static double *number_at(struct bench_row *row, int i)
{
    return (double *)((char *)row + numbers[i].offset);
}

static void write_row(struct jsonw *w, const struct bench_row *from)
{
    struct bench_row row = *from;
    jsonw_object(w);
    jsonw_kstring(w, "operation", row.operation);
    jsonw_kint(w, "size", row.size);
    jsonw_kint(w, "threads", row.threads);
    jsonw_kint(w, "runs", row.runs);
    jsonw_kstring(w, "status", statuses[row.status]);
    jsonw_kstring(w, "reason", *row.reason ? row.reason : NULL);
    jsonw_kstring(w, "unit", bench_unit_names[row.unit]);
    for (int i = 0; i < NUMBERS; i++)
        jsonw_knumber(w, numbers[i].key, row.status == ROW_OK ? *number_at(&row, i) : (double)NAN);
    jsonw_kstring(w, "bound", row.bound ? bounds[row.bound] : NULL);
    jsonw_kbool(w, "implausible", row.implausible);
    jsonw_kstring(w, "cycles_reason", *row.cycles_reason ? row.cycles_reason : NULL);
    jsonw_key(w, "calibration");
    jsonw_object(w);
    jsonw_key(w, "before");
    calibration_write(w, &row.before);
    jsonw_key(w, "after");
    calibration_write(w, &row.after);
    jsonw_end(w);
    jsonw_end(w);
}

void bench_write(FILE *out, const struct bench_results *r)
{
    struct jsonw w;
    jsonw_init(&w, out, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", SCHEMA);
    jsonw_kstring(&w, "timestamp", r->timestamp);
    jsonw_key(&w, "environment");
    environment_write(&w, &r->environment);
    jsonw_kint(&w, "repeat", r->repeat);
    jsonw_kint(&w, "seed", (int64_t)r->seed);
    jsonw_kbool(&w, "interrupted", r->interrupted);
    jsonw_key(&w, "rows");
    jsonw_array(&w);
    for (int i = 0; i < r->count; i++)
        write_row(&w, &r->rows[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    putc('\n', out);
}

static const cJSON *item(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* "" when it is missing or null. */
static void text_of(const cJSON *object, const char *key, char *out, size_t size)
{
    const char *text = cJSON_GetStringValue(item(object, key));
    snprintf(out, size, "%s", text ? text : "");
}

/* Place of the text in a list ended by NULL, -1 when it is not there; missing and null are "". */
static int choice_of(const cJSON *object, const char *key, const char *const *list)
{
    const char *text = cJSON_GetStringValue(item(object, key));
    for (int i = 0; list[i]; i++)
        if (!strcmp(list[i], text ? text : ""))
            return i;
    return -1;
}

/* A whole number within [least, 2^53], -1 otherwise. */
static int64_t whole_of(const cJSON *object, const char *key, double least)
{
    double v = cJSON_GetNumberValue(item(object, key));
    return v >= least && v <= 0x1p53 && v == floor(v) ? (int64_t)v : -1;
}

/* 0 when unknown. */
static double rate_of(const cJSON *object, const char *key)
{
    double v = cJSON_GetNumberValue(item(object, key));
    return v > 0 ? v * 1e9 : 0;
}

static struct calibration read_calibration(const cJSON *object)
{
    return (struct calibration){{rate_of(object, "gflops"), rate_of(object, "gbytes_per_s")},
                                rate_of(object, "cached_gbytes_per_s"),
                                0};
}

/* The key that is wrong, NULL when all is right. */
static const char *read_row(const cJSON *object, struct bench_row *row)
{
    text_of(object, "operation", row->operation, sizeof row->operation);
    text_of(object, "reason", row->reason, sizeof row->reason);
    text_of(object, "cycles_reason", row->cycles_reason, sizeof row->cycles_reason);
    row->size = whole_of(object, "size", 1);
    row->threads = whole_of(object, "threads", 1);
    row->runs = whole_of(object, "runs", 0);
    int status = choice_of(object, "status", statuses),
        unit = choice_of(object, "unit", bench_unit_names);
    int bound = choice_of(object, "bound", bounds);
    const char *wrong = !*row->operation   ? "operation"
                        : row->size < 0    ? "size"
                        : row->threads < 0 ? "threads"
                        : row->runs < 0    ? "runs"
                        : status < 0       ? "status"
                        : unit < 0         ? "unit"
                        : bound < 0        ? "bound"
                                           : NULL;
    if (wrong)
        return wrong;
    row->status = (enum row_status)status;
    row->unit = (enum bench_unit)unit;
    row->bound = (enum bench_bound)bound;
    row->implausible = cJSON_IsTrue(item(object, "implausible"));
    for (int i = 0; i < NUMBERS; i++) {
        double v = *number_at(row, i) = cJSON_GetNumberValue(item(object, numbers[i].key));
        if (row->status == ROW_OK && numbers[i].required && !(v > 0))
            return numbers[i].key;
    }
    const cJSON *calibration = item(object, "calibration");
    row->before = read_calibration(item(calibration, "before"));
    row->after = read_calibration(item(calibration, "after"));
    return NULL;
}

static enum err read_rows(const char *path, const cJSON *rows, struct bench_results *out)
{
    int n = cJSON_GetArraySize(rows), i = 0;
    const cJSON *object;
    FAIL_IF(!cJSON_IsArray(rows) || !n, ERR_INPUT, "%s: no rows", path);
    void *grown = realloc(out->rows, (size_t)(out->count + n) * sizeof *out->rows);
    FAIL_IF(!grown, ERR_MEMORY, "%s: no memory left for %d rows", path, n);
    out->rows = grown;
    cJSON_ArrayForEach (object, rows) {
        struct bench_row row = {0};
        const char *wrong = read_row(object, &row);
        FAIL_IF(wrong, ERR_INPUT, "%s: rows[%d]: no right \"%s\"", path, i, wrong);
        FAIL_IF(bench_find(out, row.operation, row.size, row.threads), ERR_INPUT,
                "%s: rows[%d]: %s at %lld with %lld threads is there already", path, i,
                row.operation, (long long)row.size, (long long)row.threads);
        out->rows[out->count++] = row;
        i++;
    }
    return ERR_OK;
}

static enum err read_all(const char *path, const cJSON *root, struct bench_results *out)
{
    char schema[64];
    struct bench_results head = {0};
    const cJSON *environment = item(root, "environment");
    struct environment *e = &head.environment;
    text_of(root, "schema", schema, sizeof schema);
    FAIL_IF(strcmp(schema, SCHEMA), ERR_INPUT,
            "%s: of the schema \"%s\", not \"" SCHEMA "\": not a file of `tomoprof bench --save`",
            path, schema);
    text_of(root, "timestamp", head.timestamp, sizeof head.timestamp);
    text_of(environment, "backend", e->backend, sizeof e->backend);
    text_of(environment, "isa", e->isa, sizeof e->isa);
    text_of(environment, "cpu", e->cpu, sizeof e->cpu);
    e->threads = (int)whole_of(environment, "threads", 1);
    FAIL_IF(e->threads < 1 || !*e->backend, ERR_INPUT, "%s: no right \"environment\"", path);
    if (out->count)
        TRY(bench_same_class(path, &head, out, NULL));
    else
        *out = head;
    return read_rows(path, item(root, "rows"), out);
}

enum err bench_read(const char *path, struct bench_results *out)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, FILE_LIMIT, &text, &bytes));
    cJSON *root = cJSON_Parse(text);
    enum err e = root ? read_all(path, root, out) : FAIL(ERR_INPUT, "%s: not valid JSON", path);
    cJSON_Delete(root);
    free(text);
    return e;
}
