/* Opens a back end by its name, or for "auto" the first that works here, and explains why one does
 * not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "base/memory.h"

#define ROWS 8

/* Every back end that tomoprof knows, in the order in which "auto" tries them, with the reason that
 * holds when the program was linked without it. */
static const struct {
    const char *name, *absent;
} known[] = {
    {"cuda", "this build has no CUDA back end"},
    {"cpu", "this program was linked without its CPU back end"},
};
#define KNOWN (int)(sizeof known / sizeof *known)

static const struct backend_ops *registered[ROWS];
static int count;

/* By row of `known`: how to load it, NULL once that was tried, and why it failed. */
static backend_loader *loaders[KNOWN];
static char failures[KNOWN][512];
static char passed_over[512];

void backend_register(const struct backend_ops *ops)
{
    if (count < ROWS)
        registered[count++] = ops;
}

void backend_register_loader(const char *name, backend_loader *load)
{
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(name, known[i].name))
            loaders[i] = load;
}

static void registry_load(int row)
{
    const struct backend_ops *ops = NULL;
    backend_loader *loader = loaders[row];
    loaders[row] = NULL;
    if (loader && loader(&ops) == ERR_OK)
        backend_register(ops);
    else if (loader)
        snprintf(failures[row], sizeof failures[row], "%s", err_text());
}

static const char *registry_reason(int row)
{
    return *failures[row] ? failures[row] : known[row].absent;
}

static const struct backend_ops *registry_find(const char *name)
{
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(name, known[i].name))
            registry_load(i);
    for (int i = 0; i < count; i++)
        if (!strcmp(registered[i]->name, name))
            return registered[i];
    return NULL;
}

static enum err open_auto(const struct backend_options *options, struct backend **out)
{
    enum err e = FAIL(ERR_UNSUPPORTED, "this program was linked without any back end");
    *passed_over = 0;
    for (int i = 0; i < KNOWN; i++) {
        const struct backend_ops *ops = registry_find(known[i].name);
        if (ops && (e = ops->open(options, out)) == ERR_OK)
            return ERR_OK;
        if (ops && !*passed_over)
            snprintf(passed_over, sizeof passed_over, "%s", err_text());
    }
    return e;
}

const char *backend_passed_over(void)
{
    return passed_over;
}

/* `options` with the environment's limit where they have none. */
static enum err options_with_limit(const struct backend_options *options,
                                   struct backend_options *out)
{
    const char *limit = getenv(BACKEND_DEVICE_MEMORY);
    *out = *options;
    if (out->device_memory || !limit || !*limit)
        return ERR_OK;
    enum err e = mem_parse(limit, &out->device_memory);
    return e ? err_prefix(e, BACKEND_DEVICE_MEMORY) : ERR_OK;
}

static int calibration_is(const char *how)
{
    const char *wish = getenv("TOMOPROF_CALIBRATION");
    return wish && !strcmp(wish, how);
}

int backend_calibration_is_brief(void)
{
    return calibration_is("brief");
}

int backend_calibration_is_trusted(void)
{
    return calibration_is("trusted");
}

enum err backend_open(const char *name, const struct backend_options *wish, struct backend **out)
{
    struct backend_options options;
    *out = NULL;
    TRY(options_with_limit(wish, &options));
    if (!strcmp(name, "auto"))
        return open_auto(&options, out);
    const struct backend_ops *ops = registry_find(name);
    if (ops)
        return ops->open(&options, out);

    char names[200] = "auto";
    for (int i = 0; i < count; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, ", %s", registered[i]->name);
    }
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(name, known[i].name))
            return FAIL(ERR_UNSUPPORTED, "`backend=%s`: %s: use one of %s", name,
                        registry_reason(i), names);
    return FAIL(ERR_USAGE, "`backend=%s`: unknown: must be one of %s", name, names);
}

void backend_close(struct backend *be)
{
    if (be)
        be->ops->close(be);
}

int backend_describe(int index, const char **name, const char **unusable_reason)
{
    if (index < 0 || index >= KNOWN)
        return 0;
    *name = known[index].name;
    *unusable_reason = registry_find(known[index].name) ? "" : registry_reason(index);
    return 1;
}
