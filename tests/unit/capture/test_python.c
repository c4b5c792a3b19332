/* links: tp_stacks tp_trace */
/* Python frames read from an interpreter that is a picture of one: 3.11's structures, laid out by
 * hand, whole and with pointers to anywhere. The real ones:
 * tests/capture/python/test_python_frames.py. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/capture.h"
#include "profiler/capture/core/unwind/elf_dynamic.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/python.h"
#include "profiler/capture/recorders/python/layout.h"
#include "tests/unit/check.h"

struct capture_thread *capture_self(void)
{
    return NULL;
}
void capture_meta(struct capture_thread *t, const char *key, const char *value)
{
    (void)t;
    (void)key;
    (void)value;
}
static char noted[256];
void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    (void)t;
    (void)severity;
    (void)key;
    strncpy(noted, format, sizeof noted - 1);
}

/* The symbols by which an interpreter is found: this program exports none, so that they are found
 * in its file. */
extern uint64_t _PyRuntime[64], PyCode_Type[8], PyFrame_Type[8];
extern const unsigned long Py_Version;
uint64_t _PyRuntime[64] = {0}, PyCode_Type[8] = {0}, PyFrame_Type[8] = {0};
const unsigned long Py_Version = 0x030b07f0;

enum { FRAMES = 5, WORDS = 4096 };
static uint64_t *heap; /* all objects lie here */
static size_t used;

static uint64_t *take(size_t bytes)
{
    uint64_t *p = heap + used;
    used += (bytes + 15) / 16 * 2;
    assert_true(used <= WORDS);
    return p;
}

static void put(void *object, size_t at, uint64_t value, size_t bytes)
{
    memcpy((char *)object + at, &value, bytes);
}

static uint64_t *text(const char *s)
{
    size_t n = strlen(s);
    uint64_t *p = take(48 + n + 1);
    p[2] = n;
    put(p, 32, 1 << 2 | 0x60, 4); /* one byte a character, compact, ASCII */
    memcpy((char *)p + 48, s, n + 1);
    return p;
}

/* Makes two code units of the first line, two of line + 3. */
static uint64_t *code(const char *name, int line)
{
    static const uint8_t table[] = {0x80 | 13 << 3 | 1, 0, 0x80 | 13 << 3 | 1, 6};
    uint64_t *t = take(32 + sizeof table), *c = take(192);
    t[2] = sizeof table;
    memcpy(t + 4, table, sizeof table);
    c[1] = (uintptr_t)PyCode_Type;
    put(c, 72, (uint64_t)line, 4);
    put(c, 112, (uintptr_t)text("/some/file.py"), 8);
    put(c, 128, (uintptr_t)text(name), 8);
    put(c, 136, (uintptr_t)t, 8);
    return c;
}

static uint64_t *state, *frames[FRAMES];

static void build(uint64_t thread, uint64_t kernel_id)
{
    used = 0;
    memset(heap, 0, WORDS * sizeof *heap);
    uint64_t *interpreter = take(64), *cframe = take(32);
    static const char *const names[FRAMES] = {"leaf", "second", "third", "fourth", "<module>"};
    state = take(400);
    _PyRuntime[5] = (uintptr_t)interpreter;
    interpreter[2] = (uintptr_t)state;
    put(state, 56, (uintptr_t)cframe, 8);
    put(state, 152, thread, 8);
    put(state, 160, kernel_id, 8);
    for (int i = FRAMES - 1; i >= 0; i--) {
        uint64_t *c = code(names[i], 10 * (i + 1)), *f = frames[i] = take(80);
        f[4] = (uintptr_t)c;
        f[6] = i + 1 < FRAMES ? (uintptr_t)frames[i + 1] : 0;
        f[7] = (uintptr_t)c + 184 + (i ? 4 : 0); /* callers stand in their second line */
        ((uint8_t *)f)[68] = i == 2 || i == FRAMES - 1;
    }
    cframe[1] = (uintptr_t)frames[0];
}

static struct capture_thread writer;
static uint8_t scratch[FRAME_SCRATCH];
static uint64_t pair[2 * FRAME_ROOM];
static struct deep deep;
static struct frame_outer outer;

