/* links: tp_fpga */
/* Reads triage's inputs: times, weights, cards, counters, machine code and ranges, right and wrong
 * ones. */
#include "tests/unit/triage/triage_case.h"

static void what_is_no_time_is_left_out(void **state)
{
    struct timing t;
    struct notes notes = {0};
    (void)state;
    write_text("{\"measurements\": ["
               "{\"operation\": \"a\", \"volume_size\": 8, \"run\": 1, \"time\": -1},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"run\": 2, \"time\": 0},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"run\": 3, \"time\": null},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"run\": 4},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"run\": 5, \"time\": \"2\"},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"time\": 9, \"status\": \"failed\"},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"time\": 9, \"traced\": true},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"time\": 9, \"cold\": true},"
               "{\"operation\": 7, \"volume_size\": 8, \"time\": 9}, {}, 3, null,"
               "{\"operation\": \"a\", \"volume_size\": -8, \"time\": 9},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"time\": 2},"
               "{\"operation\": \"a\", \"volume_size\": 8, \"time\": 4}]}");
    assert_int_equal(timing_read(path, &t, &notes), ERR_OK);
    assert_int_equal(t.rows_count, 1);
    assert_true(timing_find(&t, "a", 8)->seconds == 3 && timing_find(&t, "a", 8)->runs == 2);
    assert_null(timing_find(&t, "b", 8));
    assert_true(notes.count >= 4);
    timing_free(&t);
    notes_free(&notes);
    unlink(path);
}

static void files_without_times_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"measurements\": 3}",
                                        "{\"measurements\": []}",
                                        "{\"measurements\": [null]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct timing t;
        struct notes notes = {0};
        write_text(texts[i]);
        assert_int_equal(timing_read(path, &t, &notes), ERR_INPUT);
        notes_free(&notes);
        unlink(path);
    }
}

static void weights_are_checked(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"{\"score_shore\": 1}", "unknown weight"},
                 {"{\"score_share\": -1}", "must be a number from"},
                 {"{\"score_share\": null}", "must be a number from"},
                 {"{\"memory_low\": 0.9}", "above memory_high"},
                 {"[1]", "not a JSON object"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weights w = weights_default();
        write_text(cases[i].text);
        assert_int_equal(weights_read(path, &w), ERR_INPUT);
        assert_non_null(strstr(err_text(), cases[i].says));
        unlink(path);
    }
    struct weights w = weights_default();
    write_text("{\"score_share\": 40}");
    assert_int_equal(weights_read(path, &w), ERR_OK);
    assert_true(w.score_share == 40 && w.score_speed == weights_default().score_speed);
    unlink(path);
}

static void cards_are_chosen_by_name(void **state)
{
    const struct card *d[CARDS_MOST];
    int n;
    (void)state;
    assert_int_equal(cards_choose("v80,u55c,v80", d, &n), ERR_OK);
    assert_int_equal(n, 2);
    assert_string_equal(d[0]->id, "v80");
    assert_int_equal(cards_choose("u55", d, &n), ERR_USAGE);
    assert_int_equal(cards_choose("u55c,", d, &n), ERR_USAGE);
    assert_int_equal(cards_choose(NULL, d, &n), ERR_OK);
    assert_true(n >= 8);
    for (int i = 0; i < n; i++) {
        assert_true(d[i]->dsp > 0 && d[i]->lut > 0 && d[i]->ram_kib > 0 && d[i]->watts > 0);
        assert_true(d[i]->memory_gib >= 1 && d[i]->memory_gib <= 128 && d[i]->banks >= 1);
        assert_true(d[i]->memory_gb_s.low <= d[i]->memory_gb_s.high && d[i]->price.low > 0);
        assert_true(d[i]->clock_mhz.low < d[i]->clock_mhz.high && d[i]->source);
    }
}

