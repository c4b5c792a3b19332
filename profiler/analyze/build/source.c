/* Reads the text of the source lines that have costs, and of the lines around them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/build/source_notes.h"
#include "profiler/analyze/state/cells.h"
#include "profiler/analyze/state/run.h"

/* Source text is read from the program's own files alone: a page is passed on, and a name in a
 * trace may be that of a key or a password file. */

/* `recorded`, below `folder` where it is relative, without links; 0: it does not exist. */
static int source_real_path(const char *folder, const char *recorded, char path[PATH_MAX])
{
    char joined[PATH_MAX];
    int inside = recorded[0] != '/' && folder;
    int n = snprintf(joined, sizeof joined, "%s%s%s", inside ? folder : "", inside ? "/" : "",
                     recorded);
    return n < (int)sizeof joined && realpath(joined, path);
}

/* Returns the part of `path` after `folder`, NULL where it does not lie below it. "/" has nothing
 * below it.
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

/* Returns 1 where the file (a real path) lies below the recorded working folder, a folder of the
 * program or of its packages, the sources of the system, or TOMOPROF_SOURCE_DIRS; not in a hidden
 * folder of the first two. */
static int source_is_own(const struct run *r, const char *path)
{
    return of_packages(path) || source_of_system(path) || of_program(r, path) || of_user(path);
}

enum {
    TEXT_MAX = 400,
    FILE_MAX_BYTES = 16 << 20,
    AROUND = 8,             /* lines that are kept before and after one that cost something */
    CONTEXT_BYTES = 1 << 20 /* for all files; packed in the report about a third of it */
};
#define SLACK_NS      (2ull * 1000000000u) /* of clocks; an edit comes later */
#define CONTEXT_SHARE 0.001                /* of the time: libraries below it have no context */

/* Reads a text line by line. */
struct line_reader {
    const char *text;
    size_t bytes;
    int64_t number;
};

static int next_line(struct line_reader *reader)
{
    if (reader->number)
        reader->text += reader->bytes + (reader->text[reader->bytes] == '\n');
    reader->bytes = strcspn(reader->text, "\n");
    reader->number++;
    return *reader->text != 0;
}

static const char *line_text(struct run *r, const struct line_reader *reader)
{
    size_t n = reader->bytes;
    if (n && reader->text[n - 1] == '\r')
        n--;
    return arena_text_n(r->m->arena, reader->text, n < TEXT_MAX ? n : TEXT_MAX);
}

static enum err line_texts(struct run *r, struct model_file *f, const char *text)
{
    struct line_reader reader = {text, 0, 0};
    int i = 0;
    while (next_line(&reader))
        for (; i < f->lines_count && f->lines[i].line <= reader.number; i++) {
            if (f->lines[i].line < reader.number)
                continue;
            f->lines[i].text = f->lines[i].scalene.line = line_text(r, &reader);
            FAIL_IF(!f->lines[i].text, ERR_MEMORY, "no memory for the source texts");
        }
    f->length = reader.number - 1;
    return ERR_OK;
}

/* Returns 1 where the line cost nothing and is wanted beside those that did; *i goes along with
 * it. */
static int line_is_beside(const struct model_file *f, int64_t number, int *i)
{
    while (*i < f->lines_count && f->lines[*i].line < number)
        ++*i;
    int64_t before = *i > 0 ? f->lines[*i - 1].line : INT64_MIN / 2;
    int64_t after = *i < f->lines_count ? f->lines[*i].line : INT64_MAX;
    return after != number && (f->user || number - before <= AROUND || after - number <= AROUND);
}

