/* Makes and finds run folders: a stamp of its own for each, `latest`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/run_folder.h"
#include "base/text.h"

mode_t run_mode(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return 0700 | (mask & 020 ? 0 : 070) | (mask & 002 ? 0 : 007);
}

void run_private(void)
{
    umask(0777 & ~run_mode());
}

const char *run_default_folder(void)
{
    const char *folder = getenv("TOMOPROF_RUNS");
    return folder && *folder ? folder : "tomoprof-runs";
}

enum err run_make(const char *out, char folder[RUN_PATH])
{
    char stamp[17];
    TRY(dir_make(out));
    clock_stamp(stamp);
    for (int n = 1; n <= 1000; n++) {
        char suffix[8] = "";
        if (n > 1)
            snprintf(suffix, sizeof suffix, "-%d", n);
        /* Room for the names of files in it. */
        int length = snprintf(folder, RUN_PATH, "%s/%s%s", out, stamp, suffix);
        FAIL_IF(length >= RUN_PATH - 64, ERR_USAGE, "`out`: the name is too long");
        if (!mkdir(folder, run_mode()))
            return ERR_OK;
        FAIL_IF(errno != EEXIST, ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    }
    return FAIL(ERR_IO, "%s: exists, and so do 999 others of this second", folder);
}

enum err run_latest(const char *folder)
{
    char path[RUN_PATH + 16];
    struct outfile f;
    const char *name = base_name(folder);
    run_list_add(folder);
    path_folder(folder, path, sizeof path - sizeof "/latest");
    text_append(path, sizeof path, "/latest");
    if (file_link(path, name))
        return ERR_OK;
    TRY(outfile_open(&f, path));
    fprintf(f.stream, "%s\n", name);
    return outfile_commit(&f);
}

/* Reads `latest`: the target of the link, else the first line of the file. */
static enum err read_latest(const char *path, char name[256])
{
    char *text;
    size_t bytes;
    ssize_t n = readlink(path, name, 255);
    if (n >= 0) {
        name[n] = 0;
        return ERR_OK;
    }
    TRY(file_read_all(path, 255, &text, &bytes));
    snprintf(name, 256, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    return ERR_OK;
}

/* The run that `latest` in the folder `out` leads to, which lies beside it. */
static enum err run_newest(const char *out, char folder[RUN_PATH])
{
    char path[RUN_PATH + 16], name[256];
    snprintf(path, sizeof path, "%s/latest", out);
    TRY(read_latest(path, name));
    int named = *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
    int length = snprintf(folder, RUN_PATH, "%s/%s", out, name);
    FAIL_IF(!named || length >= RUN_PATH, ERR_INPUT,
            "%s: does not name a run: \"%.60s\" is not the name of a folder beside it", path, name);
    return ERR_OK;
}

static int is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int holds_run(const char *folder)
{
    static const char *const names[] = {"profile.json", "timing.json", "trace"};
    char path[RUN_PATH + 32];
    struct stat st;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (!stat(path, &st))
            return 1;
    }
    return 0;
}

/* Finds "latest" or "previous" among the runs that were made from this folder; a run below it is
 * named from here. */
static enum err run_remembered(const char *word, char folder[RUN_PATH])
{
    char path[RUN_PATH + 16];
    char *cwd = getcwd(NULL, 0);
    struct run_list known;
    struct stat st;
    const int previous = !strcmp(word, "previous");
    enum err e = run_list_read(&known);
    const struct run_entry *run = e ? NULL : run_list_back(&known, (size_t)previous, 1);
    text_print(path, sizeof path, "%s/latest", run_default_folder());
    if (run) {
        const size_t n = cwd && text_begins(run->folder, cwd) ? strlen(cwd) : 0;
        const int below = n && run->folder[n] == '/';
        if (!text_print(folder, RUN_PATH, "%s", run->folder + (below ? n + 1 : 0)))
            e = FAIL(ERR_INPUT, "%s: its name is too long", word);
    } else if (!e && !previous && !lstat(path, &st)) {
        e = run_newest(run_default_folder(), folder);
    } else if (!e) {
        e = FAIL(ERR_INPUT,
                 "%s: no %srun was made from this folder: `tomoprof list` shows those of others, "
                 "`tomoprof record CMD` makes one",
                 word, previous ? "earlier " : "");
    }
    run_list_free(&known);
    free(cwd);
    return e;
}

/* A link `latest`, or a file of that name; a folder that is called so is a folder. */
static int is_latest(const char *name)
{
    struct stat st;
    return !strcmp(base_name(name), "latest") && !lstat(name, &st) && !S_ISDIR(st.st_mode);
}

int run_is_file(const char *name)
{
    struct stat st;
    return !is_latest(name) && !stat(name, &st) && !S_ISDIR(st.st_mode);
}

enum err run_find(const char *name, char folder[RUN_PATH])
{
    char word[RUN_PATH], path[RUN_PATH + 16];
    struct stat st;
    FAIL_IF(strlen(name) >= RUN_PATH, ERR_USAGE, "the name of the run is too long");
    snprintf(word, sizeof word, "%s", name);
    for (size_t n = strlen(word); n > 1 && word[n - 1] == '/';)
        word[--n] = 0;
    if (is_latest(word)) {
        path_folder(word, path, sizeof path);
        return run_newest(path, folder);
    }
    if ((!strcmp(word, "latest") || !strcmp(word, "previous")) && stat(word, &st))
        return run_remembered(word, folder);
    snprintf(path, sizeof path, "%s/latest", word);
    if (is_folder(word) && is_latest(path))
        return run_newest(word, folder);
    if (is_folder(word)) { /* a copy that followed the link has a folder in its place */
        int copied = !holds_run(word) && is_folder(path) && holds_run(path);
        int length = snprintf(folder, RUN_PATH, "%s%s", word, copied ? "/latest" : "");
        FAIL_IF(length >= RUN_PATH, ERR_USAGE, "the name of the run is too long");
        return ERR_OK;
    }
    FAIL_IF(stat(word, &st), ERR_INPUT, "%s: cannot read: %s", name, strerror(errno));
    path_folder(word, folder, RUN_PATH); /* a file of the run */
    FAIL_IF(!text_ends(word, ".json") && !holds_run(folder), ERR_INPUT,
            "%s: is not a run: give the folder that `record` or `run` wrote, or a profile.json or "
            "timing.json of one",
            name);
    return ERR_OK;
}
