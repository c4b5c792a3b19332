/* Folders that appear under their name only when complete; a signal's handler removes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "host/store/writer/outdir.h"

#define TEMPORARIES 4
#define DEPTH_MOST  16
#define HANDLER_MS  400 /* in which a handler removes what it can */

/* Each is followed by the name that a handler gives it: other threads that write go on until the end of
 * the process, and shall not find it. */
static char *temporaries[TEMPORARIES];

/* NAME.PROCESS.tmp and NAME.PROCESS.0.tmp; NULL: no memory. */
static char *temporary_names(const char *made)
{
    const size_t n = strlen(made), end = n > 4 ? n - 4 : n;
    char *names = malloc(2 * n + 4);
    if (!names)
        return NULL;
    memcpy(names, made, n + 1);
    memcpy(names + n + 1, made, end);
    memcpy(names + n + 1 + end, ".0", 2);
    memcpy(names + n + 1 + end + 2, made + end, n - end + 1);
    return names;
}

enum err outdir_begin(const char *made)
{
    char *name = temporary_names(made);
    FAIL_IF(!name, ERR_MEMORY, "%s: no memory left for the name", made);
    if (mkdir(made, 0777)) {
        const int why = errno;
        free(name);
        return FAIL(ERR_IO, "%s: cannot be made: %s", made, strerror(why));
    }
    for (int i = 0; i < TEMPORARIES; i++) {
        char *none = NULL;
        if (__atomic_compare_exchange_n(&temporaries[i], &none, name, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return ERR_OK;
    }
    free(name); /* outdir_end removes it still */
    return ERR_OK;
}

enum err outdir_end(const char *made, const char *path)
{
    const int failed = path && rename(made, path), why = errno;
    if (!path || failed)
        dir_remove(made);
    for (int i = 0; i < TEMPORARIES; i++) {
        char *name = __atomic_load_n(&temporaries[i], __ATOMIC_SEQ_CST);
        if (name && !strcmp(name, made) &&
            __atomic_compare_exchange_n(&temporaries[i], &name, NULL, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            free(name);
    }
    FAIL_IF(failed, ERR_IO, "%s: cannot be renamed: %s", path, strerror(why));
    return ERR_OK;
}

static int64_t handler_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct tree_entry { /* as the kernel writes it */
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

/* Removes a tree by system calls alone, until the time is up. Returns 0 where it is gone. Other threads
 * may add to it meanwhile, so that each folder is read again until it is empty. */
static int tree_remove(int folder, const char *name, int depth, int64_t until)
{
    _Alignas(struct tree_entry) char list[2048];
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (unlinkat(folder, name, AT_REMOVEDIR) && handler_ns() < until) {
        long n = 0;
        lseek(fd, 0, SEEK_SET);
        while (handler_ns() < until && (n = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
            for (long at = 0; at < n;) {
                const struct tree_entry *e = (const void *)(list + at);
                at += e->bytes;
                if (!strcmp(e->name, ".") || !strcmp(e->name, ".."))
                    continue;
                if (unlinkat(fd, e->name, 0) && errno == EISDIR && depth < DEPTH_MOST)
                    tree_remove(fd, e->name, depth + 1, until);
            }
        if (n < 0)
            break;
    }
    close(fd);
    return 0;
}

void outdir_remove_temporaries(void)
{
    const int64_t until = handler_ns() + (int64_t)HANDLER_MS * 1000000;
    for (int i = 0; i < TEMPORARIES; i++) {
        const char *path = __atomic_load_n(&temporaries[i], __ATOMIC_SEQ_CST);
        const char *away = path ? path + strlen(path) + 1 : NULL;
        if (path && !rename(path, away))
            tree_remove(AT_FDCWD, away, 0, until);
    }
}
