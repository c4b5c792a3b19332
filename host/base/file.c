/* Files that appear under their name only when complete; temporaries are removed by signal handlers
 * too. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/file.h"
#include "host/base/memory.h"

/* Temporaries of open files, for outfile_remove_temporaries(). A process writes one to three at a
 * time; one that finds no free slot is still removed by abort and commit. */
#define TEMPORARIES 16
static char *temporaries[TEMPORARIES];

static void temporary_register(char *path)
{
    for (int i = 0; i < TEMPORARIES; i++) {
        char *none = NULL;
        if (__atomic_compare_exchange_n(&temporaries[i], &none, path, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
    }
}

static void temporary_forget(char *path)
{
    for (int i = 0; i < TEMPORARIES; i++) {
        char *same = path;
        if (__atomic_compare_exchange_n(&temporaries[i], &same, NULL, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
    }
}

void outfile_remove_temporaries(void)
{
    for (int i = 0; i < TEMPORARIES; i++) {
        char *path = __atomic_load_n(&temporaries[i], __ATOMIC_SEQ_CST);
        if (path)
            unlink(path);
    }
}

static void outfile_clear(struct outfile *f)
{
    if (f->temporary)
        temporary_forget(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (struct outfile){0};
}

/* Opens path.PID.N.tmp with the permissions that the user's umask gives a new file. */
static int open_temporary(struct outfile *f)
{
    static int counter;
    size_t room = strlen(f->path) + 40;
    f->temporary = malloc(room);
    if (!f->temporary)
        return -1;
    int fd;
    do {
        int n = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        temporary_forget(f->temporary);
        snprintf(f->temporary, room, "%s.%ld.%d.tmp", f->path, (long)getpid(), n);
        temporary_register(f->temporary); /* before it exists: a signal may come right after open */
        fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

enum err outfile_open(struct outfile *f, const char *path)
{
    *f = (struct outfile){0};
    /* Through a symbolic link, so that its target is replaced and not the link. */
    f->path = realpath(path, NULL);
    if (!f->path)
        f->path = strdup(path);
    FAIL_IF(!f->path, ERR_MEMORY, "%s: no memory left for the name", path);

    struct stat st;
    int exists = stat(f->path, &st) == 0, fd = -1;
    if (!*path)
        errno = ENOENT;
    else if (exists && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (exists && !S_ISREG(st.st_mode))
        fd = open(f->path, O_WRONLY | O_CLOEXEC);
    else if (!exists ||
             access(f->path, W_OK) == 0) /* a rename would replace a write-protected file */
        fd = open_temporary(f);
    f->stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (f->stream)
        return ERR_OK;
    enum err e = FAIL(ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && f->temporary)
        unlink(f->temporary);
    outfile_clear(f);
    return e;
}

enum err outfile_write(struct outfile *f, const void *data, size_t bytes)
{
    errno = 0;
    FAIL_IF(bytes && fwrite(data, 1, bytes, f->stream) != bytes, ERR_IO, "%s: writing failed: %s",
            f->path, strerror(errno));
    return ERR_OK;
}

enum err outfile_commit(struct outfile *f)
{
    errno = 0;
    int failed = fflush(f->stream) || ferror(f->stream);
    int why = errno;
    if (fclose(f->stream) && !failed) { /* network file systems report a full disk here */
        failed = 1;
        why = errno;
    }
    f->stream = NULL;
    if (!failed && f->temporary && rename(f->temporary, f->path)) {
        failed = 1;
        why = errno;
    }
    enum err e = ERR_OK;
    if (failed) {
        e = FAIL(ERR_IO, "%s: writing failed: %s", f->path, strerror(why ? why : EIO));
        if (f->temporary)
            unlink(f->temporary);
    }
    outfile_clear(f);
    return e;
}

void outfile_abort(struct outfile *f)
{
    if (f->stream)
        fclose(f->stream);
    if (f->stream && f->temporary)
        unlink(f->temporary);
    outfile_clear(f);
}

enum err file_read_all(const char *path, size_t limit, char **data, size_t *bytes)
{
    enum err e = ERR_OK;
    char *buffer = NULL;
    size_t n = 0, room = 0;
    *data = NULL;
    *bytes = 0;
    FILE *f = fopen(path, "rbe");
    FAIL_IF(!f, ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        e = FAIL(ERR_INPUT, "%s: is a folder, not a file", path);
        goto out;
    }
    for (;;) {
        if (n == room) { /* sizes of pipes and of /proc files are not known beforehand */
            room = room ? 2 * room : 65536;
            char *grown = realloc(buffer, room + 1);
            if (!grown) {
                e = FAIL(ERR_MEMORY, "%s: no memory left to read it", path);
                goto out;
            }
            buffer = grown;
        }
        size_t got = fread(buffer + n, 1, room - n, f);
        n += got;
        if (n > limit) {
            char human[16];
            e = FAIL(ERR_INPUT, "%s: larger than %s, too large for what it should be", path,
                     mem_human((double)limit, human));
            goto out;
        }
        if (!got)
            break;
    }
    if (ferror(f)) {
        e = FAIL(ERR_IO, "%s: reading failed: %s", path, strerror(errno));
        goto out;
    }
    buffer[n] = 0;
    *data = buffer;
    *bytes = n;
    buffer = NULL;
out:
    free(buffer);
    fclose(f);
    return e;
}

enum err dir_make(const char *path)
{
    char partial[PATH_MAX];
    size_t length = strlen(path);
    FAIL_IF(!length || length >= sizeof partial, ERR_USAGE, "\"%.60s\" is no name of a folder",
            path);
    memcpy(partial, path, length + 1);
    struct stat st;
    for (size_t i = 1; i <= length; i++) {
        if (partial[i] != '/' && partial[i])
            continue;
        partial[i] = 0;
        if (mkdir(partial, 0777) && errno != EEXIST)
            return FAIL(ERR_IO, "%s: cannot make the folder: %s", partial, strerror(errno));
        if (i < length)
            partial[i] = '/';
    }
    FAIL_IF(stat(path, &st) || !S_ISDIR(st.st_mode), ERR_IO, "%s: exists and is no folder", path);
    return ERR_OK;
}
