/* Makes and finds run folders: a stamp of its own for each, `latest`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/clock.h"
#include "host/base/file.h"
#include "host/base/run_folder.h"

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
        FAIL_IF(length >= RUN_PATH - 64, ERR_USAGE, "--out: the name is too long");
        if (!mkdir(folder, 0777))
            return ERR_OK;
        FAIL_IF(errno != EEXIST, ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    }
    return FAIL(ERR_IO, "%s: exists, and so do 999 others of this second", folder);
}

enum err run_latest(const char *folder)
{
    char path[RUN_PATH + 16];
    struct outfile f;
    const char *name = strrchr(folder, '/');
    int length = name ? (int)(name - folder) : 1;
    snprintf(path, sizeof path, "%.*s/latest", length, name ? folder : ".");
    TRY(outfile_open(&f, path));
    fprintf(f.stream, "%s\n", name ? name + 1 : folder);
    return outfile_commit(&f);
}

/* The run that the text file `latest` in the folder `out` names. */
static enum err newest(const char *out, char folder[RUN_PATH])
{
    char path[RUN_PATH + 16], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/latest", out);
    TRY(file_read_all(path, 255, &text, &bytes));
    text[strcspn(text, "\n")] = 0;
    int named = *text && !strchr(text, '/');
    int length = snprintf(folder, RUN_PATH, "%s/%s", out, text);
    free(text);
    FAIL_IF(!named || length >= RUN_PATH, ERR_INPUT, "%s: does not name a run", path);
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

enum err run_find(const char *name, char folder[RUN_PATH])
{
    char path[RUN_PATH + 16];
    struct stat st;
    FAIL_IF(strlen(name) >= RUN_PATH, ERR_USAGE, "the name of the run is too long");
    if (!strcmp(name, "latest") && stat(name, &st))
        return newest("output", folder);
    snprintf(path, sizeof path, "%s/latest", name);
    if (is_folder(name) && !stat(path, &st))
        return newest(name, folder);
    if (is_folder(name)) {
        snprintf(folder, RUN_PATH, "%s", name);
        size_t n = strlen(folder);
        while (n > 1 && folder[n - 1] == '/')
            folder[--n] = 0;
        return ERR_OK;
    }
    FAIL_IF(stat(name, &st), ERR_INPUT, "%s: cannot read: %s", name, strerror(errno));
    const char *slash = strrchr(name, '/');
    snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    if (!strcmp(slash ? slash + 1 : name, "latest"))
        return newest(path, folder);
    size_t n = strlen(name);
    FAIL_IF((n < 5 || strcmp(name + n - 5, ".json")) && !holds_run(path), ERR_INPUT,
            "%s: is no run: give the folder that `record` or `run` wrote, or a profile.json or "
            "timing.json of one",
            name);
    snprintf(folder, RUN_PATH, "%.*s", RUN_PATH - 1, path); /* a file of the run */
    return ERR_OK;
}
