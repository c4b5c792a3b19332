/* Parses comma lists of operations and sizes into a plan. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/options.h"
#include "host/suite/catalogue/volume.h"
#include "host/suite/run/plan.h"

int operations_with(const char *part, const char *const *names, int n, char out[200])
{
    *out = 0;
    for (int i = 0; i < n && *part; i++)
        if (strstr(names[i], part))
            text_append(out, 200, "%s%s", *out ? ", " : "", names[i]);
    return *out != 0;
}

static enum err unknown_operation_name(const char *name)
{
    const char *names[PLAN_OPS];
    int n = 0;
    for (const struct operation *op; n < PLAN_OPS && (op = operation_at(n)); n++)
        names[n] = op->name;
    char inside[200];
    if (operations_with(name, names, n, inside))
        return FAIL(ERR_USAGE, "`ops`: no operation is called \"%s\": did you mean %s?", name,
                    inside);
    const char *near = opt_nearest(name, names, n);
    if (near)
        return FAIL(ERR_USAGE, "`ops`: no operation is called \"%s\": did you mean %s?", name,
                    near);
    return FAIL(ERR_USAGE,
                "`ops`: no operation is called \"%s\": `tomoprof run --list` shows them all", name);
}

/* Marks in wanted[] what one item of the list names; NULL: what belongs to every run. */
static enum err choose_operations(const char *item, int wanted[PLAN_OPS])
{
    int found = 0;
    const struct operation *op;
    for (int i = 0; i < PLAN_OPS && (op = operation_at(i)); i++)
        if (item ? !fnmatch(item, op->name, 0) : !op->apart)
            wanted[i] = found = 1;
    return found ? ERR_OK : unknown_operation_name(item);
}

/* Adds an edge to out->sizes, which stay ascending and without repeats. */
static enum err add_size(const char *item, struct run_plan *out)
{
    char *end;
    errno = 0;
    const long long n = strtoll(item, &end, 10);
    FAIL_IF(!*item || *end, ERR_USAGE, "`sizes`: \"%s\" is not a whole number", item);
    FAIL_IF(errno || n < SIZE_MIN || n > SIZE_MAX_EDGE, ERR_USAGE, "`sizes`: %s is outside %d..%d",
            item, SIZE_MIN, SIZE_MAX_EDGE);
    int at = 0, count = out->size_count;
    while (at < count && out->sizes[at] < n)
        at++;
    if (at < count && out->sizes[at] == n)
        return ERR_OK;
    FAIL_IF(count == PLAN_SIZES, ERR_USAGE, "`sizes`: more than %d sizes", PLAN_SIZES);
    memmove(out->sizes + at + 1, out->sizes + at, (size_t)(count - at) * sizeof *out->sizes);
    out->sizes[at] = n;
    out->size_count = count + 1;
    return ERR_OK;
}

/* The item of a comma list that starts at *list, cut off in place; NULL at the end. Blanks around
 * it are dropped. */
static char *next_item(char **list)
{
    char *item = strsep(list, ",");
    if (!item)
        return NULL;
    item += strspn(item, " \t");
    size_t n = strlen(item);
    while (n && (item[n - 1] == ' ' || item[n - 1] == '\t'))
        item[--n] = 0;
    return item;
}

int shape_parse(const char *text, int64_t shape[3])
{
    for (int a = 0; a < 3; a++) {
        char *end;
        errno = 0;
        const long long n = strtoll(text, &end, 10);
        if (end == text || errno || n < 1 || n > SIZE_MAX_EDGE || *end != (a < 2 ? 'x' : 0))
            return 0;
        shape[a] = n;
        text = end + 1;
    }
    return 1;
}

void shape_text(int64_t size, const int64_t shape[3], char out[SHAPE_TEXT])
{
    if (shape[0])
        snprintf(out, SHAPE_TEXT, "%" PRId64 "x%" PRId64 "x%" PRId64, shape[0], shape[1], shape[2]);
    else
        snprintf(out, SHAPE_TEXT, "%" PRId64, size);
}

/* A shape waits in `shapes` until all edges are there. */
struct shapes {
    int64_t items[PLAN_SIZES][3];
    int count;
};

