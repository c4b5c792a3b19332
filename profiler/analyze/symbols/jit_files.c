/* Reads descriptions of generated code, after a look at whose they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/symbols/jit_files.h"

#define BYTES_MAX ((off_t)256 << 20)

void jit_map_path(int pid, char path[64])
{
    snprintf(path, 64, "/tmp/perf-%d.map", pid);
}

static const char *jit_file_doubt(int fd, uint64_t since_ns, struct stat *st)
{
    if (fstat(fd, st))
        return "it cannot be read";
    if (!S_ISREG(st->st_mode))
        return "it is not a regular file";
    if (st->st_uid != geteuid())
        return "it belongs to another user";
    if (st->st_size > BYTES_MAX)
        return "it is larger than 256 MiB";
    uint64_t written = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    if (written < since_ns)
        return "it is older than the process";
    return NULL;
}

char *jit_file_read(const char *path, uint64_t since_ns, size_t *bytes, const char **why)
{
    struct stat st;
    char *text = NULL;
    *why = NULL;
    *bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        *why = errno == ELOOP ? "it is a symbolic link" : NULL;
        return NULL;
    }
    *why = jit_file_doubt(fd, since_ns, &st);
    if (!*why)
        text = malloc((size_t)st.st_size + 1);
    ssize_t got = 1;
    while (text && got > 0 && *bytes < (size_t)st.st_size) {
        got = pread(fd, text + *bytes, (size_t)st.st_size - *bytes, (off_t)*bytes);
        *bytes += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return text;
}

void *jit_file_part(const char *path, uint64_t offset, size_t n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int fits = fd >= 0 && !jit_file_doubt(fd, 0, &st) && n && n <= (uint64_t)st.st_size &&
               offset <= (uint64_t)st.st_size - n;
    char *bytes = fits ? malloc(n) : NULL;
    if (bytes && pread(fd, bytes, n, (off_t)offset) != (ssize_t)n) {
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}
