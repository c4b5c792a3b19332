#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "host/cli/doctor/facts.h"
#include "host/cli/commands/info_timing.h"

static const char *string_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* NAN when it is missing or null. */
static double number_of(const cJSON *object, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

int info_is_timing(const char *text)
{
    cJSON *root = cJSON_Parse(text);
    const char *schema = string_of(root, "schema");
    int is = schema && !strncmp(schema, "tomoprof-timing/", 16);
    cJSON_Delete(root);
    return is;
}

static void say_environment(struct facts *f, const cJSON *environment)
{
    const cJSON *item;
    facts_group(f, "environment");
    cJSON_ArrayForEach (item, environment) {
        if (cJSON_IsString(item))
            facts_string(f, item->string, item->valuestring);
        else if (cJSON_IsNumber(item))
            facts_number(f, item->string, item->valuedouble, "");
    }
    facts_group_end(f);
}

static void say_counts(struct facts *f, const cJSON *measurements)
{
    static const char *const states[] = {"ok", "skipped", "failed"};
    int counts[3] = {0};
    const cJSON *row;
    cJSON_ArrayForEach (row, measurements) {
        const char *status = string_of(row, "status");
        for (int i = 0; i < 3; i++)
            counts[i] += status && !strcmp(status, states[i]);
    }
    facts_group(f, "measurements");
    for (int i = 0; i < 3; i++)
        facts_int(f, states[i], counts[i]);
    facts_group_end(f);
}

static void say_number(double v, const char *format)
{
    if (isfinite(v))
        printf(format, v);
    else
        printf("%10s", "-");
}

static void say_statistics(const cJSON *statistics)
{
    const cJSON *row;
    printf("\n%-32s %6s %10s%10s%10s\n", "operation", "size", "median s", "spread %", "of peak %");
    cJSON_ArrayForEach (row, statistics) {
        const char *operation = string_of(row, "operation");
        printf("%-32s %6.0f ", operation ? operation : "?", number_of(row, "volume_size"));
        say_number(number_of(row, "median"), "%10.4g");
        say_number(100 * number_of(row, "cv"), "%10.1f");
        say_number(100 * number_of(row, "roof_share"), "%10.1f");
        putchar('\n');
    }
}

enum err info_timing(const char *path, const char *text, int json)
{
    cJSON *root = cJSON_Parse(text);
    FAIL_IF(!root, ERR_INPUT, "%s: not valid JSON", path);
    struct facts f;
    facts_begin(&f, json);
    facts_string(&f, "file", path);
    facts_string(&f, "format", "timings of the profile suite");
    facts_string(&f, "schema", string_of(root, "schema"));
    say_environment(&f, cJSON_GetObjectItemCaseSensitive(root, "environment"));
    say_counts(&f, cJSON_GetObjectItemCaseSensitive(root, "measurements"));
    facts_end(&f);
    if (!json)
        say_statistics(cJSON_GetObjectItemCaseSensitive(root, "statistics"));
    cJSON_Delete(root);
    return ERR_OK;
}
