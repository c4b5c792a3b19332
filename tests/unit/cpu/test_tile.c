/* links: tp_cpu */
/* Tiles to rows of a sinogram per instruction set, where rows begin anywhere in a line of memory:
 * the same values, and nothing beside them. */
#include "host/cpu/common/projection.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

#define LINE 16   /* floats */
#define FREE 7e7f /* in memory that is not the result's */

static float tile_value(int64_t column, int64_t row)
{
    return (float)(1000 * column + row);
}

/* Stores `rows` of `channels` to memory that lies `behind` floats behind a line. */
static void check_store(int64_t channels, int64_t rows, int behind)
{
    const int64_t ld = (rows + LINE - 1) / LINE * LINE, samples = channels * rows;
    float *tile = aligned_alloc(64, (size_t)(channels * ld) * sizeof *tile);
    float *memory = aligned_alloc(64, (size_t)(samples + 3 * LINE) / LINE * LINE * sizeof *memory);
    const int64_t room = (samples + 3 * LINE) / LINE * LINE;
    for (int64_t i = 0; i < channels * ld; i++)
        tile[i] = tile_value(i / ld, i % ld);
    for (int64_t i = 0; i < room; i++)
        memory[i] = FREE;
    float *y = memory + LINE + behind;
    ISA_PICK(tile_kernels)->store(tile, ld, channels, rows, y);
    for (int64_t i = 0; i < room; i++) {
        const int64_t at = i - LINE - behind;
        const float expected =
            at < 0 || at >= samples ? FREE : tile_value(at % channels, at / channels);
        assert_near(memory[i], expected, 0);
    }
    free(tile);
    free(memory);
}

static void rows_lie_anywhere_in_a_line(void **state)
{
    (void)state;
    static const int64_t channels[] = {1, 5, 16, 20, 32, 48, 100}, rows[] = {1, 15, 16, 37, 64};
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (int behind = 0; behind < LINE; behind++)
                check_store(channels[c], rows[r], behind);
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_lie_anywhere_in_a_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return for_each_isa(all_tests);
}
