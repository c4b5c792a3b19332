/* Patterns that a shell did not replace, because they were quoted or fit nothing. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/storage/paths.h"

static enum err paths_add(struct paths *p, size_t *room, const char *name)
{
    TRY(array_room(&p->items, room, (size_t)p->count + 2, sizeof *p->items));
    p->items[p->count] = strdup(name);
    FAIL_IF(!p->items[p->count], ERR_MEMORY, "no memory left for the names of files");
    p->items[++p->count] = NULL;
    return ERR_OK;
}

static enum err paths_add_pattern(struct paths *p, size_t *room, const char *pattern)
{
    glob_t found = {0};
    const int done = glob(pattern, 0, NULL, &found);
    enum err e = ERR_OK;
    if (done == GLOB_NOMATCH)
        e = FAIL(ERR_INPUT, "%s: no file fits this pattern", pattern);
    else if (done)
        e = FAIL(ERR_INPUT, "%s: the folders of this pattern cannot be read", pattern);
    for (size_t i = 0; i < found.gl_pathc && !e; i++)
        e = paths_add(p, room, found.gl_pathv[i]);
    globfree(&found);
    return e;
}

enum err paths_expand(char **word, int words, struct paths *out)
{
    size_t room = 0;
    enum err e = ERR_OK;
    *out = (struct paths){NULL, 0};
    for (int i = 0; i < words && !e; i++) {
        const int is_pattern =
            strpbrk(word[i], "*?[") && !strstr(word[i], "://") && access(word[i], F_OK) != 0;
        e = is_pattern ? paths_add_pattern(out, &room, word[i]) : paths_add(out, &room, word[i]);
    }
    if (e)
        paths_free(out);
    return e;
}

void paths_free(struct paths *p)
{
    for (int i = 0; i < p->count; i++)
        free(p->items[i]);
    free(p->items);
    *p = (struct paths){NULL, 0};
}