static void counts_of_the_processor_stand_above_computed_ones(void **state)
{
    struct timing t;
    struct notes notes = {0};
    (void)state;
    write_text("{\"measurements\": [{\"operation\": \"median_filter3d\", \"volume_size\": 64, "
               "\"run\": 1, \"time\": 0.5, \"flops\": 1e9, \"bytes\": 1e8, \"counted_flops\": 4e9, "
               "\"counted_bytes\": 2e9, \"h2d_bytes\": 5, \"d2h_bytes\": 7}]}");
    assert_int_equal(timing_read(path, &t, &notes), ERR_OK);
    assert_true(t.rows[0].flops_counted == 4e9 && t.rows[0].moved == 7);
    timing_free(&t);
    notes_free(&notes);
    struct triage *all;
    const struct triage_options o = {.version = "test"};
    assert_int_equal(triage_make(path, NULL, &o, &all), ERR_OK);
    const struct evidence *e = &all->candidates[0]->evidence;
    assert_true(e->intensity == 2 && e->gflops == 8 && e->gbytes_per_s == 4);
    assert_null(e->counters_reason);
    assert_true(e->flops == 1e9 && e->transfer_measured == 7);
    triage_destroy(all);
    unlink(path);
    struct triage *none = triage_of(whole, WHOLE, -1, NULL);
    assert_true(isnan(none->candidates[0]->evidence.flops_counted));
    assert_non_null(none->candidates[0]->evidence.counters_reason);
    triage_destroy(none);
}

#define MIX(flops)                                                                                 \
    "\"loop\": {\"float32\": 10, \"float64\": 0, \"special\": 0, \"loads\": 4, \"stores\": 1, "    \
    "\"shared\": 0, \"shuffles\": 0, \"branches\": 1, \"integer\": 8, \"other\": 1, "              \
    "\"flops\": " flops "}"

static void mixes_are_found_by_name(void **state)
{
    static const char *const wrong[] = {"", "[]", "{\"kernels\": []}",
                                        "{\"kernels\": [{\"kernel\": \"median\", \"loop\": {}}]}",
                                        "{\"kernels\": [{\"kernel\": 3, " MIX("1") "}]}"};
    struct sass s;
    double units;
    (void)state;
    write_text("{\"arch\": \"sm_80\", \"kernels\": [{\"kernel\": \"my_median<3>\", \"registers\": "
               "null, " MIX("12") "}, {\"kernel\": \"median_big\", \"registers\": 40, " MIX(
                   "20") "}, null, {}]}");
    assert_int_equal(sass_read(path, &s), ERR_OK);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.arch, "sm_80");
    const struct sass_kernel *k = sass_find(&s, primitive_named("median_filter3d"));
    assert_non_null(k);
    assert_string_equal(k->kernel, "median_big");
    assert_true(sass_total(&k->loop) == 25 && k->registers == 40);
    assert_null(sass_find(&s, primitive_named("cone_back_project")));
    sass_free(&s);
    unlink(path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(wrong[i]);
        assert_int_equal(sass_read(path, &s), ERR_INPUT);
        unlink(path);
    }
    /* Our own do the declared work and not much more; a cone's kernel finds each overlap and cosine
     * anew, 3.7 times the textbook's 8 operations. */
    for (int i = 0; primitive_at(i); i++)
        if ((k = sass_own(primitive_at(i), &units)) && units > 0)
            assert_true(k->loop.flops / units >= primitive_at(i)->flops * (1 - 1e-9) &&
                        k->loop.flops / units <= primitive_at(i)->flops * 4);
    assert_null(sass_own(primitive_named("gen_pixel_partition"), &units));
}

