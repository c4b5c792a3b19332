/* links: tp_load */
/* loading.json's schema beside its writer, and rules over made-up measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "host/load/load.h"
#include "tests/unit/check.h"

#define SCHEMA TP_DATA "/../../host/load/loading.schema.json"

static char path[] = "/tmp/tomoprof-loading.XXXXXX";

static void the_schema_is_that_of_the_fields(void **state)
{
    (void)state;
    char *made, *kept;
    size_t bytes;
    assert_ok(loading_schema_write(path));
    assert_ok(file_read_all(path, 1 << 20, &made, &bytes));
    assert_ok(file_read_all(SCHEMA, 1 << 20, &kept, &bytes));
    if (strcmp(made, kept) != 0)
        fail_msg("loading.schema.json differs from loading_fields.h: run TP_WRITE_SCHEMA=1 %s",
                 "test_loading");
    free(made);
    free(kept);
}

/* Chunks of 1 ms, of which `share` is decoding and the rest fetching, with `cpu_s` of CPU time. */
static struct loading *made(double share, double cpu_s)
{
    static const char *const names[] = {"open", "index", "fetch", "decode", "convert", "place"};
    struct loading *l;
    assert_ok(loading_create(&l));
    assert_ok(json_items(l->arena, &record_load_phase, 6, &l->phases, &l->phases_count));
    for (int i = 0; i < 6; i++)
        l->phases[i] = (struct load_phase){names[i], 0, 0};
    l->phases[2].worker_s = 1 - share;
    l->phases[3].worker_s = share;
    l->read_s = 1;
    l->workers = 1;
    l->read_cpu_s = cpu_s;
    l->amplification = 1;
    l->spread.n = 1000;
    l->spread.mean_s = l->spread.p50_s = l->spread.p95_s = 1e-3;
    return l;
}

static int fired(const struct loading *l, const char *rule)
{
    for (int i = 0; i < l->causes_count; i++)
        if (!strcmp(l->causes[i].rule, rule))
            return 1;
    return 0;
}

