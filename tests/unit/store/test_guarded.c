/* links: tp_store */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "host/store/manifest/manifest.h"
#include "host/store/guard/guarded.h"
#include "tests/unit/check.h"

/* Readers that a file took over: what they do in the child, and what this process believes. */
static char folder[] = "/tmp/tomoprof-test-guarded-XXXXXX";

static int enter(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    FILE *f = fopen("scan", "w");
    for (int i = 0; f && i < 4096; i++)
        fputc(i % 251, f);
    return f && !fclose(f) && !symlink("/etc/hostname", "linked") ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("scan");
    unlink("linked");
    return chdir("/") || rmdir(folder);
}

static enum err open_with(guarded_opener *open, struct store **out)
{
    return guarded_open("scan", "test", open, "scan", out);
}

/* An array of 32 x 32 x uint16 over all of `scan`, in 4 chunks that are found later. */
static enum err plain_index(struct store *s, struct store_array *a)
{
    TRY(store_chunks_room(s, a));
    for (int i = 0; i < 3; i++) /* the last is missing */
        TRY(store_chunk_set(s, a, i,
                            (struct store_chunk){.object = 0, .offset = 512 * i, .stored = 512}));
    return ERR_OK;
}

static enum err plain_array(struct store **out, struct store_array **a)
{
    int32_t object;
    TRY(store_make("scan", "test", out));
    TRY(store_object_add(*out, NULL, "scan", &object));
    TRY(store_array_add(*out, "data", a));
    (*a)->dtype = (struct store_dtype){'u', 2, 0};
    (*a)->dims = 2;
    (*a)->shape[0] = (*a)->shape[1] = 32;
    (*a)->chunk[0] = 8;
    (*a)->chunk[1] = 32;
    (*a)->pipelines_count = 1;
    (*a)->index = plain_index;
    return store_array_check(*out, *a);
}

static enum err plain_open(const void *f, struct store **out)
{
    struct store_array *a, *b;
    (void)f;
    TRY(plain_array(out, &a));
    a->units = "counts";
    a->axis[0] = "y";
    a->slope = 2.5;
    TRY(store_array_add(*out, "other", &b));
    b->dtype = (struct store_dtype){'f', 4, 1};
    b->dims = 1;
    b->shape[0] = 16;
    int32_t object;
    TRY(store_memory_add(*out, "other",
                         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64,
                         &object));
    TRY(store_contiguous(*out, b, object, 0));
    TRY(store_note_add(*out, "unreadable", "%s", "x: damaged"));
    (*out)->notes[0].hides = 1;
    return store_alias_add(*out, (struct store_alias){"alias", "NXdata", "link", a});
}

static void test_passes(void **state)
{
    struct store *s;
    struct store_array *a;
    char bytes[4];
    (void)state;
    assert_ok(open_with(plain_open, &s));
    assert_string_equal(s->format, "test");
    assert_int_equal(s->arrays_count, 2);
    assert_int_equal(s->notes[0].hides, 1);
    assert_string_equal(s->notes[0].value, "x: damaged");
    assert_ok(store_find(s, "alias", &a));
    assert_string_equal(a->units, "counts");
    assert_string_equal(a->axis[0], "y");
    assert_null(a->axis[1]);
    assert_near(a->slope, 2.5, 0);
    assert_null(a->chunks);
    assert_ok(store_index(s, a));
    assert_int_equal(a->chunks_count, 4);
    assert_int_equal(a->chunks[2].offset, 1024);
    assert_int_equal(a->chunks[3].object, -1);
    assert_ok(store_find(s, "other", &a));
    assert_ok(store_object_read(s, a->chunks[0].object, 10, bytes, 4));
    assert_memory_equal(bytes, "abcd", 4);
    store_close(s);
}

static enum err failing_open(const void *f, struct store **out)
{
    *out = NULL;
    return FAIL(ERR_UNSUPPORTED, "%s: a sentence", (const char *)f);
}