/* Phases of one reconstruction in a profile: their shares, and none when events were merged. */
static void ranges_take_a_reconstruction_apart(void **state)
{
    static const char *const names[] = {"cone_mbir_recon", "prior", "Hessian",
                                        "sinogram update and back projection", "stranger"};
    static const int64_t ms[] = {1000, 200, 100, 400, 300};
    struct model_range ranges[5] = {0};
    struct model_event events[5] = {0};
    struct model_process process = {0};
    struct model_track track = {.kind = "range", .events = events, .events_count = 5};
    double whole_s, seconds[32];
    (void)state;
    for (int i = 0; i < 5; i++) {
        ranges[i].name = names[i];
        events[i] = (struct model_event){.length = ms[i] * 1000000, .count = 1, .what = i};
    }
    struct model m = {.ranges = ranges,
                      .ranges_count = 5,
                      .processes = &process,
                      .processes_count = 1,
                      .timeline = &track,
                      .timeline_count = 1};
    assert_int_equal(ranges_seconds(&m, "cone_mbir_recon", &whole_s, seconds, 32), 1);
    assert_near(whole_s, 1, 1e-12);
    for (int i = 0; primitive_at(i); i++) {
        const char *name = primitive_at(i)->name;
        double expected = !strcmp(name, "mbir_prior_and_updates")  ? 0.2
                          : !strcmp(name, "cone_hessian_diagonal") ? 0.1
                          : !strcmp(name, "cone_forward_project")  ? 0.2
                          : !strcmp(name, "cone_back_project")     ? 0.2
                                                                   : 0;
        assert_near(seconds[i], expected, 1e-12);
    }
    assert_int_equal(ranges_seconds(&m, "cone_fdk_recon", &whole_s, seconds, 32), 0);
    /* The back projection that ends with the first image has no entry of its own. */
    ranges[4].name = "initial image";
    assert_int_equal(ranges_seconds(&m, "cone_mbir_recon", &whole_s, seconds, 32), 1);
    for (int i = 0; primitive_at(i); i++)
        if (!strcmp(primitive_at(i)->name, "cone_back_project"))
            assert_near(seconds[i], 0.5, 1e-12);
    track.resolution_ns = 1000;
    assert_int_equal(ranges_seconds(&m, "cone_mbir_recon", &whole_s, seconds, 32), 0);
    track.resolution_ns = 0;
    events[1].length = 2000000000; /* more than the whole */
    assert_int_equal(ranges_seconds(&m, "cone_mbir_recon", &whole_s, seconds, 32), 0);
}

/* A filter of 90 ms in the traced pass and of 0.9 ms alone: one of both was measured badly. */
static void a_part_that_disagrees_with_its_own_row_is_told(void **state)
{
    struct model_range ranges[2] = {{.name = "parallel_direct_recon"}, {.name = "ramp filter"}};
    struct model_event events[2] = {{.length = 100000000, .count = 1, .what = 0},
                                    {.length = 90000000, .count = 1, .what = 1}};
    struct model_process process = {0};
    struct model_track track = {.kind = "range", .events = events, .events_count = 2};
    struct model m = {.ranges = ranges,
                      .ranges_count = 2,
                      .processes = &process,
                      .processes_count = 1,
                      .timeline = &track,
                      .timeline_count = 1};
    struct timing_row rows[2] = {{.operation = "parallel_direct_recon", .size = 64, .seconds = 0.1},
                                 {.operation = "parallel_fbp_filter", .size = 64}};
    struct timing t = {.rows = rows, .rows_count = 2};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct workloads found;
        struct notes notes = {0};
        rows[1].seconds = i ? 0.09 : 0.0009;
        workloads_find(&t, &m, 64, &found, &notes);
        assert_int_equal(found.from_ranges, 1);
        assert_int_equal(found.item[0].disagrees, !i);
        assert_int_equal(notes.count, !i);
        if (!i)
            assert_non_null(strstr(notes.text[0], "parallel_fbp_filter is 0.09 s of"));
        notes_free(&notes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_time_is_left_out),
        cmocka_unit_test(files_without_times_are_refused),
        cmocka_unit_test(weights_are_checked),
        cmocka_unit_test(cards_are_chosen_by_name),
        cmocka_unit_test(counts_of_the_processor_stand_above_computed_ones),
        cmocka_unit_test(mixes_are_found_by_name),
        cmocka_unit_test(ranges_take_a_reconstruction_apart),
        cmocka_unit_test(a_part_that_disagrees_with_its_own_row_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
