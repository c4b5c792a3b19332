/* `tomoprof info` of timing.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/facts.h"
#include "cli/commands/info_timing.h"

int info_is_timing(const struct timing_file *t)
{
    return t && t->schema && !strncmp(t->schema, "tomoprof-timing/", 16);
}

static void say_environment(struct facts *f, const struct timing_environment *e)
{
    const struct json_record *type = &record_timing_environment;
    facts_group(f, "environment");
    for (int i = 0; i < type->count; i++) {
        const struct json_field *field = &type->fields()[i];
        const void *at = json_at(field, e);
        if (field->kind == JSON_TEXT && *(const char *const *)at)
            facts_string(f, field->key, *(const char *const *)at);
        else if (field->kind == JSON_REAL && isfinite(*(const double *)at))
            facts_number(f, field->key, *(const double *)at, "");
        else if (field->kind == JSON_INT && *(const int64_t *)at != JSON_UNKNOWN)
            facts_number(f, field->key, (double)*(const int64_t *)at, "");
    }
    facts_group_end(f);
}

static void say_counts(struct facts *f, const struct timing_file *t)
{
    static const char *const states[] = {"ok", "skipped", "failed"};
    int counts[3] = {0};
    for (int k = 0; k < t->measurements_count; k++) {
        const char *status = t->measurements[k].status;
        for (int i = 0; i < 3; i++)
            counts[i] += status && !strcmp(status, states[i]);
    }
    facts_group(f, "measurements");
    for (int i = 0; i < 3; i++)
        facts_int(f, states[i], counts[i]);
    facts_group_end(f);
}

static void say_number(double v, int columns, const char *format)
{
    if (isfinite(v))
        printf(format, v);
    else
        printf("%*s", columns, "-");
}

static void say_statistics(const struct timing_file *t)
{
    printf("\n%-32s %6s %10s%10s%10s\n", "operation", "size", "median s", "spread %", "of peak %");
    for (int i = 0; i < t->statistics_count; i++) {
        const struct timing_statistics *s = &t->statistics[i];
        printf("%-32s ", s->operation ? s->operation : "?");
        say_number(json_real(s->volume_size), 6, "%6.0f");
        putchar(' ');
        say_number(s->median, 10, "%10.4g");
        say_number(100 * s->cv, 10, "%10.1f");
        say_number(100 * s->roof_share, 10, "%10.1f");
        putchar('\n');
    }
}

void info_timing(const char *path, const struct timing_file *t, int json)
{
    struct facts f;
    facts_begin(&f, json);
    facts_string(&f, "file", path);
    facts_string(&f, "format", "timings of the profile suite");
    facts_string(&f, "schema", t->schema);
    say_environment(&f, &t->environment);
    say_counts(&f, t);
    facts_end(&f);
    if (!json)
        say_statistics(t);
}
