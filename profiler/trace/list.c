/* The trace files of a folder in the order in which their processes started. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/trace/reader.h"

struct trace_name {
    char *path;
    unsigned long long start;
    unsigned pid;
    uint64_t member; /* its offset; ~0: a file */
    int is_old;
};

struct trace_names {
    struct trace_name *items;
    size_t count;
};

ARRAY_ORDER(by_start, struct trace_name,
            COMPARE(x->start, y->start) ?: COMPARE(x->pid, y->pid)
            ?: COMPARE(x->member, y->member) ?: strcmp(x->path, y->path));

/* PID-START.tpt: by their names alone. Others come last. */
static void trace_name_parse(const char *file, struct trace_name *name)
{
    char rest;
    name->member = ~0ull;
    if (sscanf(file, "%u-%llx.tp%c", &name->pid, &name->start, &rest) != 3)
        name->start = ~0ull;
}

/* A new name, with `more` bytes of room behind its path. */
static enum err trace_list_grow(struct trace_names *l, const char *folder, const char *file,
                                size_t more, struct trace_name **out)
{
    size_t room = strlen(folder) + strlen(file) + 2 + more;
    struct trace_name *grown = l->items;
    if (!(l->count & (l->count - 1))) /* room for the next power of two */
        grown = realloc(l->items, (l->count ? 2 * l->count : 1) * sizeof *grown);
    FAIL_IF(!grown, ERR_MEMORY, "%s: no memory left for its names", folder);
    l->items = grown;
    struct trace_name *name = &grown[l->count];
    *name = (struct trace_name){.path = malloc(room)};
    FAIL_IF(!name->path, ERR_MEMORY, "%s: no memory left for its names", folder);
    snprintf(name->path, room, "%s/%s", folder, file);
    l->count++;
    *out = name;
    return ERR_OK;
}

struct member_head {
    struct trace_header h;
    struct trace_chunk c;
};

/* The length of the member at `at`; 0: none begins here, -1: the disk does not give it. */
static ssize_t member_length(int fd, size_t at, size_t left, struct member_head *m)
{
    const ssize_t got = pread(fd, m, sizeof *m, (off_t)at);
    if (got != sizeof *m || memcmp(&m->h, TRACE_MAGIC, sizeof m->h.magic))
        return got < 0 ? -1 : 0;
    const size_t n = sizeof *m + m->c.used;
    return m->c.magic == TRACE_CHUNK_MAGIC && m->c.used <= TRACE_CHUNK_FIRST - sizeof m->c &&
                   n <= left
               ? (ssize_t)n
               : 0;
}

/* Members of a file of brief traces. What is none (a write that a full disk cut) is left out: the
 * process that made that one tells of a child without data. So is what the disk does not give. Read by
 * calls: where a disk fails, a mapping ends the process that reads it. */
static enum err trace_list_members(const char *folder, const char *file, struct trace_names *l)
{
    enum { OFFSET = 24 };
    struct member_head m;
    char *path = NULL;
    struct stat st;
    FAIL_IF(asprintf(&path, "%s/%s", folder, file) < 0, ERR_MEMORY, "no memory for a path");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    int readable = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    size_t size = readable ? (size_t)st.st_size : 0;
    enum err e = ERR_OK;
    for (size_t at = 0; !e && at < size;) {
        struct trace_name *name;
        const size_t here = at;
        const ssize_t n = member_length(fd, here, size - here, &m);
        at = n < 0 ? size : here + (n ? (size_t)n : 8);
        if (n <= 0 || (e = trace_list_grow(l, folder, file, OFFSET, &name)))
            continue;
        snprintf(name->path + strlen(name->path), OFFSET, "@%zu", here);
        name->start = m.h.start_ns;
        name->pid = (unsigned)m.h.pid;
        name->member = here;
    }
    if (fd >= 0)
        close(fd);
    return e;
}

static enum err trace_list_add(const char *folder, const char *file, struct trace_names *l)
{
    struct trace_name *name;
    if (text_ends(file, ".tpb"))
        return trace_list_members(folder, file, l);
    if (!text_ends(file, ".tpt"))
        return ERR_OK;
    TRY(trace_list_grow(l, folder, file, 0, &name));
    trace_name_parse(file, name);
    return ERR_OK;
}

/* Returns 0 for a file that its process was still making when it ended. */
static int file_is_whole(const char *path)
{
    char magic[8] = "";
    FILE *f = fopen(path, "rbe");
    int whole =
        f && fread(magic, sizeof magic, 1, f) == 1 && !memcmp(magic, TRACE_MAGIC, sizeof magic);
    if (f)
        fclose(f);
    return whole;
}

/* The later member of a process and start has all of an earlier one, and its file of both. */
static int name_is_old(const struct trace_names *l, size_t i)
{
    const struct trace_name *name = &l->items[i], *next = name + 1, *last = name - 1;
    if (name->member == ~0ull)
        return i && last->start == name->start && last->pid == name->pid && last->member != ~0ull &&
               !file_is_whole(name->path);
    return i + 1 < l->count && next->start == name->start && next->pid == name->pid &&
           (next->member != ~0ull || file_is_whole(next->path));
}

enum err trace_list(const char *folder, char ***paths, size_t *count)
{
    enum err e = ERR_OK;
    struct trace_names l = {0};
    *paths = NULL;
    *count = 0;
    DIR *d = opendir(folder);
    FAIL_IF(!d, ERR_INPUT, "%s: cannot read the folder: %s", folder, strerror(errno));
    for (struct dirent *entry; !e && (entry = readdir(d));)
        e = trace_list_add(folder, entry->d_name, &l);
    closedir(d);
    if (!e && !l.count)
        e = FAIL(ERR_INPUT, "%s: holds no trace (no file PID-START.tpt)", folder);
    if (!e && !(*paths = malloc(l.count * sizeof **paths)))
        e = FAIL(ERR_MEMORY, "%s: no memory left for its names", folder);
    if (!e)
        qsort(l.items, l.count, sizeof *l.items, by_start);
    for (size_t i = 0; i < l.count; i++)
        l.items[i].is_old = e || name_is_old(&l, i);
    for (size_t i = 0; i < l.count; i++)
        if (l.items[i].is_old)
            free(l.items[i].path);
        else
            (*paths)[(*count)++] = l.items[i].path;
    free(l.items);
    return e;
}

void trace_list_free(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}