static size_t read_frames(pid_t tid, uint32_t *flags)
{
    struct frame_view v = {.tid = tid, .scratch = scratch, .deep = &deep, .outer = &outer};
    *flags = 0;
    return python_frames(&writer, &v, pair, flags);
}

static void check_frames(pid_t tid)
{
    uint32_t flags;
    size_t n = read_frames(tid, &flags);
    assert_int_equal(flags, 0);
    assert_int_equal(n, FRAMES);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pair[2 * i] & 0xffffffff, 10 * (i + 1) + (i ? 3 : 0));
        assert_int_equal(pair[2 * i] >> 32, i == 2 || i == FRAMES - 1);
    }
}

static void test_frames_of_this_thread(void **unused)
{
    (void)unused;
    uint32_t flags;
    build((uint64_t)pthread_self(), 0);
    check_frames(0);
    uint64_t leaf = pair[1];
    build((uint64_t)pthread_self(), 0); /* once more from what is remembered */
    check_frames(0);
    assert_int_equal(pair[1], leaf);
    put((void *)frames[0][4], 72, 500, 4); /* another code object in the same place */
    assert_int_equal(read_frames(0, &flags), FRAMES);
    assert_int_equal(pair[0] & 0xffffffff, 500);
    assert_true(pair[1] != leaf);
}

static void test_frames_of_another_thread(void **unused)
{
    (void)unused;
    uint32_t flags;
    build(1, 4711);
    check_frames(4711);
    assert_int_equal(read_frames(4712, &flags), 0);
    assert_int_equal(flags, TRACE_STACK_NO_PYTHON);
}

static void test_a_frame_that_is_being_made(void **unused)
{
    (void)unused;
    uint32_t flags;
    build((uint64_t)pthread_self(), 0);
    frames[0][4] = 0; /* its code is not there yet: the rest is right */
    assert_int_equal(read_frames(0, &flags), FRAMES - 1);
    assert_int_equal(flags, 0);
    assert_int_equal(pair[0] & 0xffffffff, 23);
}

static void test_a_chain_that_breaks_or_turns(void **unused)
{
    (void)unused;
    uint32_t flags;
    build(1, 4711);
    frames[2][6] = 0x10;
    assert_int_equal(read_frames(4711, &flags), 3);
    assert_int_equal(flags, TRACE_STACK_PYTHON_CUT);
    frames[2][6] = (uintptr_t)frames[0];
    assert_int_equal(read_frames(4711, &flags), FRAME_INNER);
    assert_int_equal(flags, TRACE_STACK_PYTHON_CUT);
    frames[2][6] = (uintptr_t)frames[2];
    assert_int_equal(read_frames(4711, &flags), 3);
    assert_int_equal(flags, TRACE_STACK_PYTHON_CUT);
}

static void test_pointers_to_anywhere(void **unused)
{
    (void)unused;
    uint64_t x = 88172645463325252ull;
    uint32_t flags;
    size_t cut = 0;
    for (int i = 0; i < 30000; i++) {
        if (i % 8 == 0)
            build(1, 4711);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        uint64_t values[4] = {x, x % 65536, (uintptr_t)heap + x / 8 % (WORDS * 8), 0};
        heap[x / 4 % used] = values[x % 4];
        assert_true(read_frames(4711, &flags) <= 128);
        cut += flags != 0;
    }
    assert_true(cut > 1000 && cut < 30000);
}

/* struct _Py_DebugOffsets of 3.14.10, compiled with and without Py_GIL_DISABLED: the same words. */
static void the_words_of_3_14_are_those_of_its_header(const struct python_symbols *s,
                                                      uint64_t *words)
{
    struct python_runtime r;
    for (uint64_t i = 4; i < 64; i++)
        words[i] = i;
    assert_null(python_runtime_of(s, &r));
    const struct python_layout *l = &r.layout;
    assert_int_equal(l->finalizing, 4);
    assert_int_equal(l->interpreters, 5);
    assert_int_equal(l->interpreter_next, 8);
    assert_int_equal(l->threads, 9);
    assert_int_equal(l->gil, 15);
    assert_int_equal(l->thread_next, 24);
    assert_int_equal(l->frame, 26);
    assert_int_equal(l->thread_id, 27);
    assert_int_equal(l->native_id, 28);
    assert_int_equal(l->chunk, 29);
    assert_int_equal(l->previous, 32);
    assert_int_equal(l->code, 33);
    assert_int_equal(l->instruction, 34);
    assert_int_equal(l->owner, 36);
    assert_int_equal(l->file, 40);
    assert_int_equal(l->name, 42);
    assert_int_equal(l->table, 43);
    assert_int_equal(l->line, 44);
    assert_int_equal(l->instructions, 48);
}

