/* Remembers where runs were made. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"

#define LIST_BYTES ((size_t)256 << 10) /* beyond it the older half of the lines goes */

/* 0: no folder for such things is known. */
static int list_path(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        return text_print(path, PATH_MAX, "%s/tomoprof/runs", state);
    return home && *home == '/' &&
           text_print(path, PATH_MAX, "%s/.local/state/tomoprof/runs", home);
}

/* Keeps the newer half, from a line's beginning on. */
static enum err list_shorten(const char *path)
{
    char *text, *half;
    size_t bytes;
    struct outfile f;
    TRY(file_read_all(path, 4 * LIST_BYTES, &text, &bytes));
    half = strchr(text + bytes / 2, '\n');
    enum err e = outfile_open(&f, path);
    if (!e && half)
        e = outfile_write(&f, half + 1, strlen(half + 1));
    e = e ? e : outfile_commit(&f);
    free(text);
    return e;
}

/* Writes a line at once: several commands may add theirs side by side. */
static enum err list_append(const char *path, const char *line)
{
    struct stat st;
    char folder[PATH_MAX];
    path_folder(path, folder, sizeof folder);
    TRY(dir_make(folder));
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    FAIL_IF(fd < 0, ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    const size_t n = strlen(line);
    const int whole = write(fd, line, n) == (ssize_t)n && !fstat(fd, &st);
    close(fd);
    FAIL_IF(!whole, ERR_IO, "%s: writing failed: %s", path, strerror(errno));
    return (size_t)st.st_size > LIST_BYTES ? list_shorten(path) : ERR_OK;
}

void run_list_add(const char *folder)
{
    char path[PATH_MAX], from[PATH_MAX], line[2 * PATH_MAX + 8];
    char *real = realpath(folder, NULL);
    if (list_path(path) && real && getcwd(from, sizeof from) &&
        text_print(line, sizeof line, "%s\t%s\n", from, real) &&
        strcspn(from, "\t\n") == strlen(from) && strcspn(real, "\t\n") == strlen(real) &&
        list_append(path, line))
        log_debug("not remembered: %s", err_text());
    free(real);
}

static int list_knows(const struct run_list *l, const char *folder)
{
    for (size_t i = 0; i < l->runs.count; i++)
        if (!strcmp(l->runs.items[i].folder, folder))
            return 1;
    return 0;
}

enum err run_list_read(struct run_list *out)
{
    char path[PATH_MAX];
    struct stat st;
    size_t bytes;
    *out = (struct run_list){0};
    if (!list_path(path) || stat(path, &st))
        return ERR_OK;
    TRY(file_read_all(path, 4 * LIST_BYTES, &out->text, &bytes));
    for (char *end = out->text + bytes; end;) {
        char *line = end;
        while (line > out->text && line[-1] != '\n')
            line--;
        char *tab = strchr(line, '\t');
        if (tab && *line == '/' && tab[1] == '/' && !stat(tab + 1, &st) && S_ISDIR(st.st_mode) &&
            !list_knows(out, tab + 1)) {
            *tab = 0;
            TRY(vector_add(&out->runs, (struct run_entry){line, tab + 1}));
        }
        end = line > out->text ? line - 1 : NULL;
        if (end)
            *end = 0;
    }
    return ERR_OK;
}

void run_list_free(struct run_list *l)
{
    vector_free(&l->runs);
    free(l->text);
}

const struct run_entry *run_list_back(const struct run_list *l, size_t back, int here)
{
    char from[PATH_MAX];
    if (here && !getcwd(from, sizeof from))
        return NULL;
    for (size_t i = 0; i < l->runs.count; i++)
        if ((!here || !strcmp(l->runs.items[i].from, from)) && !back--)
            return &l->runs.items[i];
    return NULL;
}
