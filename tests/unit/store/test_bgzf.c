/* links: tp_store */
/* Gzip in members: zlib reads what was written, and each member says how long it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "host/store/format/bgzf.h"
#include "tests/unit/check.h"

#define MOST (3 << 21) /* more than one batch of members */

/* Half of it noise, which does not compress. */
static unsigned char *bytes(size_t n)
{
    unsigned char *p = malloc(n + 1);
    uint32_t x = 1;
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = i < n / 2 ? (unsigned char)(x >> 24) : (unsigned char)(i >> 12);
    }
    return p;
}

/* Members of the file, whose lengths add up to it. */
static int members(const char *path)
{
    unsigned char head[18];
    FILE *f = fopen(path, "rb");
    int n = 0;
    assert_non_null(f);
    while (fread(head, 1, sizeof head, f) == sizeof head) {
        assert_memory_equal(head, "\x1f\x8b\x08\x04", 4);
        assert_memory_equal(head + 12, "BC\x02\0", 4);
        assert_int_equal(fseek(f, head[16] + 256 * head[17] + 1 - (int)sizeof head, SEEK_CUR), 0);
        n++;
    }
    const long end = ftell(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    assert_int_equal(ftell(f), end);
    fclose(f);
    return n;
}

static void reads_back(size_t n, size_t first, int level, int expected)
{
    char path[] = "/tmp/test_bgzf-XXXXXX";
    unsigned char *data = bytes(n), *back = malloc(n + 1);
    struct outfile f;
    assert_non_null(back);
    close(mkstemp(path));
    assert_ok(outfile_open(&f, path));
    assert_ok(bgzf_write(&f, data, first, level));
    assert_ok(bgzf_write(&f, data + first, n - first, level));
    assert_ok(bgzf_end(&f));
    assert_ok(outfile_commit(&f));
    assert_int_equal(members(path), expected);
    gzFile g = gzopen(path, "rb");
    assert_non_null(g);
    assert_int_equal(gzread(g, back, (unsigned)n + 1), n);
    assert_int_equal(gzclose(g), Z_OK);
    assert_memory_equal(data, back, n);
    unlink(path);
    free(data);
    free(back);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    reads_back(0, 0, 1, 1);
    reads_back(1, 0, 1, 2);
    reads_back(65280, 0, 9, 2);
    reads_back(65281, 65280, 6, 3);
    reads_back(65281, 0, 1, 3);
    reads_back(MOST, 352, 1, 1 + 1 + (MOST - 352 + 65279) / 65280);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_written_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
