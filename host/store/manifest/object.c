/* Objects of a store: files under names that were checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/store/fetch/fetch.h"
#include "host/store/manifest/manifest.h"

#define OPEN_MOST    64   /* files of a store that stay open */
#define WINDOW_BYTES 4096 /* read at once for a field of a header or an index */

int store_follow_links;

struct object_window {
    int32_t object;
    int64_t offset;
    size_t bytes;
    unsigned char data[WINDOW_BYTES];
};

int store_name_is_inside(const char *name)
{
    if (!*name || *name == '/' || strlen(name) > 4000)
        return 0;
    for (const char *part = name;;) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && !memcmp(part, "..", 2)))
            return 0;
        if (!part[n])
            break;
        part += n + 1;
    }
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < ' ' || *c == '\\' || *c == 127)
            return 0;
    return 1;
}

static enum err object_add(struct store *s, struct store_object o, int32_t *index)
{
    FAIL_IF(s->objects_count == INT32_MAX || !o.name, ERR_MEMORY,
            "%s: no memory left for its files", s->name);
    TRY(array_room(&s->objects, &s->objects_room, (size_t)s->objects_count + 1,
                   sizeof *s->objects));
    *index = s->objects_count;
    o.root = s->root;
    s->objects[s->objects_count++] = o;
    return ERR_OK;
}

enum err store_confine(struct store *s, const char *folder)
{
    char *real = s->remote || store_follow_links ? NULL : realpath(folder, NULL);
    s->root = real ? arena_text(s->arena, real) : NULL;
    FAIL_IF(real && !s->root, ERR_MEMORY, "%s: no memory left", s->name);
    free(real);
    return ERR_OK;
}

enum err store_object_add(struct store *s, const char *base, const char *relative, int32_t *index)
{
    char path[8192];
    FAIL_IF(base && !store_name_is_inside(relative), ERR_INPUT,
            "%s: names the file \"%.200s\", which would lie outside of its folder: refused",
            s->name, relative);
    snprintf(path, sizeof path, "%s%s%s", base ? base : "", base ? "/" : "", relative);
    return object_add(
        s, (struct store_object){.name = arena_text(s->arena, path), .bytes = -1, .fd = -1}, index);
}

enum err store_object_find(struct store *s, const char *base, const char *relative, int32_t *index)
{
    struct stat st;
    TRY(store_object_add(s, base, relative, index));
    struct store_object *o = &s->objects[*index];
    if (s->remote) {
        TRY(remote_way->size(o->name, &o->bytes));
        if (o->bytes < 0) {
            s->objects_count--;
            *index = -1;
        }
        return ERR_OK;
    }
    if (stat(o->name, &st)) {
        FAIL_IF(errno != ENOENT && errno != ENOTDIR, ERR_INPUT, "%s: cannot read: %s", o->name,
                strerror(errno));
        s->objects_count--;
        *index = -1;
        return ERR_OK;
    }
    FAIL_IF(!S_ISREG(st.st_mode), ERR_INPUT, "%s: is not a regular file", o->name);
    o->bytes = st.st_size;
    return ERR_OK;
}

enum err store_memory_add(struct store *s, const char *name, const void *bytes, size_t n,
                          int32_t *index)
{
    void *copy = arena_take(s->arena, n + 1);
    FAIL_IF(!copy, ERR_MEMORY, "%s: no memory left for %s", s->name, name);
    memcpy(copy, bytes, n);
    return object_add(
        s,
        (struct store_object){
            .name = arena_text(s->arena, name), .memory = copy, .bytes = (int64_t)n, .fd = -1},
        index);
}

static enum err object_open(struct store *s, int32_t object, int *fd)
{
    struct store_object *o = &s->objects[object];
    *fd = o->fd;
    if (o->fd >= 0)
        return ERR_OK;
    *fd = open(o->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FAIL_IF(*fd < 0, ERR_INPUT, "%s: cannot read: %s", o->name, strerror(errno));
    const enum err e = fetch_check_file(o, *fd, &o->bytes);
    if (e) {
        close(*fd);
        return e;
    }
    if (object < OPEN_MOST)
        o->fd = *fd;
    return ERR_OK;
}

enum err store_object_bytes(struct store *s, int32_t object, int64_t *bytes)
{
    int fd;
    struct store_object *o = &s->objects[object];
    if (o->bytes < 0 && s->remote) {
        TRY(remote_way->size(o->name, &o->bytes));
        FAIL_IF(o->bytes < 0, ERR_INPUT, "%s: is not there", o->name);
    } else if (o->bytes < 0) {
        TRY(object_open(s, object, &fd));
        if (o->fd < 0)
            close(fd);
    }
    *bytes = o->bytes;
    return ERR_OK;
}

static enum err object_pread(const struct store_object *o, int fd, int64_t offset, void *to,
                             size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)to + done, n - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        FAIL_IF(got <= 0, ERR_IO, "%s: reading failed: %s", o->name,
                got ? strerror(errno) : "it became shorter");
        done += (size_t)got;
    }
    return ERR_OK;
}

/* A field, from the bytes around the last one where it lies there. */
static enum err object_read_field(struct store *s, int32_t object, int fd, int64_t offset, void *to,
                                  size_t n)
{
    struct object_window *w = s->window;
    const struct store_object *o = &s->objects[object];
    if (!w) {
        w = s->window = arena_take(s->arena, sizeof *w);
        FAIL_IF(!w, ERR_MEMORY, "%s: no memory left to open it", s->name);
    }
    if (w->object != object || offset < w->offset ||
        offset + (int64_t)n > w->offset + (int64_t)w->bytes) {
        const int64_t left = o->bytes - offset;
        w->bytes = 0;
        const size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        TRY(object_pread(o, fd, offset, w->data, bytes));
        w->object = object;
        w->offset = offset;
        w->bytes = bytes;
    }
    memcpy(to, w->data + (offset - w->offset), n);
    return ERR_OK;
}

enum err store_object_read(struct store *s, int32_t object, int64_t offset, void *to, size_t n)
{
    struct store_object *o = &s->objects[object];
    int64_t bytes = 0;
    int fd;
    TRY(store_object_bytes(s, object, &bytes));
    FAIL_IF(offset < 0 || offset > bytes || (int64_t)n > bytes - offset, ERR_INPUT,
            "%s: ends before byte %" PRId64 ": it is cut short or damaged", o->name,
            offset > INT64_MAX - (int64_t)n ? offset : offset + (int64_t)n);
    if (o->memory) {
        memcpy(to, (const char *)o->memory + offset, n);
        return ERR_OK;
    }
    if (s->remote)
        return remote_read(s, object, offset, to, n);
    TRY(object_open(s, object, &fd));
    enum err e = n <= WINDOW_BYTES / 8 ? object_read_field(s, object, fd, offset, to, n)
                                       : object_pread(o, fd, offset, to, n);
    if (o->fd < 0)
        close(fd);
    return e;
}
