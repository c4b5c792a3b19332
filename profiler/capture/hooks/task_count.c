/* A program that counts its threads in /proc/self/task finds its own: Chromium's zygote ends where
 * it has more than one before it makes its sandbox. The library's thread steps aside where it is
 * the only other one, and comes back with a later allocation. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"

/* The kernel has read `path`, so it can be read; NULL where a descriptor alone was asked for. */
static int task_path_is_own(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    int saved = errno;
    n -= n && path[n - 1] == '/';
    if (n < 4 || memcmp(path + n - 4, "task", 4) || (n > 4 && path[n - 5] != '/'))
        return 0;
    int left = process_counted();
    errno = saved;
    return left;
}

/* Asks again where the answer counted the library's thread. Programs that were built before glibc
 * 2.33 call the functions with two underscores. */
#define ASKED(name, parameters, is_folder, ...)                                                    \
    CAPTURE_API int name parameters;                                                               \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        static void *slot;                                                                         \
        int(*next) parameters = (int(*) parameters)raw_next(&slot, #name);                         \
        if (!next) {                                                                               \
            errno = ENOSYS;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        int r = next(__VA_ARGS__);                                                                 \
        return r == 0 && (is_folder) && task_path_is_own(path) ? next(__VA_ARGS__) : r;            \
    }
#define IS_FOLDER S_ISDIR(st->st_mode)

ASKED(stat, (const char *restrict path, struct stat *restrict st), IS_FOLDER, path, st)
ASKED(stat64, (const char *restrict path, struct stat64 *restrict st), IS_FOLDER, path, st)
ASKED(lstat, (const char *restrict path, struct stat *restrict st), IS_FOLDER, path, st)
ASKED(lstat64, (const char *restrict path, struct stat64 *restrict st), IS_FOLDER, path, st)
ASKED(fstatat, (int fd, const char *restrict path, struct stat *restrict st, int flags), IS_FOLDER,
      fd, path, st, flags)
ASKED(fstatat64, (int fd, const char *restrict path, struct stat64 *restrict st, int flags),
      IS_FOLDER, fd, path, st, flags)
ASKED(statx,
      (int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict st),
      S_ISDIR(st->stx_mode), fd, path, flags, mask, st)
ASKED(__xstat, (int version, const char *path, struct stat *st), IS_FOLDER, version, path, st)
ASKED(__xstat64, (int version, const char *path, struct stat64 *st), IS_FOLDER, version, path, st)
ASKED(__lxstat, (int version, const char *path, struct stat *st), IS_FOLDER, version, path, st)
ASKED(__lxstat64, (int version, const char *path, struct stat64 *st), IS_FOLDER, version, path, st)
ASKED(__fxstatat, (int version, int fd, const char *path, struct stat *st, int flags), IS_FOLDER,
      version, fd, path, st, flags)
ASKED(__fxstatat64, (int version, int fd, const char *path, struct stat64 *st, int flags),
      IS_FOLDER, version, fd, path, st, flags)

/* Nothing of the folder is read yet. */
CAPTURE_API DIR *opendir(const char *path)
{
    static void *slot;
    DIR *folder = ((DIR * (*)(const char *)) raw_next(&slot, "opendir"))(path);
    if (folder)
        (void)task_path_is_own(path);
    return folder;
}
