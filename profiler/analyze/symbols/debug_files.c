/* Finds separate debug files by build id or .gnu_debuglink, in the folders of the system and in
 * TOMOPROF_DEBUG_DIR. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "profiler/analyze/symbols/debug_files.h"

static const char *debug_root(int i)
{
    return i ? getenv("TOMOPROF_DEBUG_DIR") : "/usr/lib/debug";
}

int debug_file_open(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* `name` opened and copied to *path when it is there. */
static int debug_take(const char *name, char **path)
{
    int fd = debug_file_open(name);
    if (fd >= 0)
        *path = strdup(name);
    return fd;
}

int debug_file_by_id(const void *build_id, int bytes, const char *suffix, char **path)
{
    const uint8_t *id = build_id;
    char hex[2 * 64 + 1], name[PATH_MAX];
    if (bytes < 2 || bytes > 64)
        return -1;
    for (int i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    for (int i = 0; i < 2; i++) {
        if (!debug_root(i))
            continue;
        snprintf(name, sizeof name, "%s/.build-id/%.2s/%s%s", debug_root(i), hex, hex + 2, suffix);
        int fd = debug_take(name, path);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static int has_crc(int fd, uint32_t expected)
{
    static const size_t room = 65536;
    Bytef *bytes = malloc(room);
    uLong crc = crc32(0, NULL, 0);
    ssize_t n = 0;
    off_t offset = 0;
    while (bytes && (n = pread(fd, bytes, room, offset)) > 0) {
        crc = crc32(crc, bytes, (uInt)n);
        offset += n;
    }
    int same = bytes && n == 0 && crc == expected;
    free(bytes);
    return same;
}

int debug_file_by_link(const char *main, const char *link, uint32_t crc, char **path)
{
    const char *slash = strrchr(main, '/');
    int length = slash ? (int)(slash - main) : 0;
    if (!slash || !*link || strchr(link, '/') || length >= PATH_MAX)
        return -1;
    for (int i = 0; i < 4; i++) {
        char name[2 * PATH_MAX];
        const char *folder = i < 2 ? "" : debug_root(i - 2);
        if (!folder)
            continue;
        snprintf(name, sizeof name, "%s%.*s%s/%s", folder, length, main, i == 1 ? "/.debug" : "",
                 link);
        if (!strcmp(name, main))
            continue;
        int fd = debug_take(name, path);
        if (fd >= 0 && has_crc(fd, crc))
            return fd;
        if (fd >= 0) {
            close(fd);
            free(*path);
            *path = NULL;
        }
    }
    return -1;
}

/* Debug files from the servers that DEBUGINFOD_URLS names, by elfutils' own client where it is
 * installed; it keeps them in its cache. */

#define SERVER_SECONDS 300 /* for one file, and no other follows one that takes longer */
#define SERVER_BYTES   ((rlim_t)4 << 30) /* of one file, also where it was compressed on its way */

struct client {
    void *session;
    int (*find)(void *session, const unsigned char *id, int bytes, char **path);
};

static void *debuginfod_library(void)
{
    static void *opened;
    if (!opened)
        opened = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    return opened;
}

int debug_server_client(void)
{
    return debuginfod_library() != NULL;
}

static int64_t server_asked_ns;

/* Is called by the client as it waits, and ends that by its answer: a server may send for ever. */
static int server_is_late(void *session, long done, long all)
{
    (void)session, (void)done, (void)all;
    return clock_seconds_since(server_asked_ns) > SERVER_SECONDS;
}

/* Returns the one client of the process: it keeps its connections. */
static struct client *debuginfod_client(void)
{
    static struct client c;
    const char *urls = getenv("DEBUGINFOD_URLS");
    void *(*begin)(void);
    void (*watch)(void *session, int (*progress)(void *session, long done, long all));
    if (c.session || !urls || !*urls || !debuginfod_library())
        return c.session ? &c : NULL;
    *(void **)&begin = dlsym(debuginfod_library(), "debuginfod_begin");
    *(void **)&c.find = dlsym(debuginfod_library(), "debuginfod_find_debuginfo");
    *(void **)&watch = dlsym(debuginfod_library(), "debuginfod_set_progressfn");
    c.session = begin && c.find && watch ? begin() : NULL;
    if (c.session)
        watch(c.session, server_is_late);
    return c.session ? &c : NULL;
}

/* Asks with a limit of what the client may write into its cache. */
static int server_find(const struct client *c, const void *build_id, int bytes, char **path)
{
    struct rlimit all, few;
    server_asked_ns = clock_ns();
    if (getrlimit(RLIMIT_FSIZE, &all))
        return -EIO;
    few = all;
    few.rlim_cur = all.rlim_cur < SERVER_BYTES ? all.rlim_cur : SERVER_BYTES;
    setrlimit(RLIMIT_FSIZE, &few);
    const int fd = c->find(c->session, build_id, bytes, path);
    setrlimit(RLIMIT_FSIZE, &all);
    return fd;
}

int debug_file_by_server(const void *build_id, int bytes, char **path)
{
    static int unreachable; /* each module would wait for it anew, 90 s at most */
    struct client *c = unreachable || bytes < 2 || bytes > 64 ? NULL : debuginfod_client();
    int fd = c ? server_find(c, build_id, bytes, path) : -1;
    unreachable |= c && fd < 0 && fd != -ENOENT && fd != -ENOSYS;
    return fd < 0 ? -1 : fd;
}
