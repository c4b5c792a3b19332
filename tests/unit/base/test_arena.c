/* links: tp_base */
/* The arena: what it gives out lies side by side, in blocks, and a text is kept once. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "tests/unit/check.h"

/* How often one of `count` pieces does not lie right behind the one before; every 100th is followed
 * by a large one. */
static int gaps(int count, size_t bytes, size_t large)
{
    struct arena *a;
    int n = 0;
    char *last = NULL;
    assert_ok(arena_create(&a));
    for (int i = 0; i < count; i++) {
        char *p = arena_take(a, bytes);
        assert_non_null(p);
        for (size_t k = 0; k < bytes; k++)
            assert_int_equal(p[k], 0);
        memset(p, 1, bytes);
        n += last && p != last + bytes;
        last = p;
        if (large && i % 100 == 0) {
            char *q = arena_take(a, large);
            assert_non_null(q);
            memset(q, 1, large);
        }
    }
    arena_free(a);
    return n;
}

static void pieces_fill_blocks(void **state)
{
    (void)state;
    assert_in_range(gaps(60000, 32, 0), 1, 60000 * 32 / 65536 + 1);
}

static void large_pieces_end_no_block(void **state)
{
    (void)state;
    assert_in_range(gaps(6000, 32, 65536), 1, 6000 * 32 / 65536 + 1);
    assert_in_range(gaps(6000, 32, 1000000), 1, 6000 * 32 / 65536 + 1);
}

static const char *printed(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_print_list(a, format, args);
    va_end(args);
    return text;
}

static void a_text_is_kept_once(void **state)
{
    struct arena *a;
    (void)state;
    assert_ok(arena_create(&a));
    const char *one = arena_text(a, "one");
    assert_string_equal(one, "one");
    assert_ptr_equal(arena_text_n(a, "one more", 3), one);
    assert_ptr_not_equal(arena_text(a, "on"), one);
    assert_null(arena_text(a, NULL));
    assert_ptr_equal(printed(a, "o%s", "ne"), one);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_fill_blocks),
        cmocka_unit_test(large_pieces_end_no_block),
        cmocka_unit_test(a_text_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