static void test_a_version_that_is_not_known(void **unused)
{
    (void)unused;
    struct python_symbols s = {.runtime = (uintptr_t)_PyRuntime,
                               .code_type = (uintptr_t)PyCode_Type};
    struct python_runtime r;
    static const unsigned long next = 0x030f0000, thirteen = 0x030d0100, fourteen = 0x030e0000;
    assert_non_null(python_runtime_of(&s, &r)); /* older than 3.9 */
    s.get_code = 1;
    assert_null(python_runtime_of(&s, &r));
    assert_int_equal(r.layout.minor, 9);
    s.new_ref = 1;
    assert_null(python_runtime_of(&s, &r));
    assert_int_equal(r.layout.minor, 10);
    s.version = (uintptr_t)&next;
    assert_non_null(python_runtime_of(&s, &r));
    s.version = (uintptr_t)&thirteen;
    assert_non_null(strstr(python_runtime_of(&s, &r), "debug offsets"));
    uint64_t *words = take(512);
    memcpy(words, "xdebugpy", 8);
    words[1] = thirteen;
    words[2] = 1;
    s.runtime = (uintptr_t)words;
    assert_null(python_runtime_of(&s, &r));
    assert_int_equal(r.layout.free_threaded, 1);
    assert_int_equal(r.layout.head, 32);
    words[2] = 0;
    assert_null(python_runtime_of(&s, &r));
    assert_int_equal(r.layout.free_threaded, 0);
    assert_int_equal(r.layout.head, 16);
    s.version = (uintptr_t)&fourteen;
    words[1] = fourteen;
    assert_null(python_runtime_of(&s, &r));
    words[2] = 1;
    assert_non_null(strstr(python_runtime_of(&s, &r), "free-threaded builds of 3.14"));
    words[2] = 0;
    the_words_of_3_14_are_those_of_its_header(&s, words);
}

static char folder[] = "/tmp/test_python-XXXXXX";

static int set_up(void **unused)
{
    (void)unused;
    heap = mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED || stack_recorder.start() || !mkdtemp(folder) ||
        trace_create(&capture.writer, folder, (const uint8_t[16]){0}, 0))
        return 1;
    trace_stream_open(&writer.stream, &capture.writer, (uint32_t)gettid());
    python_find(&writer);
    return *noted != 0;
}

static int has_run_for_long(void)
{
    struct timespec t;
    assert_return_code(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return t.tv_sec > 0 || t.tv_nsec >= 500000000;
}

/* A short program is not searched for what would take much of its time. */
static void test_large_tables_of_names_wait(void **unused)
{
    enum { MIB = 1 << 20 };
    (void)unused;
    assert_true(elf_names_are_due(0) && elf_names_are_due(MIB));
    if (!has_run_for_long()) {
        const int is_due = elf_names_are_due(MIB + 1);
        assert_true(!is_due || has_run_for_long());
    }
    while (!has_run_for_long())
        ;
    assert_true(elf_names_are_due(MIB + 1));
}

static int tear_down(void **unused)
{
    (void)unused;
    char path[sizeof capture.writer.path];
    memcpy(path, capture.writer.path, sizeof path);
    trace_stream_close(&writer.stream);
    trace_finish(&capture.writer, TRACE_EXIT, 0);
    return unlink(path) || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_of_this_thread),
        cmocka_unit_test(test_frames_of_another_thread),
        cmocka_unit_test(test_a_frame_that_is_being_made),
        cmocka_unit_test(test_a_chain_that_breaks_or_turns),
        cmocka_unit_test(test_pointers_to_anywhere),
        cmocka_unit_test(test_a_version_that_is_not_known),
        cmocka_unit_test(test_large_tables_of_names_wait),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
