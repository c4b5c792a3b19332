/* The trace files of a folder in the order in which their processes started. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/trace/reader.h"

struct trace_name {
    char *path;
    unsigned long long start;
    unsigned pid;
};

ARRAY_ORDER(by_start, struct trace_name,
            COMPARE(x->start, y->start) ?: COMPARE(x->pid, y->pid) ?: strcmp(x->path, y->path));

/* PID-START.tpt: by their names alone. Others come last. */
static void trace_name_parse(const char *file, struct trace_name *name)
{
    char rest;
    if (sscanf(file, "%u-%llx.tp%c", &name->pid, &name->start, &rest) != 3)
        name->start = ~0ull;
}

static enum err trace_list_add(const char *folder, const char *file, struct trace_name **names,
                               size_t *count)
{
    size_t length = strlen(file), room = strlen(folder) + length + 2;
    if (!text_ends(file, ".tpt"))
        return ERR_OK;
    struct trace_name *grown = *names;
    if (!(*count & (*count - 1))) /* room for the next power of two */
        grown = realloc(*names, (*count ? 2 * *count : 1) * sizeof *grown);
    FAIL_IF(!grown, ERR_MEMORY, "%s: no memory left for its names", folder);
    *names = grown;
    struct trace_name *name = &grown[*count];
    *name = (struct trace_name){.path = malloc(room)};
    FAIL_IF(!name->path, ERR_MEMORY, "%s: no memory left for its names", folder);
    snprintf(name->path, room, "%s/%s", folder, file);
    trace_name_parse(file, name);
    ++*count;
    return ERR_OK;
}

enum err trace_list(const char *folder, char ***paths, size_t *count)
{
    enum err e = ERR_OK;
    struct trace_name *names = NULL;
    *paths = NULL;
    *count = 0;
    DIR *d = opendir(folder);
    FAIL_IF(!d, ERR_INPUT, "%s: cannot read the folder: %s", folder, strerror(errno));
    for (struct dirent *entry; !e && (entry = readdir(d));)
        e = trace_list_add(folder, entry->d_name, &names, count);
    closedir(d);
    if (!e && !*count)
        e = FAIL(ERR_INPUT, "%s: holds no trace (no file PID-START.tpt)", folder);
    if (!e && !(*paths = malloc(*count * sizeof **paths)))
        e = FAIL(ERR_MEMORY, "%s: no memory left for its names", folder);
    if (!e)
        qsort(names, *count, sizeof *names, by_start);
    for (size_t i = 0; i < *count; i++)
        if (e)
            free(names[i].path);
        else
            (*paths)[i] = names[i].path;
    free(names);
    if (e)
        *count = 0;
    return e;
}

void trace_list_free(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}
