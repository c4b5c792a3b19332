/* Files that appear under their name only when complete; temporaries are removed by signal handlers
 * too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"

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

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

void dir_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void outfile_remove_begun(const char *folder, const char *name, long process)
{
    char of[40], path[8192];
    const size_t before = name ? strlen(name) : 0;
    const int n = snprintf(of, sizeof of, ".%ld.", process);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *at =
            name && strncmp(e->d_name, name, before) ? NULL : strstr(e->d_name + before, of);
        if (!at || (name && at != e->d_name + before) ||
            strcmp(at + n + strspn(at + n, "0123456789."), "tmp") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        dir_remove(path);
    }
    if (d)
        closedir(d);
}

/* path.PID.N.tmp, registered before it exists: a signal may come right after. NULL: no memory. */
static char *temporary_name(const char *path)
{
    static int counter;
    size_t room = strlen(path) + 40;
    char *name = malloc(room);
    if (!name)
        return NULL;
    snprintf(name, room, "%s.%ld.%d.tmp", path, (long)getpid(),
             __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
    temporary_register(name);
    return name;
}

static void temporary_free(char *name)
{
    if (name)
        temporary_forget(name);
    free(name);
}

static void outfile_clear(struct outfile *f)
{
    temporary_free(f->temporary);
    free(f->path);
    *f = (struct outfile){0};
}

/* O_EXCL follows no link. */
static int open_temporary(struct outfile *f, const struct stat *replaced)
{
    int fd;
    do {
        temporary_free(f->temporary);
        f->temporary = temporary_name(f->path);
        if (!f->temporary)
            return -1;
        fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd >= 0 && replaced && fchmod(fd, replaced->st_mode & 0777)) {
        int why = errno; /* file systems without modes refuse a change, and have none to keep */
        if (why != EPERM && why != ENOTSUP) {
            close(fd);
            unlink(f->temporary);
            errno = why;
            return -1;
        }
    }
    return fd;
}

int file_link(const char *path, const char *target)
{
    char *name = NULL;
    int failed;
    do {
        temporary_free(name);
        name = temporary_name(path);
        failed = !name || symlink(target, name);
    } while (name && failed && errno == EEXIST);
    int why = errno, made = !failed;
    failed |= made && rename(name, path);
    if (made && failed) {
        why = errno;
        unlink(name);
    }
    temporary_free(name);
    errno = why;
    return !failed;
}

enum err file_require_space(const char *path, int64_t bytes)
{
    struct stat st;
    struct statvfs disk;
    char folder[PATH_MAX], need[16], have[16];
    path_folder(path, folder, sizeof folder);
    if ((!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
        statvfs(folder, &disk) || !disk.f_blocks)
        return ERR_OK;
    const double left = (double)disk.f_bavail * (double)disk.f_frsize;
    FAIL_IF(left < (double)bytes, ERR_IO,
            "%s: needs %s, and its disk has %s left: free space, or write to another disk", path,
            mem_human((double)bytes, need), mem_human(left, have));
    return ERR_OK;
}

/* /dev/stdout is a link of the system's to what standard output is. */
static int is_system_link(const char *path)
{
    return !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

/* A device, or a pipe that somebody reads already: its open would else wait for a reader. -1.
 * `links`: O_NOFOLLOW where one is not followed. */
static int open_special(const char *path, int links)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | links);
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_WRONLY);
    return fd;
}

enum err outfile_open(struct outfile *f, const char *path)
{
    *f = (struct outfile){.path = strdup(path)};
    FAIL_IF(!f->path, ERR_MEMORY, "%s: no memory left for the name", path);

    struct stat st;
    int follow = is_system_link(path), fd = -1;
    int exists = (follow ? stat(path, &st) : lstat(path, &st)) == 0;
    if (exists && S_ISLNK(st.st_mode))
        exists = 0; /* replaced as if it were not there */
    const char *input = exists ? inputs_name(&st) : NULL;
    if (input) {
        enum err e = FAIL(ERR_USAGE,
                          "%s: is the same file as the input %s; give the output a name of its own",
                          path, input);
        outfile_clear(f);
        return e;
    }
    if (!*path)
        errno = ENOENT;
    else if (exists && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (exists && !S_ISREG(st.st_mode))
        fd = open_special(path, follow ? 0 : O_NOFOLLOW);
    else if (!exists || access(path, W_OK) == 0) /* a rename would replace a write-protected file */
        fd = open_temporary(f, exists ? &st : NULL);
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

enum err outfile_flush(struct outfile *f)
{
    errno = 0;
    FAIL_IF(fflush(f->stream), ERR_IO, "%s: writing failed: %s", f->path,
            strerror(errno ? errno : EIO));
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

static const char *mode_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

enum err file_open(const char *path, FILE **f)
{
    struct stat st;
    *f = NULL;
    /* Before it is opened: that alone can have effects on a device. */
    FAIL_IF(stat(path, &st), ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    FAIL_IF(!S_ISREG(st.st_mode), ERR_INPUT, "%s: is %s, not a file", path, mode_kind(st.st_mode));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FAIL_IF(fd < 0, ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    if (!fstat(fd, &st)) {
        errno = EINVAL; /* another kind of file by now */
        *f = S_ISREG(st.st_mode) ? fdopen(fd, "rb") : NULL;
    }
    if (*f)
        return ERR_OK;
    const int why = errno;
    close(fd);
    return FAIL(ERR_INPUT, "%s: cannot be read as a file: %s", path, strerror(why));
}

enum err file_read_all(const char *path, size_t limit, char **data, size_t *bytes)
{
    enum err e = ERR_OK;
    char *buffer = NULL;
    size_t n = 0, room = 0;
    *data = NULL;
    *bytes = 0;
    FILE *f;
    TRY(file_open(path, &f));
    for (;;) {
        if (n == room) { /* sizes of files in /proc are not known beforehand */
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
            e = FAIL(ERR_INPUT, "%s: larger than %s, the most that such a file may have", path,
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

static struct sigaction at_limit;

void file_limit_is_error(void)
{
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &at_limit);
}

void file_limit_restore(void)
{
    if (at_limit.sa_handler != SIG_IGN)
        signal(SIGXFSZ, SIG_DFL);
}

static const char *library_folder;

void file_library_folder(const char *folder)
{
    library_folder = folder;
}

int file_beside_program(char *path, size_t room, const char *name)
{
    static const char *const places[] = {"", "../", "../lib/tomoprof/"}, *const library[] = {
                                                                             "", "", "tomoprof/"};
    char folder[3800];
    const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, room, "%s%s%s", library_folder ? library_folder : folder,
                 (library_folder ? library : places)[i], name);
        if (!access(path, F_OK))
            return 1;
    }
    *path = 0;
    return 0;
}

enum err dir_make(const char *path)
{
    char partial[PATH_MAX];
    size_t length = strlen(path);
    FAIL_IF(!length || length >= sizeof partial, ERR_USAGE, "\"%.60s\" is not a name of a folder",
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
    FAIL_IF(stat(path, &st) || !S_ISDIR(st.st_mode), ERR_IO, "%s: exists and is not a folder",
            path);
    return ERR_OK;
}
