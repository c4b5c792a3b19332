/* links: tp_store tp_base */
/* Bits of bitshuffle, put together in every way that this processor has, against their definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "host/store/codec/codecs.h"
#include "tests/unit/check.h"

#define BLOCK_OF(item) (8192 / (item) < 128 ? 128 : 8192 / (item) / 8 * 8) /* where none is named */

static unsigned char *bytes_drawn(size_t n, uint64_t seed)
{
    unsigned char *out = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)table_mix(seed, i);
    return out;
}

/* Tries numbers of groups that fill registers and that leave some over. */
static void joined_each_way(void **state)
{
    (void)state;
    int ways = 0;
    for (const struct bits_way *way = bits_ways; way->name; way++) {
        if (!way->runs())
            continue;
        ways++;
        for (size_t groups = 0; groups < 140; groups++) {
            const size_t row = groups + groups % 5;
            unsigned char *rows = bytes_drawn(8 * row, groups), *out = malloc(8 * groups + 1);
            out[8 * groups] = 0xa5;
            way->join(rows, row, groups, out);
            for (size_t i = 0; i < 8 * groups; i++) {
                unsigned wanted = 0;
                for (size_t j = 0; j < 8; j++)
                    wanted |= (rows[j * row + i / 8] >> i % 8 & 1u) << j;
                if (out[i] != wanted)
                    fail_msg("%s: byte %zu of %zu groups is %02x, not %02x", way->name, i, groups,
                             out[i], wanted);
            }
            assert_int_equal(out[8 * groups], 0xa5);
            free(rows);
            free(out);
        }
    }
    assert_true(ways >= 2); /* the plain one and registers of 16 bytes */
}

/* A block of n elements as the format stores it: bit 0 of all of them, then bit 1. */
static void block_split(const unsigned char *in, size_t n, size_t item, unsigned char *out)
{
    memset(out, 0, n * item);
    for (size_t i = 0; i < n; i++)
        for (size_t bit = 0; bit < 8 * item; bit++)
            out[bit * (n / 8) + i / 8] |=
                (unsigned char)((in[i * item + bit / 8] >> bit % 8 & 1) << i % 8);
}

static void chunk_check(size_t elements, size_t item, size_t block, size_t more)
{
    const size_t n = elements * item + more, whole = elements / 8 * 8;
    const struct codec_pipeline p = {
        .count = 1, .step = {{.codec = CODEC_BITSHUFFLE, .item = (int)item, .row = (int)block}}};
    struct codec_worker w = {0};
    unsigned char *truth = bytes_drawn(n, elements * 1000 + item), *in = malloc(n + 1),
                  *out = malloc(n + 1);
    block = block ? block : BLOCK_OF(item);
    for (size_t i = 0; i < whole; i += block)
        block_split(truth + i * item, whole - i < block ? whole - i : block, item, in + i * item);
    memcpy(in + whole * item, truth + whole * item, n - whole * item);
    out[n] = 0xa5;
    assert_ok(codec_decode(&w, &p, in, n, out, n));
    assert_memory_equal(out, truth, n);
    assert_int_equal(out[n], 0xa5);
    free(truth);
    free(in);
    free(out);
    codec_worker_free(&w);
}

static void elements_of_all_sizes(void **state)
{
    (void)state;
    for (size_t item = 1; item <= 80; item += item < 17 ? 1 : 21)
        for (size_t elements = 1; elements < 4200; elements = elements * 7 / 3 + 1)
            for (size_t block = 0; block < 300; block += 136)
                chunk_check(elements, item, block, elements % 2 ? item / 2 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_each_way),
        cmocka_unit_test(elements_of_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