/* The edge of a cube of as many voxels stands for the size of a shape. */
static enum err plan_add_shapes(const struct shapes *shapes, struct run_plan *out)
{
    FAIL_IF(out->size_count + shapes->count > PLAN_SIZES, ERR_USAGE, "`sizes`: more than %d sizes",
            PLAN_SIZES);
    for (int i = 0; i < shapes->count; i++) {
        const int64_t *n = shapes->items[i];
        memcpy(out->shapes[out->size_count], n, sizeof out->shapes[0]);
        out->sizes[out->size_count++] = llround(cbrt((double)n[0] * (double)n[1] * (double)n[2]));
    }
    for (int i = 0; i < out->op_count && shapes->count; i++)
        FAIL_IF(!out->ops[i]->step, ERR_USAGE,
                "`sizes`: shapes like %" PRId64 "x%" PRId64 "x%" PRId64
                " are for the operations of `group=volume`, %s takes edges",
                shapes->items[0][0], shapes->items[0][1], shapes->items[0][2], out->ops[i]->name);
    return ERR_OK;
}

static enum err plan_operations(const char *text, struct run_plan *out)
{
    enum err e = ERR_OK;
    int wanted[PLAN_OPS] = {0};
    char *copy = strdup(text ? text : ""), *rest = text ? copy : NULL, *item;
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the plan");
    if (!text)
        e = choose_operations(NULL, wanted);
    while (!e && (item = next_item(&rest)))
        e = *item ? choose_operations(item, wanted)
                  : FAIL(ERR_USAGE, "`ops` \"%s\": an item of the list is empty", text);
    for (int i = 0; !e && i < PLAN_OPS && operation_at(i); i++)
        if (wanted[i])
            out->ops[out->op_count++] = operation_at(i);
    free(copy);
    return e;
}

static enum err plan_add_sizes(const char *sizes, struct run_plan *out)
{
    struct shapes shapes = {.count = 0};
    enum err e = ERR_OK;
    char *copy = strdup(sizes), *rest = copy, *item;
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the plan");
    while (!e && (item = next_item(&rest)))
        if (shapes.count < PLAN_SIZES && shape_parse(item, shapes.items[shapes.count]))
            shapes.count++;
        else
            e = add_size(item, out);
    free(copy);
    return e ? e : plan_add_shapes(&shapes, out);
}

enum err plan_check_settings(const struct run_plan *p, const char *text)
{
    const char *items[SETTINGS_MOST];
    char *copy = strdup(text ? text : "");
    int count = 0;
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the parameters");
    enum err e = settings_split(copy, items, SETTINGS_MOST, &count);
    for (int i = 0; i < count && !e; i++) {
        int taken = 0;
        if (!strchr(items[i], '='))
            e = FAIL(ERR_USAGE, "`set=%s`: KEY=VALUE is needed", items[i]);
        for (int k = 0; k < p->op_count; k++)
            taken |= setting_taken(p->ops[k], items[i]);
        if (!taken && !e)
            e = FAIL(ERR_USAGE, "`set=%s`: no operation of this run takes it; %s%s", items[i],
                     p->op_count == 1 && p->ops[0]->settings ? "it takes " : "",
                     p->op_count == 1 && p->ops[0]->settings
                         ? p->ops[0]->settings
                         : "storage_read_batch_blocks takes batches, for example");
    }
    free(copy);
    return e;
}

enum err plan_parse(const char *group, const char *ops, const char *sizes, int large,
                    struct run_plan *out)
{
    static const char volumes[] = "32,128,256,512x512x30,256x256x170";
    const char *usual = group && !strcmp(group, "volume")  ? volumes
                        : group && !strcmp(group, "demos") ? "64"
                                                           : "32,64,128,256";
    char all[256];
    FAIL_IF(sizes && strlen(sizes) > sizeof all - 16, ERR_USAGE, "`sizes`: the list is too long");
    snprintf(all, sizeof all, "%s%s", sizes ? sizes : usual, large ? ",512,1024" : "");
    memset(out, 0, sizeof *out);
    TRY(plan_operations(group && !ops ? "*" : ops, out));
    int n = 0;
    for (int i = 0; i < out->op_count; i++)
        if (!group || !strcmp(out->ops[i]->group, group))
            out->ops[n++] = out->ops[i];
    FAIL_IF(!n, ERR_USAGE,
            "`group=%s`: %s; the groups are in the second column of `tomoprof run --list`", group,
            ops ? "`ops` names none of it" : "the group is not known");
    out->op_count = n;
    return plan_add_sizes(all, out);
}