static enum err crash(void)
{
    static volatile uintptr_t wild = 8;
    signal(SIGSEGV, SIG_DFL); /* cmocka has its own */
    *(volatile int *)wild = 1;
    return ERR_OK;
}

static enum err crashing_open(const void *f, struct store **out)
{
    (void)f, (void)out;
    return crash();
}

static enum err ending_open(const void *f, struct store **out)
{
    (void)f, (void)out;
    _exit(0);
}

static enum err crashing_index(struct store *s, struct store_array *a)
{
    (void)s, (void)a;
    return crash();
}

static enum err late_crash_open(const void *f, struct store **out)
{
    struct store_array *a;
    (void)f;
    TRY(plain_array(out, &a));
    a->index = crashing_index;
    return ERR_OK;
}

static void test_ends(void **state)
{
    struct store *s;
    (void)state;
    assert_error(open_with(failing_open, &s), ERR_UNSUPPORTED, "scan: a sentence");
    assert_null(s);
    assert_error(open_with(ending_open, &s), ERR_INPUT, "scan: its headers cannot be read");
#ifndef __SANITIZE_ADDRESS__
    assert_error(open_with(crashing_open, &s), ERR_INPUT, "signal 11");
    assert_ok(open_with(late_crash_open, &s));
    assert_error(store_index(s, s->arrays[0]), ERR_INPUT, "signal 11");
    assert_error(store_index(s, s->arrays[0]), ERR_INPUT, "the index of data cannot be read");
    store_close(s);
#endif
}

/* Does what a child should not; the sentence lists what was not refused. */
static enum err thief_open(const void *f, struct store **out)
{
    char text[200] = "";
    (void)f, (void)out;
    const struct {
        const char *name;
        int done;
    } rows[] = {{" made", open("made", O_WRONLY | O_CREAT, 0600) >= 0},
                {" changed", open("scan", O_RDWR) >= 0},
                {" emptied", open("scan", O_RDONLY | O_TRUNC) >= 0},
                {" removed", unlink("linked") == 0},
                {" renamed", rename("scan", "made") == 0},
                {" asked", socket(AF_INET, SOCK_STREAM, 0) >= 0},
                {" forked", fork() >= 0},
                {" killed", kill(getppid(), 0) == 0},
                {" printed", write(2, "x", 1) > 0},
                {" copied", dup(2) >= 0},
                {" read", open("/etc/passwd", O_RDONLY) >= 0},
                {" ran", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                              0) != MAP_FAILED},
                {" took", malloc((size_t)8 << 30) != NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].done)
            strcat(text, rows[i].name);
    if (open("scan", O_RDONLY) < 0)
        strcat(text, " and cannot read its file");
    return FAIL(ERR_INPUT, "not refused:%s.", text);
}

static void test_jail(void **state)
{
    struct store *s;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || !(defined(__x86_64__) || defined(__aarch64__))
    skip();
#endif
    if (prctl(PR_GET_SECCOMP) < 0)
        skip();
    assert_error(open_with(thief_open, &s), ERR_INPUT, "not refused:.");
}

static enum err (*lie)(struct store *s, struct store_array *a);

static enum err lying_open(const void *f, struct store **out)
{
    struct store_array *a;
    (void)f;
    TRY(plain_array(out, &a));
    return lie(*out, a);
}

#define LIE(name, ...)                                                                             \
    static enum err name(struct store *s, struct store_array *a)                                   \
    {                                                                                              \
        (void)s, (void)a;                                                                          \
        __VA_ARGS__;                                                                               \
        return ERR_OK;                                                                             \
    }
LIE(lie_dims, a->dims = 9)
LIE(lie_shape, a->shape[0] = INT64_MAX)
LIE(lie_chunk, a->chunk[0] = 0)
LIE(lie_type, a->dtype.bytes = 255)
LIE(lie_kind, a->dtype.kind = 'x')
LIE(lie_order, a->order[0] = 100)
LIE(lie_codec, a->pipelines[0].count = 1; a->pipelines[0].step[0].codec = CODEC_JXR)
LIE(lie_item, a->pipelines[0].count = 1;
    a->pipelines[0].step[0] = (struct codec_step){.codec = CODEC_SHUFFLE, .item = -1})
