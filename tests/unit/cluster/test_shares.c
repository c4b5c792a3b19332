/* links: tp_cluster */
/* Every slice and every detector row has one owner, whatever the number of ranks; and what a rank
 * holds of the detector is all that its slices touch. */
#include "host/cluster/ranks_backend.h"
#include "host/geom/ct_model.h"
#include "tests/unit/check.h"

static struct ct_model model(enum beam beam, int64_t rows, double row_pitch)
{
    struct ct_model m;
    ct_model_init(&m);
    m.scan.beam = beam;
    m.scan.views = 8;
    m.scan.rows = rows;
    m.scan.channels = 32;
    m.scan.delta_row = row_pitch;
    m.scan.delta_channel = 1;
    m.scan.source_iso = 128;
    m.scan.source_detector = 256;
    m.scan.row_offset = m.scan.channel_offset = m.volume.slice_offset = 0;
    m.volume.rows = m.volume.cols = 32;
    m.volume.slices = rows;
    m.volume.delta = 1;
    m.volume.row_aspect = m.volume.slice_aspect = 1;
    return m;
}

static int64_t end_of(struct index_range r)
{
    return r.first + r.count;
}

static void check(const struct ct_model *m, int size)
{
    struct shares s;
    const struct index_range views = {0, m->scan.views};
    assert_int_equal(shares_of(m, size, &s), ERR_OK);
    for (int r = 0; r < size; r++) {
        const struct index_range needed = tile_rows(m, views, s.slices[r]);
        assert_int_equal(s.slices[r].first, r ? end_of(s.slices[r - 1]) : 0);
        assert_int_equal(s.owned[r].first, r ? end_of(s.owned[r - 1]) : 0);
        assert_true(s.owned[r].count >= 0);
        assert_true(s.rows[r].first <= s.owned[r].first && end_of(s.rows[r]) >= end_of(s.owned[r]));
        assert_true(s.rows[r].first <= needed.first && end_of(s.rows[r]) >= end_of(needed));
    }
    assert_int_equal(end_of(s.slices[size - 1]), m->volume.slices);
    assert_int_equal(end_of(s.owned[size - 1]), m->scan.rows);
    shares_free(&s);
}

static void all_is_owned_once(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 3, 17, 64, 257};
    static const double pitches[] = {0.5, 2, 8}; /* many rows a slice; fewer than slices */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int size = 1; size <= 7 && size <= rows[i]; size++) {
            const struct ct_model parallel = model(BEAM_PARALLEL, rows[i], 1);
            check(&parallel, size);
            for (size_t k = 0; k < sizeof pitches / sizeof *pitches; k++) {
                const struct ct_model cone = model(BEAM_CONE, rows[i], pitches[k]);
                check(&cone, size);
            }
        }
}

static void neighbours_of_cone_beams_share_rows(void **state)
{
    (void)state;
    const struct ct_model m = model(BEAM_CONE, 64, 2);
    struct shares s;
    assert_int_equal(shares_of(&m, 2, &s), ERR_OK);
    assert_true(end_of(s.rows[0]) > s.rows[1].first);
    assert_true(s.rows[0].count < 64 && s.rows[1].count < 64); /* but not all of them */
    shares_free(&s);
}

static int64_t in_common(struct index_range a, struct index_range b)
{
    const int64_t first = a.first > b.first ? a.first : b.first;
    const int64_t end = end_of(a) < end_of(b) ? end_of(a) : end_of(b);
    return end > first ? end - first : 0;
}

/* Rows that a rank sends for one projection: those of others to their owners, and its own back to
 * those who hold them. */
static int64_t rows_sent(const struct shares *s, int size, int r)
{
    int64_t n = s->rows[r].count - s->owned[r].count;
    for (int other = 0; other < size; other++)
        n += other == r ? 0 : in_common(s->owned[r], s->rows[other]);
    return n;
}

/* Thin slabs of a wide cone: no rank sends much more than the mean, and none nearly as much as all
 * of the rows that it would share with each other rank. */
static void no_rank_sends_for_many(void **state)
{
    (void)state;
    enum { RANKS = 64, ROWS = 256 };
    struct ct_model m = model(BEAM_CONE, ROWS, 2);
    m.scan.source_iso = 2 * ROWS;
    m.scan.source_detector = 4 * ROWS;
    m.volume.rows = m.volume.cols = ROWS;
    m.scan.channels = ROWS;
    struct shares s;
    int64_t most = 0, sum = 0, pairs = 0;
    assert_int_equal(shares_of(&m, RANKS, &s), ERR_OK);
    for (int r = 0; r < RANKS; r++) {
        int64_t with_each = 0;
        const int64_t n = rows_sent(&s, RANKS, r);
        for (int other = 0; other < RANKS; other++)
            with_each += other == r ? 0 : in_common(s.rows[r], s.rows[other]);
        most = n > most ? n : most;
        pairs = with_each > pairs ? with_each : pairs;
        sum += n;
    }
    shares_free(&s);
    assert_true(sum > 0);
    if (most * RANKS > 2 * sum || most * 3 > pairs)
        fail_msg("%lld rows at most, %lld in the mean; pairs: %lld", (long long)most,
                 (long long)(sum / RANKS), (long long)pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_owned_once),
        cmocka_unit_test(neighbours_of_cone_beams_share_rows),
        cmocka_unit_test(no_rank_sends_for_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
