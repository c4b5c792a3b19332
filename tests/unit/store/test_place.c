/* links: tp_store tp_base */
/* Boxes are placed as element after element would be, and memory to read into is not a child's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/table.h"
#include "host/store/engine/parts.h"
#include "tests/unit/check.h"

#define ROOM 141000 /* 3 x 5 rows of 179 elements of 8 bytes, either way round */

/* A box of the source of `shape` bytes apart, into a target that is wider by `gap` elements. */
static void box_compare(int64_t z, int64_t y, int64_t x, int bytes, int64_t gap, int turned)
{
    static unsigned char in[ROOM], out[ROOM], truth[ROOM];
    const int64_t n[3] = {z, y, x}, from[3] = {y * x * bytes, x * bytes, bytes};
    const int64_t row = (turned ? z : x) + gap, wide[3] = {y * row * bytes, row * bytes, bytes},
                  tall[3] = {bytes, row * bytes, y * row * bytes}, *to = turned ? tall : wide;
    assert_true(z * y * x * bytes <= ROOM && (turned ? x : z) * y * row * bytes <= ROOM);
    for (size_t i = 0; i < ROOM && !in[1]; i++)
        in[i] = (unsigned char)table_mix(i, 1);
    memset(out, 7, ROOM);
    memset(truth, 7, ROOM);
    struct place p = {.dims = 3, .bytes = bytes};
    memcpy(p.count, n, sizeof n);
    memcpy(p.from, from, sizeof from);
    memcpy(p.to, to, sizeof wide);
    place_box(p, in, out);
    for (int64_t i = 0; i < z; i++)
        for (int64_t k = 0; k < y; k++)
            for (int64_t l = 0; l < x; l++)
                memcpy(truth + i * to[0] + k * to[1] + l * to[2],
                       in + i * from[0] + k * from[1] + l * from[2], (size_t)bytes);
    assert_memory_equal(out, truth, ROOM);
}

/* Rows around those that are copied in parts, and beyond. */
static void boxes_are_placed(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 15, 16, 17, 31, 32, 33, 48, 64, 96, 127, 128, 130, 160};
    static const int bytes[] = {1, 2, 4, 8};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int b = 0; b < 4; b++)
            for (int64_t gap = 0; gap < 20; gap += 19)
                for (int turned = 0; turned < 2; turned++)
                    box_compare(3, 5, rows[r], bytes[b], gap, turned);
}

/* Asks for the page in a child: ENOMEM says that it is not mapped there. */
static void private_memory_stays_in_its_process(void **state)
{
    (void)state;
    enum { BYTES = 20 << 20 };
    void *memory;
    assert_ok(engine_private(BYTES, &memory));
    memset(memory, 1, BYTES);
    const pid_t child = fork();
    if (!child)
        _exit(msync(memory, 1, MS_ASYNC) ? 3 : 4);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_int_equal(((unsigned char *)memory)[BYTES - 1], 1);
    engine_unshare(memory, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_placed),
        cmocka_unit_test(private_memory_stays_in_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
