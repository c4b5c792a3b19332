/* Source text is read from the program's own files alone: a page is passed on, and a name in a
 * trace may be that of a key or a password file. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/build/source_rules.h"

int source_real_path(const char *folder, const char *recorded, char path[PATH_MAX])
{
    char joined[PATH_MAX];
    int inside = recorded[0] != '/' && folder;
    int n = snprintf(joined, sizeof joined, "%s%s%s", inside ? folder : "", inside ? "/" : "",
                     recorded);
    return n < (int)sizeof joined && realpath(joined, path);
}

/* What of `path` follows `folder`, NULL where it does not lie below it. "/" has nothing below it.
 */
static const char *source_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    return n && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static int is_hidden(const char *rest)
{
    return *rest == '.' || strstr(rest, "/.") != NULL;
}

static int below_own(const char *path, const char *folder)
{
    const char *rest = source_below(path, folder);
    return rest && !is_hidden(rest);
}

/* build/solver has its sources in src/ beside build/: the folder above a program's is its own too,
 * unless it is nobody's or holds all that a user has. */
static int holds_project(const struct run *r, const char *folder)
{
    static const char *const shared[] = {"", "/home", "/tmp", "/var/tmp", "/usr", "/root", "/mnt"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (!strcmp(folder, shared[i]))
            return 0;
    return !(source_below(folder, "/home") && !strchr(source_below(folder, "/home"), '/')) &&
           !(r->home && !strcmp(folder, r->home));
}

static int of_program(const struct run *r, const char *path)
{
    char folder[PATH_MAX];
    if (r->cwd && source_real_path(NULL, r->cwd, folder) && below_own(path, folder))
        return 1;
    for (size_t i = 0; i < r->own_folders.count; i++) {
        if (!source_real_path(r->cwd, r->own_folders.items[i].path, folder))
            continue;
        if (below_own(path, folder))
            return 1;
        char *slash = r->own_folders.items[i].built ? strrchr(folder, '/') : NULL;
        if (!slash)
            continue;
        *slash = 0;
        if (holds_project(r, folder) && below_own(path, folder))
            return 1;
    }
    return 0;
}

static int of_packages(const char *path)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(path, parts[i]))
            return 1;
    return 0;
}

static int source_of_system(const char *path)
{
    static const char *const roots[] = {"/usr/src",           "/usr/include",   "/usr/lib",
                                        "/usr/lib64",         "/usr/share",     "/usr/local/src",
                                        "/usr/local/include", "/usr/local/lib", "/usr/local/share",
                                        "/usr/local/cuda",    "/opt",           "/nix/store"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (source_below(path, roots[i]))
            return 1;
    return 0;
}

/* TOMOPROF_SOURCE_DIRS: folders divided by colons. */
static int of_user(const char *path)
{
    const char *list = getenv("TOMOPROF_SOURCE_DIRS");
    for (const char *at = list; at && *at; at += *at == ':') {
        char folder[PATH_MAX], real[PATH_MAX];
        size_t n = strcspn(at, ":");
        snprintf(folder, sizeof folder, "%.*s", n < PATH_MAX ? (int)n : 0, at);
        if (*folder == '/' && source_real_path(NULL, folder, real) && source_below(path, real))
            return 1;
        at += n;
    }
    return 0;
}

int source_is_own(const struct run *r, const char *path)
{
    return of_packages(path) || source_of_system(path) || of_program(r, path) || of_user(path);
}
