#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/opt.h"
#include "host/suite/plan.h"

static const char default_sizes[] = "32,64,128,256";

static enum err unknown_operation(const char *name)
{
    const char *names[PLAN_OPS];
    int n = 0;
    for (const struct operation *op; n < PLAN_OPS && (op = operation_at(n)); n++)
        names[n] = op->name;
    const char *near = opt_nearest(name, names, n);
    if (near)
        return FAIL(ERR_USAGE, "--ops: no operation is called \"%s\": did you mean %s?", name,
                    near);
    return FAIL(ERR_USAGE,
                "--ops: no operation is called \"%s\": `tomoprof run --list` shows them all", name);
}

/* Marks in wanted[] what one item of the list names. */
static enum err choose(const char *item, int wanted[PLAN_OPS])
{
    int found = 0;
    const struct operation *op;
    for (int i = 0; i < PLAN_OPS && (op = operation_at(i)); i++)
        if (!fnmatch(item, op->name, 0))
            wanted[i] = found = 1;
    return found ? ERR_OK : unknown_operation(item);
}

static enum err add_size(struct plan *p, const char *item)
{
    char *end;
    errno = 0;
    long long n = strtoll(item, &end, 10);
    FAIL_IF(!*item || *end, ERR_USAGE, "--sizes: \"%s\" is no whole number", item);
    FAIL_IF(errno || n < SIZE_MIN || n > SIZE_MAX_EDGE, ERR_USAGE, "--sizes: %s is outside %d..%d",
            item, SIZE_MIN, SIZE_MAX_EDGE);
    int at = 0;
    while (at < p->size_count && p->sizes[at] < n)
        at++;
    if (at < p->size_count && p->sizes[at] == n)
        return ERR_OK;
    FAIL_IF(p->size_count == PLAN_SIZES, ERR_USAGE, "--sizes: more than %d sizes", PLAN_SIZES);
    memmove(p->sizes + at + 1, p->sizes + at, (size_t)(p->size_count - at) * sizeof *p->sizes);
    p->sizes[at] = n;
    p->size_count++;
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

enum err plan_parse(const char *ops, const char *sizes, struct plan *out)
{
    memset(out, 0, sizeof *out);
    enum err e = ERR_OK;
    int wanted[PLAN_OPS] = {0};
    char *op_list = strdup(ops ? ops : "*"), *size_list = strdup(sizes ? sizes : default_sizes);
    char *rest, *item;
    if (!op_list || !size_list) {
        e = FAIL(ERR_MEMORY, "no memory left for the plan");
        goto out;
    }
    for (rest = op_list; (item = next_item(&rest));) {
        if (!*item) {
            e = FAIL(ERR_USAGE, "--ops \"%s\": an item of the list is empty", ops);
            goto out;
        }
        TRY_OUT(choose(item, wanted));
    }
    for (rest = size_list; (item = next_item(&rest));)
        TRY_OUT(add_size(out, item));
    for (int i = 0; i < PLAN_OPS && operation_at(i); i++)
        if (wanted[i])
            out->ops[out->op_count++] = operation_at(i);
out:
    free(op_list);
    free(size_list);
    return e;
}
