/* links: tp_cpu */
/* The plan of gridding: every sample reaches each of its cells once, whatever the line. */
#include <math.h>

#include "base/memory.h"
#include "host/cpu/fourier/grid_kernel.h"
#include "tests/unit/check.h"

#define ROWS  75
#define COLS  90
#define REACH 150
#define VIEWS 9

/* Fills lines along both axes, along diagonals, and others. */
static void fill_lines(struct grid_line *lines)
{
    static const double angle[VIEWS] = {0, 90, 180, 45, 135, 1, 89.5, 123, -60};
    for (int v = 0; v < VIEWS; v++) {
        lines[v].row = -1.5 * sin(angle[v] * M_PI / 180);
        lines[v].col = 1.4 * cos(angle[v] * M_PI / 180);
    }
}

/* How often each row of cells of each sample is visited. */
static void count_visits(const struct grid_plan *p, const struct grid_line *lines, int *visits)
{
    for (int64_t b = 0; b < p->bands; b++)
        for (int64_t i = p->first[b]; i < p->first[b + 1]; i++) {
            const struct grid_run *run = &p->runs[i];
            for (int64_t k = run->first; k < run->first + run->count; k++) {
                const struct grid_line *l = &lines[run->view];
                const int64_t row = (int64_t)ceil(l->row * (double)k - 0.5 * GRID_TAPS);
                const int64_t col = (int64_t)ceil(l->col * (double)k - 0.5 * GRID_TAPS);
                assert_in_range(col - run->col_base + 1, 0, COLS + 1);
                assert_int_equal(run->col_base % COLS, 0);
                assert_int_equal((run->row_base - b * GRID_BAND) % ROWS, 0);
                for (int64_t t = 0; t < GRID_TAPS; t++) {
                    const int64_t at = row + t - run->row_base;
                    if (at >= 0 && at < GRID_BAND && b * GRID_BAND + at < ROWS)
                        visits[(run->view * (2 * REACH + 1) + k + REACH) * GRID_TAPS + t]++;
                }
            }
        }
}

static void every_cell_of_every_sample_is_visited_once(void **state)
{
    (void)state;
    struct grid_line lines[VIEWS] = {0};
    static int visits[VIEWS * (2 * REACH + 1) * GRID_TAPS];
    const struct grid_shape shape = {ROWS, COLS, REACH, VIEWS, lines};
    struct grid_plan p;
    fill_lines(lines);
    assert_ok(grid_plan_create(&shape, 2, &p));
    count_visits(&p, lines, visits);
    for (int i = 0; i < VIEWS * (2 * REACH + 1) * GRID_TAPS; i++)
        assert_int_equal(visits[i], 1);
    grid_plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_every_sample_is_visited_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
