/* Notes what a command reads, by device and inode, and checks its outputs against that. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inputs.h"

static struct input {
    char *name; /* kept for as long as the process lives */
    dev_t device;
    ino_t inode;
} * inputs;
static size_t count, room;

static enum err note(const char *name, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || inputs_name(st))
        return ERR_OK;
    if (count == room) {
        size_t more = room ? 2 * room : 16;
        struct input *grown = realloc(inputs, more * sizeof *grown);
        FAIL_IF(!grown, ERR_MEMORY, "no memory left for the names of inputs");
        inputs = grown;
        room = more;
    }
    char *copy = strdup(name);
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the names of inputs");
    inputs[count++] = (struct input){copy, st->st_dev, st->st_ino};
    return ERR_OK;
}

const char *inputs_name(const struct stat *st)
{
    for (size_t i = 0; i < count; i++)
        if (S_ISREG(st->st_mode) && inputs[i].inode == st->st_ino && inputs[i].device == st->st_dev)
            return inputs[i].name;
    return NULL;
}

/* All files of the folder `trace` of a run. */
static enum err note_traces(const char *run)
{
    char path[PATH_MAX];
    struct dirent *entry;
    struct stat st;
    enum err e = ERR_OK;
    snprintf(path, sizeof path, "%s/trace", run);
    DIR *folder = opendir(path);
    while (folder && !e && (entry = readdir(folder)))
        if (!fstatat(dirfd(folder), entry->d_name, &st, 0))
            e = note(run, &st);
    if (folder)
        closedir(folder);
    return e;
}

enum err inputs_note(const char *name, int remade)
{
    static const char *const of_run[] = {"record.json", "timing.json", "sass.json", "profile.json"};
    const int n = sizeof of_run / sizeof *of_run - (remade != 0);
    char path[PATH_MAX];
    struct stat st;
    if (stat(name, &st))
        return ERR_OK;
    if (!S_ISDIR(st.st_mode))
        return note(name, &st);
    for (int i = 0; i < n; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", name, of_run[i]);
        if (length < (int)sizeof path && !stat(path, &st))
            TRY(note(name, &st));
    }
    return note_traces(name);
}

static const char *value(const struct opt *row)
{
    return *(const char **)row->value;
}

/* The row's output: its link followed, and compared with the inputs. */
static enum err check_output(struct opt *row)
{
    struct stat st;
    if (lstat(value(row), &st))
        return ERR_OK;
    int link = S_ISLNK(st.st_mode);
    if (stat(value(row), &st) || !S_ISREG(st.st_mode))
        return ERR_OK;
    const char *input = inputs_name(&st);
    FAIL_IF(input, ERR_USAGE,
            "--%s %s: is the same file as the input %s; give the output a name of its own",
            row->name, value(row), input);
    char *target = link ? realpath(value(row), NULL) : NULL;
    if (target) /* for as long as the process lives */
        *(const char **)row->value = target;
    return ERR_OK;
}

/* Whether two names mean one file, there or not yet. */
static int is_same(const char *a, const char *b)
{
    struct stat x, y;
    int there = !stat(a, &x), too = !stat(b, &y);
    if (there != too)
        return 0;
    if (there)
        return S_ISREG(x.st_mode) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
    const char *names[] = {a, b}, *base[2];
    struct stat folder[2];
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        const char *slash = strrchr(names[i], '/');
        base[i] = slash ? slash + 1 : names[i];
        snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - names[i]) + 1 : 1,
                 slash ? names[i] : ".");
        if (stat(path, &folder[i]))
            return 0; /* writing there fails */
    }
    return !strcmp(base[0], base[1]) && folder[0].st_ino == folder[1].st_ino &&
           folder[0].st_dev == folder[1].st_dev;
}

enum err inputs_check(struct opt *rows)
{
    for (struct opt *r = rows; r->name; r++)
        if (r->kind == OPT_INPUT && r->seen)
            TRY(inputs_note(value(r), 0));
    for (struct opt *r = rows; r->name; r++) {
        if (r->kind != OPT_OUTPUT || !r->seen)
            continue;
        TRY(check_output(r));
        for (const struct opt *other = rows; other != r; other++)
            FAIL_IF(other->kind == OPT_OUTPUT && other->seen && is_same(value(other), value(r)),
                    ERR_USAGE, "--%s %s: is the same file as --%s; give each a name of its own",
                    r->name, value(r), other->name);
    }
    return ERR_OK;
}
