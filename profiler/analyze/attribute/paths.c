/* Shows paths without what is personal in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/paths.h"

/* Returns the rest of `path` below `folder`; NULL: it is not below it. */
static const char *rest_below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n && folder[n - 1] == '/')
        n--;
    return n && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* "/home/NAME/rest" -> rest; "/home/NAME" -> "" */
static const char *below_any_home(const char *path)
{
    static const char *const homes[] = {"/home/", "/Users/", "/root"};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        size_t n = strlen(homes[i]);
        if (strncmp(path, homes[i], n))
            continue;
        size_t name = strcspn(path + n, "/:;, \t\n'\"");
        if (i < 2 ? !name : name) /* no name, or something like /rootfs */
            continue;
        path += n + name;
        return path + (*path == '/');
    }
    return NULL;
}

/* Folders of the system and those that containers mount, with names that are not personal. */
static int of_system(const char *path)
{
    static const char *const roots[] = {"/usr/", "/lib",  "/bin/",       "/sbin/",
                                        "/opt/", "/etc/", "/nix/store/", "/proc/",
                                        "/dev/", "/src/", "/app/",       "/workspace/"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (!strncmp(path, roots[i], strlen(roots[i])))
            return 1;
    return 0;
}

/* A shown path is a path too: path_shown puts both into the table. */
static int is_taken(struct run *r, const char *shown)
{
    return table_get(&r->path_of, (uintptr_t)run_text(r, shown)) != TABLE_NONE;
}

/* The last three parts of a path behind "...", numbered where another file has the same name. */
static const char *path_shortened(struct run *r, const char *recorded)
{
    char text[4200];
    const char *at = recorded + strlen(recorded);
    for (int parts = 0; parts < 3 && at > recorded + 1; parts++)
        do
            at--;
        while (at > recorded + 1 && *at != '/');
    if (*at != '/') /* the first folder stays away: it may be a name */
        at = strchr(at, '/') ? strchr(at, '/') : recorded;
    int n = snprintf(text, sizeof text, "...%.4100s", at);
    for (int number = 2; is_taken(r, text); number++)
        snprintf(text + n, sizeof text - (size_t)n, " (%d)", number);
    return run_text(r, text);
}

/* Nothing personal: below the working folder relative to it, packages by their own path, the home
 * folder as ~, of other folders but the system's the last parts. */
static const char *shown_path(struct run *r, const char *recorded)
{
    char text[4200];
    const char *rest, *packages;
    if (r->options->absolute_paths || recorded[0] != '/')
        return run_text(r, recorded);
    if ((rest = rest_below(recorded, r->cwd)))
        return run_text(r, rest);
    if ((packages = strstr(recorded, "/site-packages/")) ||
        (packages = strstr(recorded, "/dist-packages/")))
        return run_text(r, packages + 1);
    if (!(rest = rest_below(recorded, r->home)))
        rest = below_any_home(recorded);
    if (!rest)
        return of_system(recorded) ? run_text(r, recorded) : path_shortened(r, recorded);
    snprintf(text, sizeof text, "~/%s", rest);
    return run_text(r, text);
}

const char *path_shown(struct run *r, const char *recorded)
{
    if (!(recorded = run_text(r, recorded))) /* one text, one path, wherever a caller keeps it */
        return NULL;
    uint32_t at = table_get(&r->path_of, (uintptr_t)recorded);
    if (at != TABLE_NONE)
        return r->paths.items[at];
    const char *shown = shown_path(r, recorded);
    if (vector_add(&r->paths, shown) == ERR_OK) {
        (void)table_put(&r->path_of, (uintptr_t)recorded, (uint32_t)r->paths.count - 1);
        if (shown && table_get(&r->path_of, (uintptr_t)shown) == TABLE_NONE)
            (void)table_put(&r->path_of, (uintptr_t)shown, (uint32_t)r->paths.count - 1);
    }
    return shown;
}

/* Returns the length of the path that begins at `text`: lists are divided by these. */
static size_t path_length(const char *text)
{
    return strcspn(text, " :;,'\"\n\t");
}

const char *path_shown_in(struct run *r, const char *text)
{
    if (r->options->absolute_paths)
        return run_text(r, text);
    char *shown = NULL;
    size_t bytes;
    FILE *out = open_memstream(&shown, &bytes);
    if (!out)
        return NULL;
    for (const char *before = " "; *text; before = text - 1) {
        if (*text != '/' || !strchr(" :;,'\"=\n\t", *before)) {
            fputc(*text++, out); /* inside of a word */
            continue;
        }
        char path[4096];
        size_t n = path_length(text);
        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : sizeof path - 1), text);
        const char *clean = strchr(path + 1, '/') ? path_shown(r, run_text(r, path)) : path;
        fputs(clean ? clean : "...", out);
        text += n;
    }
    if (fclose(out)) {
        free(shown);
        return NULL;
    }
    const char *kept = run_text(r, shown);
    free(shown);
    return kept;
}
