/* Comma lists of operations, sizes and threads to a plan. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/options.h"
#include "host/suite/run/plan.h"

const struct menu suite_menu = {operation_at, "tomoprof run --list", "32,64,128,256"};
const struct menu bench_menu = {bench_operation_at, "tomoprof bench --list", "256"};

int operations_with(const char *part, const char *const *names, int n, char out[200])
{
    int found = 0, used = 0;
    for (int i = 0; i < n && *part; i++)
        if (strstr(names[i], part) && used < 200) {
            used += snprintf(out + used, (size_t)(200 - used), "%s%s", found ? ", " : "", names[i]);
            found = 1;
        }
    return found;
}

static enum err unknown_operation(const struct menu *menu, const char *name)
{
    const char *names[PLAN_OPS];
    int n = 0;
    for (const struct operation *op; n < PLAN_OPS && (op = menu->at(n)); n++)
        names[n] = op->name;
    char inside[200];
    if (operations_with(name, names, n, inside))
        return FAIL(ERR_USAGE, "--ops: no operation is called \"%s\", its name is in: %s", name,
                    inside);
    const char *near = opt_nearest(name, names, n);
    if (near)
        return FAIL(ERR_USAGE, "--ops: no operation is called \"%s\": did you mean %s?", name,
                    near);
    return FAIL(ERR_USAGE, "--ops: no operation is called \"%s\": `%s` shows them all", name,
                menu->list);
}

/* Marks in wanted[] what one item of the list names; NULL: what belongs to every run. */
static enum err choose(const struct menu *menu, const char *item, int wanted[PLAN_OPS])
{
    int found = 0;
    const struct operation *op;
    for (int i = 0; i < PLAN_OPS && (op = menu->at(i)); i++)
        if (item ? !fnmatch(item, op->name, 0) : !op->apart)
            wanted[i] = found = 1;
    return found ? ERR_OK : unknown_operation(menu, item);
}

/* An ascending list without repeats that one option fills. */
struct comma_list {
    const char *option;
    int64_t least, most;
    int64_t *items;
    int *count, room;
};

static enum err add_number(const struct comma_list *l, const char *item)
{
    char *end;
    errno = 0;
    long long n = strtoll(item, &end, 10);
    FAIL_IF(!*item || *end, ERR_USAGE, "--%s: \"%s\" is not a whole number", l->option, item);
    FAIL_IF(errno || n < l->least || n > l->most, ERR_USAGE,
            "--%s: %s is outside %" PRId64 "..%" PRId64, l->option, item, l->least, l->most);
    int at = 0, count = *l->count;
    while (at < count && l->items[at] < n)
        at++;
    if (at < count && l->items[at] == n)
        return ERR_OK;
    FAIL_IF(count == l->room, ERR_USAGE, "--%s: more than %d %s", l->option, l->room, l->option);
    memmove(l->items + at + 1, l->items + at, (size_t)(count - at) * sizeof *l->items);
    l->items[at] = n;
    *l->count = count + 1;
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

static enum err add_numbers(const struct comma_list *l, const char *text)
{
    enum err e = ERR_OK;
    char *copy = strdup(text), *rest = copy, *item;
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the plan");
    while (!e && (item = next_item(&rest)))
        e = add_number(l, item);
    free(copy);
    return e;
}

static enum err add_operations(const struct menu *menu, const char *text, struct run_plan *out)
{
    enum err e = ERR_OK;
    int wanted[PLAN_OPS] = {0};
    char *copy = strdup(text ? text : ""), *rest = text ? copy : NULL, *item;
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the plan");
    if (!text)
        e = choose(menu, NULL, wanted);
    while (!e && (item = next_item(&rest)))
        e = *item ? choose(menu, item, wanted)
                  : FAIL(ERR_USAGE, "--ops \"%s\": an item of the list is empty", text);
    for (int i = 0; !e && i < PLAN_OPS && menu->at(i); i++)
        if (wanted[i])
            out->ops[out->op_count++] = menu->at(i);
    free(copy);
    return e;
}

enum err plan_parse(const struct menu *menu, const char *ops, const char *sizes,
                    struct run_plan *out)
{
    memset(out, 0, sizeof *out);
    const struct comma_list l = {"sizes",    SIZE_MIN,         SIZE_MAX_EDGE,
                                 out->sizes, &out->size_count, PLAN_SIZES};
    TRY(add_operations(menu, ops, out));
    return add_numbers(&l, sizes ? sizes : menu->sizes);
}

enum err plan_parse_threads(const char *text, int all, int64_t out[PLAN_THREADS], int *count)
{
    const struct comma_list l = {"threads", 1, THREADS_MAX, out, count, PLAN_THREADS};
    char both[32];
    snprintf(both, sizeof both, "1,%d", all);
    *count = 0;
    return add_numbers(&l, text ? text : both);
}
