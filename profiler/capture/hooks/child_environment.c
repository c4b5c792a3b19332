/* LD_PRELOAD for programs that cannot load the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/hooks/child_environment.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"
#include "profiler/image/image.h"

#define PRELOAD "LD_PRELOAD="
#define SCRIPTS 5 /* a script's interpreter may be a script: the kernel's own limit */

static const char *search_path(void)
{
    const char *list = getenv("PATH");
    return list ? list : "/bin:/usr/bin";
}

size_t child_file_bytes(const char *file)
{
    size_t longest = 0;
    if (strchr(file, '/'))
        return 1;
    for (const char *at = search_path(); *at; at += *at != 0) {
        size_t folder = strcspn(at, ":");
        longest = folder > longest ? folder : longest;
        at += folder;
    }
    longest += strlen(file) + 2;
    return longest < 4096 ? longest : 4096;
}

const char *child_file(const char *file, char *path, size_t bytes)
{
    size_t n = strlen(file);
    if (strchr(file, '/'))
        return file;
    for (const char *at = search_path(), *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        size_t folder = (size_t)(end - at);
        if (folder + n + 2 > bytes)
            continue;
        memcpy(path, at, folder);
        path[folder] = '/';
        memcpy(path + folder + (folder != 0), file, n + 1); /* an empty one is the working folder */
        if (access(path, X_OK) == 0)
            return path;
    }
    return "";
}

/* Our part of the list in an LD_PRELOAD row: where it begins and its length, 0 where it is not
 * there. */
static size_t own_part(const char *row, size_t *begin)
{
    const char *library = capture.config.library;
    size_t n = strlen(library);
    for (const char *at = row + strlen(PRELOAD); n && *at; at += *at != 0) {
        size_t part = strcspn(at, ": ");
        if (part == n && memcmp(at, library, n) == 0) {
            *begin = (size_t)(at - row);
            return n;
        }
        at += part;
    }
    return 0;
}

static int is_preload(const char *row)
{
    size_t begin;
    return strncmp(row, PRELOAD, strlen(PRELOAD)) == 0 && own_part(row, &begin);
}

/* 1: the program at `path` cannot load the library; else 0, and `next` is the interpreter of a
 * script, or "". */
static int file_refuses_library(const char *path, char next[256])
{
    struct image_traits traits = {0};
    struct stat st;
    *next = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char *data = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 4)
        data = raw_map_file(fd, (size_t)st.st_size);
    syscall(SYS_close, fd);
    if (!data)
        return 0;
    size_t size = (size_t)st.st_size, at = 2, n = 0;
    if (memcmp(data, "#!", 2) == 0) {
        while (at < size && (data[at] == ' ' || data[at] == '\t'))
            at++;
        while (at < size && n < 255 && !strchr(" \t\r\n", data[at]))
            next[n++] = data[at++];
        next[n] = 0;
    } else {
        image_traits(data, size, &traits);
    }
    raw_unmap(data, size);
    return traits.foreign || traits.musl || traits.sanitizer;
}

static void errand_refuses(struct errand *e)
{
    char next[256];
    e->number[0] = (uint64_t)file_refuses_library(e->text, next);
    memcpy(e->text, next, sizeof next);
}

static int child_refuses_library(const char *path, char next[256])
{
    struct errand *e =
        strlen(path) < sizeof e->text && errands_wanted() ? errand_begin(errand_refuses) : NULL;
    if (e)
        strcpy(e->text, path);
    if (!e || !errand_do(e))
        return file_refuses_library(path, next);
    const int refuses = (int)e->number[0];
    memcpy(next, e->text, 256);
    errand_end(e);
    return refuses;
}

static int cannot_load(const char *path)
{
    char names[2][256];
    for (int i = 0; i < SCRIPTS && *path; path = names[i++ & 1])
        if (child_refuses_library(path, names[i & 1]))
            return 1;
    return 0;
}

size_t child_environment_bytes(const char *path, char *const envp[])
{
    size_t rows = 0, text = 0;
    int saved = errno;
    for (; envp && envp[rows]; rows++)
        if (is_preload(envp[rows]))
            text += strlen(envp[rows]) + 1;
    int needed = text && cannot_load(path);
    errno = saved;
    return needed ? (rows + 1) * sizeof *envp + text : 0;
}

char *const *child_environment(char *const envp[], void *room)
{
    char **rows = room, *text;
    size_t n = 0, begin;
    while (envp[n])
        n++;
    text = (char *)(rows + n + 1);
    for (n = 0; *envp; envp++) {
        if (!is_preload(*envp)) {
            rows[n++] = *envp;
            continue;
        }
        size_t part = own_part(*envp, &begin), rest = strlen(*envp + begin + part);
        if (rest) /* with the separator behind it, else that before it */
            part++, rest--;
        else if (begin > strlen(PRELOAD))
            begin--, part++;
        memcpy(text, *envp, begin);
        memcpy(text + begin, *envp + begin + part, rest + 1);
        if (strlen(text) > strlen(PRELOAD)) {
            rows[n++] = text;
            text += begin + rest + 1;
        }
    }
    rows[n] = NULL;
    return rows;
}