static void rules_fire_on_their_numbers(void **state)
{
    (void)state;
    static const struct {
        double share, cpu;
        const char *rule, *not_that;
    } rows[] = {
        {0.1, 0.1, "D-IO", "D-DEC"}, {0.1, 0.9, "D-COPY", "D-IO"}, {0.9, 0.9, "D-DEC", "D-IO"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loading *l = made(rows[i].share, rows[i].cpu);
        assert_ok(load_causes(l));
        assert_true(fired(l, rows[i].rule));
        assert_false(fired(l, rows[i].not_that));
        assert_true(l->causes[0].evidence_count > 0 && l->causes[0].actions_count > 0);
        loading_free(l);
    }
    struct loading *l = made(0.5, 0.9);
    l->amplification = 2;
    l->spread.p95_s = 2e-3;
    l->phases[0].worker_s = 0.5;
    assert_ok(load_causes(l));
    assert_true(fired(l, "D8") && fired(l, "D6") && fired(l, "D7") && !fired(l, "D4"));
    loading_free(l);
}

static const struct load_cause *cause_of(const struct loading *l, const char *rule)
{
    for (int i = 0; i < l->causes_count; i++)
        if (!strcmp(l->causes[i].rule, rule))
            return &l->causes[i];
    fail_msg("%s did not fire", rule);
    return NULL;
}

static int cause_advises(const struct load_cause *c, const char *words)
{
    for (int i = 0; i < c->actions_count; i++)
        if (strstr(c->actions[i], words))
            return 1;
    return 0;
}

/* A small file: all waits came while it was opened. Opening it takes little then. */
static void waiting_while_opening_is_not_opening(void **state)
{
    (void)state;
    struct loading *l = made(0.9, 1);
    static struct load_phase phases[] = {{.name = "open", .worker_s = 0.5},
                                         {.name = "decode", .worker_s = 0.9},
                                         {.name = "cpu_wait", .worker_s = 4}};
    l->phases = phases;
    l->phases_count = 3;
    l->cpu_wait_s = 0;
    l->processors = 2;
    assert_ok(load_causes(l));
    assert_string_equal(l->causes[0].rule, "D-CPU");
    assert_true(l->causes[0].gain_high_s > 3.9 && l->causes[0].gain_high_s < 4.1);
    loading_free(l);
}

/* 1 s of work, of which 90 % is decoding, beside 7 s without a CPU: that leads, and no advice asks
 * for threads, which would wait too. */
static void waiting_for_a_cpu_is_not_decoding(void **state)
{
    (void)state;
    struct loading *l = made(0.9, 1);
    l->read_s = 8;
    l->cpu_wait_s = 7;
    l->processors = 2;
    assert_ok(load_causes(l));
    assert_string_equal(l->causes[0].rule, "D-CPU");
    assert_true(l->causes[0].gain_high_s > 6.9 && l->causes[0].gain_high_s < 7.1);
    assert_true(cause_advises(cause_of(l, "D-CPU"), "other programs"));
    assert_false(cause_advises(cause_of(l, "D-DEC"), "more threads"));
    for (int i = 0; i < cause_of(l, "D-DEC")->evidence_count; i++)
        if (!strcmp(cause_of(l, "D-DEC")->evidence[i].name, "processors busy"))
            assert_true(cause_of(l, "D-DEC")->evidence[i].value > 99);
    loading_free(l);
}

/* Threads help while processors are left. More workers than processors wait for each other. */
static void threads_are_advised_up_to_the_processors(void **state)
{
    (void)state;
    struct loading *l = made(0.9, 1);
    l->processors = 2;
    assert_ok(load_causes(l));
    assert_true(cause_advises(cause_of(l, "D-DEC"), "more threads"));
    loading_free(l);
    l = made(0.9, 2);
    l->processors = l->workers = 2;
    assert_ok(load_causes(l));
    assert_false(cause_advises(cause_of(l, "D-DEC"), "more threads"));
    loading_free(l);
    l = made(0.9, 2);
    l->processors = 2;
    l->workers = 16;
    l->cpu_wait_s = 14;
    assert_ok(load_causes(l));
    assert_true(cause_advises(cause_of(l, "D-CPU"), "as many workers as processors"));
    assert_false(cause_advises(cause_of(l, "D-CPU"), "other programs"));
    loading_free(l);
}

/* Chunks that differ are not said to come from the disk where all are in the page cache. */
static void uneven_chunks_have_the_cause_that_was_seen(void **state)
{
    (void)state;
    static const struct {
        double cached, stored_most;
        const char *words, *not_these;
    } rows[] = {{1, 100, "neither the page cache", "from the disk"},
                {0.5, 100, "some from the disk", "compressed differently"},
                {1, 300, "compressed differently", "from the disk"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loading *l = made(0.5, 0.9);
        l->spread.p95_s = 2e-3;
        l->file.cached_share = rows[i].cached;
        assert_ok(json_items(l->arena, &record_load_chunk, 100, &l->chunks, &l->chunks_count));
        for (int k = 0; k < 100; k++)
            l->chunks[k] =
                (struct load_chunk){.chunk = k, .stored = k < 20 ? rows[i].stored_most : 100};
        assert_ok(load_causes(l));
        const char *statement = cause_of(l, "D6")->statement;
        if (!strstr(statement, rows[i].words) || strstr(statement, rows[i].not_these))
            fail_msg("%zu: %s", i, statement);
        loading_free(l);
    }
}

/* Memory that takes longer than reading is a cause with a cure; a small part of the time is none. */
static void new_memory_is_a_cause(void **state)
{
    (void)state;
    struct loading *l = made(0.5, 0.9);
    l->phases[1] = (struct load_phase){"allocate", 2, 2};
    l->page_faults = 524288;
    assert_ok(load_causes(l));
    assert_string_equal(l->causes[0].rule, "D-ALLOC");
    assert_true(l->causes[0].gain_high_s > 1.9 && l->causes[0].gain_high_s < 2.1);
    assert_true(cause_advises(&l->causes[0], "same array"));
    loading_free(l);
    l = made(0.5, 0.9);
    l->phases[1] = (struct load_phase){"allocate", 0.1, 0.1};
    l->page_faults = 24;
    assert_ok(load_causes(l));
    assert_false(fired(l, "D-ALLOC"));
    loading_free(l);
}

/* Ratings by the limits of the guide for tiles: below 10 ms is fast, above 100 ms slow, 100 Mpx/s fast,
 * below 20 slow; what was not measured has none. */
static void chunks_are_rated(void **state)
{
    (void)state;
    static const struct {
        double read_ms, place_ms, mpx;
        const char *read, *place, *rate;
    } rows[] = {{9, 0.9, 100, "Fast", "Fast", "Fast"},
                {10, 1, 99, "Moderate", "Moderate", "Moderate"},
                {100, 10, 20, "Moderate", "Moderate", "Moderate"},
                {101, 11, 19, "Slow", "Slow", "Slow"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loading *l;
        int64_t shape[] = {1000, 1000};
        assert_ok(loading_create(&l));
        assert_ok(json_items(l->arena, &record_load_chunk, 2, &l->chunks, &l->chunks_count));
        for (int k = 0; k < 2; k++)
            l->chunks[k] = (struct load_chunk){.chunk = k,
                                               .fetch_ns = (int64_t)(rows[i].read_ms * 5e5),
                                               .decode_ns = (int64_t)(rows[i].read_ms * 5e5),
                                               .place_ns = (int64_t)(rows[i].place_ms * 1e6),
                                               .decoded = 1000000};
        l->spread.n = 2;
        l->file.shape = shape;
        l->file.shape_count = 2;
        l->file.bytes = 2000000;
        l->read_s = 1 / rows[i].mpx;
        assert_ok(load_ratings(l));
        assert_int_equal(l->ratings_count, 3); /* there was no sweep */
        assert_string_equal(l->ratings[0].rating, rows[i].read);
        assert_string_equal(l->ratings[1].rating, rows[i].place);
        assert_string_equal(l->ratings[2].rating, rows[i].rate);
        loading_free(l);
    }
}

/* A way that gains names what the user's own reader can do; one that gains nothing is not named. */
static void what_gains_is_recommended_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *format, *reader, *reason;
        double gain;
    } rows[] = {{"CZI", "read_image(cores=4)", NULL, 1.9},
                {"TIFF stack", "maxworkers=4", NULL, 1.2},
                {"OME-Zarr", "4", NULL, 1.2},
                {"HDF5", "processes", NULL, 1.2},
                {"CZI", NULL, "gains more than 5 %: the fastest is 1.02 times as fast", 1.02},
                {"CZI", NULL, "takes 2.00 times as long", 0.5},
                {"CZI", NULL, "not measured again", (double)NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loading *l;
        assert_ok(loading_create(&l));
        l->file.format = rows[i].format;
        assert_ok(load_recommend(l, "--threads 4 --batch 1", 4, rows[i].gain));
        assert_int_equal(l->recommended != NULL, rows[i].reader != NULL);
        assert_int_equal(l->recommended_reader != NULL, rows[i].reader != NULL);
        assert_int_equal(l->recommended_reason != NULL, rows[i].reader == NULL);
        if (rows[i].reason && !strstr(l->recommended_reason, rows[i].reason))
            fail_msg("%g: %s", rows[i].gain, l->recommended_reason);
        if (rows[i].reader && !strstr(l->recommended_reader, rows[i].reader))
            fail_msg("%s: %s", rows[i].format, l->recommended_reader);
        loading_free(l);
    }
}

/* 1 s of fetching beside 9 s of opening: either rule fires, and the larger gain leads. */
static void the_largest_gain_comes_first(void **state)
{
    (void)state;
    struct loading *l = made(0, 0.1);
    l->phases[0].worker_s = 9;
    assert_ok(load_causes(l));
    assert_true(fired(l, "D-IO") && fired(l, "D7"));
    assert_string_equal(l->causes[0].rule, "D7");
    for (int i = 1; i < l->causes_count; i++)
        assert_false(l->causes[i].gain_high_s > l->causes[i - 1].gain_high_s);
    loading_free(l);
}

/* By the limits of iostat: 20 ms, 10 requests a second, 80 %. */
static void a_disk_is_rated_where_it_was_read(void **state)
{
    (void)state;
    static const struct {
        double wait_s, per_s, busy;
        int64_t bytes;
        const char *rating; /* of all three; NULL: none */
    } rows[] = {{0.021, 9, 0.81, 4000, "Slow"},
                {0.02, 10, 0.8, 4000, "Moderate"},
                {0.004, 100, 0.49, 2000, "Fast"},
                {0.021, 9, 0.81, 1999, NULL}}; /* the page cache had more */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loading *l;
        assert_ok(loading_create(&l));
        assert_ok(json_items(l->arena, &record_load_chunk, 1, &l->chunks, &l->chunks_count));
        l->chunks[0].stored = 4000;
        l->disk = (struct load_disk){.requests = 7,
                                     .bytes = rows[i].bytes,
                                     .wait_s = rows[i].wait_s,
                                     .requests_per_s = rows[i].per_s,
                                     .busy_share = rows[i].busy};
        assert_ok(load_ratings(l));
        int disk = 0;
        for (int k = 0; k < l->ratings_count; k++)
            if (strstr(l->ratings[k].name, "disk")) {
                assert_non_null(rows[i].rating);
                assert_string_equal(l->ratings[k].rating, rows[i].rating);
                disk++;
            }
        assert_int_equal(disk, rows[i].rating ? 3 : 0);
        loading_free(l);
    }
}

static int set_up(void **state)
{
    (void)state;
    close(mkstemp(path));
    if (getenv("TP_WRITE_SCHEMA"))
        return loading_schema_write(SCHEMA) != ERR_OK;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_is_that_of_the_fields),
        cmocka_unit_test(rules_fire_on_their_numbers),
        cmocka_unit_test(waiting_while_opening_is_not_opening),
        cmocka_unit_test(waiting_for_a_cpu_is_not_decoding),
        cmocka_unit_test(threads_are_advised_up_to_the_processors),
        cmocka_unit_test(uneven_chunks_have_the_cause_that_was_seen),
        cmocka_unit_test(new_memory_is_a_cause),
        cmocka_unit_test(chunks_are_rated),
        cmocka_unit_test(a_disk_is_rated_where_it_was_read),
        cmocka_unit_test(what_gains_is_recommended_and_nothing_else),
        cmocka_unit_test(the_largest_gain_comes_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
