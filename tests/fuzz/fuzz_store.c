#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/store/engine/engine.h"
#include "tests/fuzz/fuzz.h"

/* A file of any bytes is opened by its content; its arrays lie within their file and up to 64 KiB
 * of each are read. */

#define READ_BYTES 65536

/* libhdf5 1.10 loses objects of its own when it gives up on some damaged headers. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
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
    static int fd = -1;
    char path[64];
    struct store *s;
    if (fd < 0)
        fd = memfd_create("fuzz.store", 0); /* a file in memory */
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_CHECK(!size || pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (store_open(path, &s)) {
        FUZZ_CHECK(*err_text() && !s);
        return 0;
    }
    FUZZ_CHECK(s->arrays_count > 0);
    for (int i = 0; i < s->arrays_count; i++)
        read_some(s, s->arrays[i]);
    store_close(s);
    return 0;
}