LIE(lie_steps, a->pipelines[0].count = 1000)
LIE(lie_pipelines, a->pipelines_count = 1000)
LIE(lie_place, TRY(plain_index(s, a)); a->chunks[0].offset = 4000)
LIE(lie_object, TRY(plain_index(s, a)); a->chunks[0].object = 77)
LIE(lie_pipeline, TRY(plain_index(s, a)); a->chunks[0].pipeline = 7)
LIE(lie_name, s->objects[0].name = "/etc/passwd")
LIE(lie_above, s->objects[0].name = "./../secret")
LIE(lie_url, s->objects[0].name = "http://127.0.0.1/x")

static struct store_tile big = {.shape = {8, 32}, .whole = {INT64_MAX / 4, INT64_MAX / 4}};
LIE(lie_tile, TRY(plain_index(s, a)); a->tiles = &big; a->chunks_count = 1)

static void test_lies(void **state)
{
    static enum err (*const lies[])(struct store *, struct store_array *) = {
        lie_dims,     lie_shape, lie_chunk, lie_type,      lie_kind,  lie_order,
        lie_codec,    lie_item,  lie_steps, lie_pipelines, lie_place, lie_object,
        lie_pipeline, lie_name,  lie_above, lie_url,       lie_tile};
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the child reads beyond its own arrays to lie */
#endif
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct store *s = NULL;
        lie = lies[i];
        const enum err e = open_with(lying_open, &s);
        if ((e != ERR_INPUT && e != ERR_INTERNAL) || s)
            fail_msg("lie %zu is believed: %s %s", i, err_name(e), err_text());
    }
}

static enum err linked_open(const void *f, struct store **out)
{
    struct store_array *a;
    int32_t object;
    (void)f;
    TRY(plain_array(out, &a));
    return store_object_add(*out, ".", "linked", &object);
}

/* A link of the file system that leads out of the folder. */
static void test_link(void **state)
{
    struct store *s;
    char byte;
    (void)state;
    assert_ok(open_with(linked_open, &s));
    assert_error(store_object_read(s, 1, 0, &byte, 1), ERR_INPUT, "leads out of");
    store_close(s);
}

/* Returns how many children this thread has. */
static int children_now(void)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    int n = 0;
    for (size_t got = fread(text, 1, sizeof text, f); got; got = fread(text, 1, sizeof text, f))
        for (size_t i = 0; i < got; i++)
            n += text[i] == ' ';
    fclose(f);
    return n;
}

static void test_compound_files(void **state)
{
    struct store *s;
    uint16_t value;
    (void)state;
    const int before = children_now();
    if (before < 0)
        skip(); /* a kernel without CONFIG_PROC_CHILDREN */
    assert_ok(store_open(TP_DATA "/store/txrm/u2.txrm", &s));
    assert_int_equal(children_now(), before + 1);
    assert_string_equal(s->format, "Zeiss TXRM");
    assert_ok(store_index(s, s->arrays[0]));
    const struct store_chunk *c = &s->arrays[0]->chunks[0];
    assert_ok(store_object_read(s, c->object, c->offset, &value, sizeof value));
    store_close(s);
    assert_int_equal(children_now(), before);
}

/* A fork of this process does not ask, and leaves the reader to this process when it closes. */
static void test_forks(void **state)
{
    struct store *s;
    int status = 0;
    (void)state;
    assert_ok(open_with(plain_open, &s));
    const pid_t pid = fork();
    if (pid == 0) {
        const enum err e = store_index(s, s->arrays[0]);
        const int told = strstr(err_text(), "was opened before fork()") != NULL;
        store_close(s);
        _exit(e == ERR_UNSUPPORTED && told ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_ok(store_index(s, s->arrays[0]));
    assert_int_equal(s->arrays[0]->chunks_count, 4);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forks),  cmocka_unit_test(test_compound_files),
        cmocka_unit_test(test_passes), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_jail),   cmocka_unit_test(test_lies),
        cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
