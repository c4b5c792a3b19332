/* Targets of speed: reading, judging, the table of passed and missed ones. */
#include <cjson/cJSON.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/json/tables.h"
#include "host/suite/statistics/targets.h"

#define TARGETS_LIMIT ((size_t)1 << 20)

/* targets.json of the sources, as it is. */
__asm__(".pushsection .rodata\n"
        "tp_targets_shipped: .incbin \"" TP_TARGETS "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char tp_targets_shipped[] __attribute__((visibility("hidden")));

/* clang-format off */
JSON_RECORD(speed_target, TARGET_FIELDS)
JSON_RECORD(targets, TARGETS_FILE_FIELDS)
/* clang-format on */

enum { INPUT, OUTPUT, COPY, OUTPUT_COPY, MILLISECONDS, MEASURES };
static const struct {
    const char *name, *unit;
} measures[MEASURES] = {[INPUT] = {"input_mb_per_s", "MB/s in"},
                        [OUTPUT] = {"output_mb_per_s", "MB/s out"},
                        [COPY] = {"copy_share", "of copy"},
                        [OUTPUT_COPY] = {"output_copy_share", "of copy"},
                        [MILLISECONDS] = {"milliseconds", "ms"}};

static int target_measure(const struct speed_target *t)
{
    int i = 0;
    while (i < MEASURES && strcmp(measures[i].name, t->measure))
        i++;
    return i;
}

static enum err targets_check(const char *name, const struct targets *t)
{
    FAIL_IF(!t->schema || strcmp(t->schema, TARGETS_SCHEMA), ERR_INPUT,
            "%s: its schema is \"%s\", known is " TARGETS_SCHEMA, name, t->schema ? t->schema : "");
    FAIL_IF(!t->targets_count, ERR_INPUT, "%s: it holds no targets", name);
    for (int i = 0; i < t->targets_count; i++) {
        const struct speed_target *one = &t->targets[i];
        FAIL_IF(!one->operation || !one->measure, ERR_INPUT,
                "%s: target %d has no operation or no measure", name, i + 1);
        FAIL_IF(target_measure(one) == MEASURES, ERR_INPUT,
                "%s: target %d has the measure \"%s\"; known are input_mb_per_s, output_mb_per_s, "
                "copy_share, output_copy_share, milliseconds",
                name, i + 1, one->measure);
        FAIL_IF(isnan(one->at_least) == isnan(one->at_most), ERR_INPUT,
                "%s: target %d (%s) needs either at_least or at_most", name, i + 1, one->operation);
    }
    return ERR_OK;
}

static enum err targets_parse(const char *name, cJSON *root, struct targets *out)
{
    FAIL_IF(!cJSON_IsObject(root), ERR_INPUT, "%s: is not a JSON object", name);
    TRY(arena_create(&out->arena));
    struct arena *arena = out->arena;
    json_blank(&record_targets, out);
    out->arena = arena;
    TRY(json_read(arena, &record_targets, root, out, JSON_LENIENT));
    return targets_check(name, out);
}

enum err targets_read(const char *name, struct targets *out)
{
    const int shipped = !strcmp(name, TARGETS_SHIPPED);
    cJSON *root = shipped ? cJSON_Parse(tp_targets_shipped) : NULL;
    *out = (struct targets){0};
    if (!shipped)
        TRY(json_parse_file(name, TARGETS_LIMIT, &root));
    const enum err e = targets_parse(name, root, out);
    cJSON_Delete(root);
    if (e)
        targets_free(out);
    return e;
}

void targets_free(struct targets *t)
{
    if (t->arena)
        arena_free(t->arena);
    *t = (struct targets){0};
}

static double target_measured(const struct speed_target *t, const struct target_row *row)
{
    switch (target_measure(t)) {
    case INPUT:
        return row->bytes_in / row->seconds * 1e-6;
    case OUTPUT:
        return row->bytes_out / row->seconds * 1e-6;
    case COPY:
        return row->bytes_moved / row->seconds / row->copy_bytes_per_s;
    case OUTPUT_COPY:
        return 2 * row->bytes_out / row->seconds / row->copy_bytes_per_s;
    default:
        return row->seconds * 1e3;
    }
}

static int is_share(const struct speed_target *t)
{
    return target_measure(t) == COPY || target_measure(t) == OUTPUT_COPY;
}

static struct target_value value_of(const struct speed_target *t, const struct target_row *row)
{
    if (is_share(t) && row->pairs.n) {
        const double bytes = target_measure(t) == COPY ? row->bytes_moved : 2 * row->bytes_out,
                     k = bytes / row->pair_bytes;
        return (struct target_value){k * row->pairs.median, k * row->pairs.low,
                                     k * row->pairs.high};
    }
    const double value = target_measured(t, row);
    return (struct target_value){value, value, value};
}

static int target_is_about(const struct speed_target *t, const struct target_row *row)
{
    return !fnmatch(t->operation, row->operation, 0) && !(row->size < t->from_size);
}

enum target_verdict target_judge(const struct speed_target *t, const struct target_row *row,
                                 struct target_value *value)
{
    *value = (struct target_value){NAN, NAN, NAN};
    if (!target_is_about(t, row))
        return TARGET_ELSEWHERE;
    if (row->reason)
        return TARGET_UNKNOWN;
    *value = value_of(t, row);
    if (!isfinite(value->value))
        return TARGET_UNKNOWN;
    if (row->implausible)
        return TARGET_MISSED;
    const int most = !isnan(t->at_most);
    if (most ? value->high <= t->at_most : value->low >= t->at_least)
        return TARGET_PASSED;
    return (most ? value->low > t->at_most : value->high < t->at_least) ? TARGET_MISSED
                                                                        : TARGET_UNDECIDED;
}

int targets_open(const struct targets *t, const struct target_row *row)
{
    struct target_value value;
    for (int i = 0; i < t->targets_count; i++)
        if (is_share(&t->targets[i]) &&
            target_judge(&t->targets[i], row, &value) == TARGET_UNDECIDED)
            return 1;
    return 0;
}

int targets_ask_pairs(const struct targets *t, const struct target_row *row)
{
    for (int i = 0; i < t->targets_count; i++)
        if (is_share(&t->targets[i]) && target_is_about(&t->targets[i], row))
            return 1;
    return 0;
}

#define LINE "%-23s %-10s %9s %-15s %9s %-8s %-11s %s"

static void print_line(const struct speed_target *t, const struct target_row *row,
                       const struct target_value *v, enum target_verdict verdict)
{
    static const char *const words[] = {[TARGET_PASSED] = "pass",
                                        [TARGET_MISSED] = "missed",
                                        [TARGET_UNDECIDED] = "undecided",
                                        [TARGET_UNKNOWN] = "unknown"};
    char number[16] = "-", interval[32] = "", limit[24];
    const int most = !isnan(t->at_most);
    const char *colour = verdict == TARGET_PASSED ? "" : PLAIN_RED;
    if (isfinite(v->value))
        snprintf(number, sizeof number, "%.3g", v->value);
    if (v->high > v->low)
        snprintf(interval, sizeof interval, "(%.3g-%.3g)", v->low, v->high);
    snprintf(limit, sizeof limit, "%s %.3g", most ? "<=" : ">=", most ? t->at_most : t->at_least);
    const char *word =
        verdict == TARGET_MISSED && row->implausible ? "implausible" : words[verdict];
    log_styled("%s" LINE "%s", log_colour() ? colour : "", row->operation, row->shape, number,
               interval, limit, measures[target_measure(t)].unit, word,
               row->reason ? row->reason
               : t->source ? t->source
                           : "",
               log_colour() && *colour ? PLAIN_END : "");
}

struct targets_count targets_print(const struct targets *t, const struct target_row *rows, int n)
{
    struct targets_count count = {0, 0, 0, 0};
    log_info("\n" LINE, "target", "size", "measured", "99 % interval", "limit", "", "verdict",
             "source");
    for (int i = 0; i < t->targets_count; i++)
        for (int k = 0; k < n; k++) {
            struct target_value value;
            const enum target_verdict v = target_judge(&t->targets[i], &rows[k], &value);
            if (v == TARGET_ELSEWHERE)
                continue;
            count.passed += v == TARGET_PASSED;
            count.missed += v == TARGET_MISSED;
            count.undecided += v == TARGET_UNDECIDED;
            count.unknown += v == TARGET_UNKNOWN;
            print_line(&t->targets[i], &rows[k], &value, v);
        }
    return count;
}

enum err targets_conclude(const struct targets *t, const struct targets_count *count,
                          const char *gate, const char *what)
{
    const int all = count->passed + count->missed + count->undecided + count->unknown;
    FAIL_IF(!all, ERR_FAILED, "`gate`: none of the %d targets of %s is about %s", t->targets_count,
            gate, what);
    if (count->undecided)
        log_warn("`gate`: %d of %d targets undecided: their intervals hold the limit. Other load "
                 "widens them",
                 count->undecided, all);
    FAIL_IF(count->missed, ERR_FAILED, "`gate`: %d of %d targets missed", count->missed, all);
    return ERR_OK;
}
