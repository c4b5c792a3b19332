/* Reads and checks the weights that a user changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/text.h"
#include "profiler/triage/model/weights.h"

static const struct weight_row rows[] = {
#define X(name, value, least, most, meaning) {#name, meaning, value, least, most},
    WEIGHTS(X)
#undef X
};
#define ROWS (int)(sizeof rows / sizeof *rows)

_Static_assert(sizeof(struct weights) == sizeof rows / sizeof *rows * sizeof(double),
               "weights are doubles alone, in the order of the rows");

int weights_count(void)
{
    return ROWS;
}

const struct weight_row *weights_row(int i)
{
    return i >= 0 && i < ROWS ? &rows[i] : NULL;
}

static double *weights_at(struct weights *w, int i)
{
    return (double *)w + i;
}

struct weights weights_default(void)
{
    struct weights w;
    for (int i = 0; i < ROWS; i++)
        *weights_at(&w, i) = rows[i].value;
    return w;
}

static int weight_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return i;
    return -1;
}

static enum err weight_take(const cJSON *item, struct weights *w)
{
    int i = weight_find(item->string);
    FAIL_IF(i < 0, ERR_INPUT, "unknown weight \"%s\": the end of each triage.md lists them",
            item->string);
    double v = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
    FAIL_IF(!(v >= rows[i].least && v <= rows[i].most), ERR_INPUT,
            "%s must be a number from %g to %g", rows[i].name, rows[i].least, rows[i].most);
    *weights_at(w, i) = v;
    return ERR_OK;
}

/* Rows NAME_low and NAME_high follow each other. */
static enum err check_ranges(struct weights *w)
{
    for (int i = 0; i + 1 < ROWS; i++) {
        if (!text_ends(rows[i].name, "_low"))
            continue;
        FAIL_IF(*weights_at(w, i) > *weights_at(w, i + 1), ERR_INPUT,
                "%s is %g, above %s, which is %g", rows[i].name, *weights_at(w, i),
                rows[i + 1].name, *weights_at(w, i + 1));
    }
    return ERR_OK;
}

static enum err weights_read_object(const cJSON *json, struct weights *w)
{
    FAIL_IF(!cJSON_IsObject(json), ERR_INPUT,
            "not a JSON object of weights: {\"score_share\": 30, ...}");
    for (const cJSON *item = json->child; item; item = item->next)
        TRY(weight_take(item, w));
    return check_ranges(w);
}

enum err weights_read(const char *path, struct weights *w)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, 1 << 20, &text, &bytes));
    cJSON *json = cJSON_ParseWithLength(text, bytes);
    enum err e = weights_read_object(json, w);
    cJSON_Delete(json);
    free(text);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}