/* Takes what it keeps from *room. */
static enum err source_context(struct run *r, struct model_file *f, const char *text, size_t *room)
{
    struct line_reader reader = {text, 0, 0};
    size_t n = 0, left = *room;
    int i = 0, full = 0;
    while (!full && next_line(&reader))
        if (line_is_beside(f, reader.number, &i)) {
            size_t bytes = 1 + (reader.bytes < TEXT_MAX ? reader.bytes : TEXT_MAX);
            full = bytes > left;
            n += !full;
            left -= full ? 0 : bytes;
        }
    TRY(model_list(r->m, model_source, f, source, n));
    reader = (struct line_reader){text, 0, 0};
    i = 0;
    for (size_t k = 0; k < n && next_line(&reader);)
        if (line_is_beside(f, reader.number, &i)) {
            f->source[k++] = (struct model_source){reader.number, line_text(r, &reader)};
            FAIL_IF(!f->source[k - 1].text, ERR_MEMORY, "no memory for the source texts");
        }
    *room = left;
    return ERR_OK;
}

/* By what was noted of its text when the run had just ended; else by the time of the last change to
 * content or inode, which only the clock's keeper can set back. */
static int changed_since(const struct run *r, const char *path, const struct stat *st,
                         const char *text, size_t bytes)
{
    uint64_t changed = (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
    int noted = source_is_as_noted(r, path, text, bytes);
    return noted < 0 ? changed > r->ended_realtime_ns + SLACK_NS : !noted;
}

static enum err take_text(struct run *r, struct model_file *f, const char *path, const char *text,
                          size_t bytes, size_t *room)
{
    if (r->options->just_ended)
        TRY(source_note(r, path, text, bytes));
    TRY(line_texts(r, f, text));
    return source_context(r, f, text, room);
}

/* Only plain files of the program: a name from a trace may be anything. */
static enum err one_file(struct run *r, struct model_file *f, const char *recorded, size_t *room)
{
    struct stat st;
    char path[PATH_MAX], *text = NULL;
    size_t bytes;
    const char *cell = cells_text(r, recorded);
    if (cell) {
        TRY(line_texts(r, f, cell));
        return source_context(r, f, cell, room);
    }
    if (!source_real_path(r->cwd, recorded, path) || stat(path, &st) || !S_ISREG(st.st_mode) ||
        st.st_size > FILE_MAX_BYTES || !st.st_size)
        return ERR_OK;
    if (!source_is_own(r, path)) {
        r->q.sources_outside++;
        return ERR_OK;
    }
    if (file_read_all(path, FILE_MAX_BYTES, &text, &bytes) != ERR_OK)
        return ERR_OK; /* unreadable: its texts stay unknown */
    int changed = changed_since(r, path, &st, text, bytes);
    r->q.sources_changed += (uint64_t)changed;
    enum err e = changed ? ERR_OK : take_text(r, f, path, text, bytes, room);
    free(text);
    return e;
}

struct rank {
    int index, user;
    double share;
};

static int by_interest(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->user != y->user)
        return y->user - x->user;
    if (x->share < y->share || x->share > y->share)
        return x->share < y->share ? 1 : -1;
    return x->index - y->index;
}

enum err source_texts(struct run *r)
{
    size_t count = (size_t)r->m->files_count, room = CONTEXT_BYTES;
    if (r->options->no_source || r->q.sources_foreign)
        return ERR_OK;
    struct rank *ranks = calloc(count + 1, sizeof *ranks);
    FAIL_IF(!ranks, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < count; i++) {
        const struct model_file *f = &r->m->files[i];
        ranks[i] = (struct rank){(int)i, f->user,
                                 (f->cpu_share > 0 ? f->cpu_share : 0) +
                                     (f->gpu_share > 0 ? f->gpu_share : 0)};
    }
    array_sort(ranks, count, sizeof *ranks, by_interest);
    enum err e = source_notes_read(r);
    for (size_t i = 0; i < count && e == ERR_OK; i++) {
        size_t none = 0, *left = ranks[i].user || ranks[i].share >= CONTEXT_SHARE ? &room : &none;
        e = one_file(r, &r->m->files[ranks[i].index], r->sources.items[ranks[i].index].recorded,
                     left);
    }
    free(ranks);
    return e == ERR_OK ? source_notes_write(r) : e;
}
