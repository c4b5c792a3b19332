#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "host/store/engine/engine.h"
#include "tests/fuzz/fuzz.h"

/* A Zarr store of any files: "NAME\n" and its bytes, files apart by "\n==\n". Its arrays are
 * listed and up to 64 KiB of each are read. */

#define READ_BYTES 65536
#define FILES_MOST 16

static char folder[64];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

static void clean(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Accepts letters, digits and "._/-" alone, and no part of it "..". */
static int is_plain(const char *name, size_t n)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyz0123456789._/-";
    if (!n || n > 60 || *name == '/' || name[n - 1] == '/')
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!name[i] || !strchr(known, name[i]) || (i && name[i] == '.' && name[i - 1] == '.'))
            return 0;
    return 1;
}

/* A name that is a file and a folder at once has one of the two. */
static void write_one(const uint8_t *data, size_t size)
{
    char path[160], *slash;
    const uint8_t *end = memchr(data, '\n', size);
    if (!end || !is_plain((const char *)data, (size_t)(end - data)))
        return;
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)(end - data), (const char *)data);
    slash = strrchr(path, '/');
    *slash = 0;
    if (dir_make(path))
        return;
    *slash = '/';
    FILE *f = fopen(path, "wb");
    if (!f)
        return;
    fwrite(end + 1, 1, size - (size_t)(end + 1 - data), f);
    fclose(f);
}

static void write_files(const uint8_t *data, size_t size)
{
    for (int i = 0; i < FILES_MOST && size; i++) {
        const uint8_t *end = memmem(data, size, "\n==\n", 4);
        const size_t n = end ? (size_t)(end - data) : size;
        write_one(data, n);
        data += end ? n + 4 : n;
        size -= end ? n + 4 : n;
    }
}

static void read_some(struct store *s, struct store_array *a)
{
    static unsigned char out[READ_BYTES + 16];
    struct engine_box b = engine_all(a);
    int64_t bytes = a->dtype.bytes;
    for (int d = a->dims - 1; d >= 0; d--) {
        b.count[d] = b.count[d] < READ_BYTES / bytes ? b.count[d] : READ_BYTES / bytes;
        bytes *= b.count[d];
    }
    const struct engine_options one = {.threads = 1};
    struct engine_plan *p;
    if (engine_plan(s, a, &b, &one, &p)) {
        FUZZ_CHECK(*err_text());
        return;
    }
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct store_chunk *c = &a->chunks[i];
        FUZZ_CHECK(c->object < s->objects_count);
        FUZZ_CHECK(c->object < 0 || (c->offset >= 0 && c->stored >= 0 &&
                                     c->offset + c->stored <= s->objects[c->object].bytes));
    }
    if (engine_run(p, a->dtype, out, NULL, NULL, NULL))
        FUZZ_CHECK(*err_text());
    engine_plan_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *s;
    if (!*folder) {
        fuzz_folder("zarr", folder);
        atexit(clean);
    }
    write_files(data, size);
    if (store_open(folder, &s)) {
        FUZZ_CHECK(*err_text() && !s);
    } else {
        FUZZ_CHECK(s->arrays_count > 0);
        for (int i = 0; i < s->arrays_count; i++)
            read_some(s, s->arrays[i]);
        store_close(s);
    }
    clean();
    FUZZ_CHECK(!mkdir(folder, 0700));
    return 0;
}
