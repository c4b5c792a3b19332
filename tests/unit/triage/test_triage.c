/* links: tp_fpga */
/* Triage: what holds of every judgement, and its readers on wrong input. */
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "profiler/fpga/hls/hls_export.h"
#include "profiler/triage/triage.h"

struct row {
    const char *operation;
    double size, time;
};

static char path[64];

static void write_text(const char *text)
{
    strcpy(path, "/tmp/test_triage_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void write_rows(const struct row *rows, int n, int without)
{
    char text[8192];
    int at =
        snprintf(text, sizeof text,
                 "{\"environment\": {\"backend\": \"cpu\", \"threads\": 2}, \"measurements\": [");
    const char *comma = "";
    for (int i = 0; i < n; i++) {
        if (i == without)
            continue;
        at +=
            snprintf(text + at, sizeof text - (size_t)at,
                     "%s{\"operation\": \"%s\", \"volume_size\": %g, \"run\": 1, \"time\": %.17g}",
                     comma, rows[i].operation, rows[i].size, rows[i].time);
        comma = ", ";
    }
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    write_text(text);
}

static struct triage *triage_of(const struct row *rows, int n, int without, const char *weights)
{
    char file[64] = "";
    struct triage *t;
    if (weights) {
        write_text(weights);
        strcpy(file, path);
    }
    write_rows(rows, n, without);
    const struct triage_options o = {.weights = weights ? file : NULL, .version = "test"};
    enum err e = triage_make(path, NULL, &o, &t);
    unlink(path);
    if (weights)
        unlink(file);
    if (e)
        fail_msg("%s", err_text());
    return t;
}

static const struct candidate *find(const struct triage *t, const char *name)
{
    for (int i = 0; i < t->candidates_count; i++)
        if (!strcmp(t->candidates[i]->primitive->name, name))
            return t->candidates[i];
    return NULL;
}

/* As a CPU of two threads has them at 256^3. */
static const struct row whole[] = {
    {"cone_forward_project", 256, 0.41},  {"cone_back_project", 256, 0.38},
    {"cone_hessian_diagonal", 256, 0.54}, {"cone_fdk_filter", 256, 0.01},
    {"gen_pixel_partition", 256, 0.001},  {"cone_mbir_recon", 256, 4.4},
    {"cone_fdk_recon", 256, 0.4},         {"median_filter3d", 256, 0.01},
};
#define WHOLE (int)(sizeof whole / sizeof *whole)

static void access_patterns_are_what_the_loops_do(void **state)
{
    static const enum access_pattern expected[ACCESS_TRACES] = {
        PATTERN_SCATTER, PATTERN_GATHER, PATTERN_SCATTER, PATTERN_GATHER,
        PATTERN_STREAM,  PATTERN_WINDOW, PATTERN_SCATTER, PATTERN_SCATTER,
        PATTERN_STREAM,  PATTERN_STREAM, PATTERN_WINDOW};
    (void)state;
    for (int i = 0; i < ACCESS_TRACES; i++) {
        struct access_pair a;
        assert_int_equal(access_pair_measure((enum access_trace)i, &a), ERR_OK);
        assert_string_equal(pattern_name(a.pattern), pattern_name(expected[i]));
        double sum = 0;
        for (int k = 0; k < ACCESS_BUCKETS; k++)
            sum += a.large.reuse[k];
        assert_near(sum, i != ACCESS_COPY, 1e-9); /* a copy uses nothing again */
        assert_true(a.large.reads + a.large.writes == a.large.accesses);
        assert_true(access_window_at(&a, 256) >= a.large.window);
    }
}

/* Flat and dark cells come again after a frame: n^2 cells of 4 elements. */
static void reuse_distances_are_exact(void **state)
{
    struct access a;
    (void)state;
    assert_int_equal(access_measure(ACCESS_CORRECT, 12, &a), ERR_OK);
    assert_true(a.accesses == 4 * 12 * 12 * 6);
    assert_true(a.distinct == 2 * 12 * 12 * 6 + 2 * 12 * 12);
    assert_near(a.reuse_share, 2.0 * 12 * 12 * 5 / a.accesses, 1e-12);
    assert_true(fabs(a.window - 4 * 12 * 12) <= 4);
    assert_int_equal(access_measure(ACCESS_MEDIAN, 12, &a), ERR_OK);
    assert_true(a.reads == 27.0 * 12 * 12 * 12 && a.distinct == 2.0 * 12 * 12 * 12);
    assert_int_equal(access_measure(ACCESS_MEDIAN, 3, &a), ERR_USAGE);
}

static void shares_of_a_reconstruction_add_up(void **state)
{
    struct row rows[WHOLE];
    (void)state;
    for (double factor = 0.1; factor < 100; factor *= 3) { /* to parts longer than the whole */
        memcpy(rows, whole, sizeof rows);
        rows[5].time /= factor;
        struct triage *t = triage_of(rows, WHOLE, -1, NULL);
        assert_int_equal(t->workloads.count, 2);
        for (int i = 0; i < t->workloads.count; i++) {
            double sum = 0;
            for (int k = 0; k < t->workloads.item[i].count; k++)
                sum += t->workloads.item[i].parts[k].share > 0 ? t->workloads.item[i].parts[k].share
                                                               : 0;
            assert_near(sum, 1, 1e-12);
        }
        const struct candidate *prior = find(t, "mbir_prior_and_updates");
        assert_true(!prior ||
                    prior->evidence.seconds > 0); /* only where something is left for it */
        double run = 0;
        for (int i = 0; i < t->candidates_count; i++)
            run += t->candidates[i]->evidence.run_share;
        assert_true(run > 0 && run <= 1 + 1e-12);
        triage_destroy(t);
    }
}

static void removing_an_operation_never_raises_a_ceiling(void **state)
{
    struct row rows[WHOLE];
    (void)state;
    for (int scale = 0; scale < 4; scale++) {
        memcpy(rows, whole, sizeof rows);
        rows[5].time *= (double[]){1, 0.5, 0.1, 30}[scale];
        struct triage *t = triage_of(rows, WHOLE, -1, NULL);
        for (int i = 0; i < WHOLE; i++) {
            struct triage *less = triage_of(rows, WHOLE, i, NULL);
            for (int k = 0; k < less->candidates_count; k++) {
                const struct candidate *now = less->candidates[k];
                const struct candidate *before = find(t, now->primitive->name);
                if (!now->ceiling)
                    continue;
                assert_non_null(before);
                assert_non_null(before->ceiling);
                assert_true(now->ceiling->share <= before->ceiling->share * (1 + 1e-12));
            }
            triage_destroy(less);
        }
        triage_destroy(t);
    }
}

static void more_bandwidth_never_lowers_a_score(void **state)
{
    struct triage *t = triage_of(whole, WHOLE, -1, NULL);
    (void)state;
    for (int i = 0; i < t->candidates_count; i++) {
        double last = -1;
        for (double factor = 0.125; factor <= 16; factor *= 2) {
            struct assumptions s = assumptions_none();
            struct candidate c = *t->candidates[i];
            s.memory = factor;
            candidate_judge(&t->inputs, &s, &c);
            assert_true(c.score.total >= last - 1e-9);
            last = c.score.total;
        }
        for (double factor = 0.125, link = -1; factor <= 16; factor *= 2) {
            struct assumptions s = assumptions_none();
            struct candidate c = *t->candidates[i];
            s.link = factor;
            candidate_judge(&t->inputs, &s, &c);
            assert_true(c.score.total >= link - 1e-9);
            link = c.score.total;
        }
    }
    triage_destroy(t);
}

static void gpu_is_better_at_cone_back_projection(void **state)
{
    (void)state;
    struct triage *t = triage_of(whole, WHOLE, -1, NULL);
    const struct candidate *c = find(t, "cone_back_project");
    assert_non_null(c);
    assert_string_equal(verdict_name(c->verdict), "NO");
    assert_non_null(strstr(c->rival->name, "GPU"));
    assert_true(c->speedup.low > 1); /* it would beat the CPU that was measured */
    triage_destroy(t);
    t = triage_of(whole, WHOLE, -1, "{\"use_reference_gpu\": 0}");
    c = find(t, "cone_back_project");
    assert_true(c->verdict > VERDICT_NO);
    assert_null(strstr(c->rival->name, "GPU"));
    triage_destroy(t);
}

/* Where an H200 was measured at what good texture code does (700 GUPS), it is the rival itself. */
static void a_measured_gpu_stands_for_gpus(void **state)
{
    (void)state;
    write_text("{\"environment\": {\"backend\": \"cuda\", \"threads\": 16, \"devices\": [\"NVIDIA "
               "H200\"]}, "
               "\"measurements\": ["
               "{\"operation\": \"cone_back_project\", \"volume_size\": 256, \"run\": 1, \"time\": "
               "0.0024}, "
               "{\"operation\": \"cone_fdk_recon\", \"volume_size\": 256, \"run\": 1, \"time\": "
               "0.0027}]}");
    struct triage *t;
    const struct triage_options o = {.version = "test"};
    assert_int_equal(triage_make(path, NULL, &o, &t), ERR_OK);
    unlink(path);
    const struct candidate *c = find(t, "cone_back_project");
    assert_non_null(c);
    assert_string_equal(verdict_name(c->verdict), "NO");
    assert_ptr_equal(c->rival, &c->measured);
    assert_true(c->speedup.high < 1 && c->speedup_cpu.low > 1);
    triage_destroy(t);
}

/* Else the rule could never say it. */
static void filter_in_the_stream_can_be_high(void **state)
{
    static const struct row rows[] = {{"parallel_fbp_filter", 512, 0.4},
                                      {"parallel_back_project", 512, 0.5},
                                      {"parallel_fbp_recon", 512, 1}};
    (void)state;
    struct triage *t = triage_of(rows, 3, -1, "{\"use_reference_gpu\": 0}");
    const struct candidate *c = t->candidates[0];
    assert_string_equal(c->primitive->name, "parallel_fbp_filter");
    assert_string_equal(verdict_name(c->verdict), "HIGH");
    assert_true(c->flips_count > 0 || c->score.total > 70);
    assert_non_null(strstr(t->headline, "first candidate"));
    triage_destroy(t);
}

/* Whatever may be called HIGH has a kernel to hand over. */
static void high_ones_can_be_handed_over(void **state)
{
    struct triage *t = triage_of(whole, WHOLE, -1, "{\"use_reference_gpu\": 0}");
    int high = 0;
    (void)state;
    for (int i = 0; primitive_at(i); i++)
        assert_true(hls_export_known(primitive_at(i)->name) ||
                    primitive_at(i)->dependency == DEPENDS_FEEDBACK ||
                    !strncmp(primitive_at(i)->name, "volume_", 7)); /* a copy: never HIGH, below */
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        int told = 0;
        for (int k = 0; k < c->next_count; k++)
            told |= strstr(c->next[k], "tomoprof-fpga hls") != NULL;
        assert_int_equal(told, c->verdict >= VERDICT_MEDIUM);
        high += c->verdict == VERDICT_HIGH;
    }
    assert_true(high > 0);
    triage_destroy(t);
}

static void feedback_is_never_more_than_low(void **state)
{
    (void)state;
    struct triage *t =
        triage_of(whole, WHOLE, -1, "{\"use_reference_gpu\": 0, \"feedback_us\": 0.1}");
    const struct candidate *c = find(t, "mbir_prior_and_updates");
    assert_non_null(c);
    assert_true(c->verdict <= VERDICT_LOW);
    assert_string_equal(c->evidence.source, "remainder");
    triage_destroy(t);
}

static void one_size_gives_no_exponent(void **state)
{
    static const struct row rows[] = {{"median_filter3d", 32, 0.001},
                                      {"median_filter3d", 64, 0.008},
                                      {"median_filter3d", 128, 0.064}};
    (void)state;
    struct triage *t = triage_of(rows + 2, 1, -1, NULL);
    assert_true(isnan(t->candidates[0]->evidence.exponent));
    assert_non_null(t->candidates[0]->evidence.exponent_reason);
    triage_destroy(t);
    t = triage_of(rows, 3, -1, NULL);
    assert_near(t->candidates[0]->evidence.exponent, 3, 1e-9);
    assert_null(t->candidates[0]->ceiling); /* no reconstruction around it */
    assert_int_equal(t->candidates[0]->confidence, CONFIDENCE_LOW);
    triage_destroy(t);
}

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

/* Only where a card has such engines, and never slower than without them. */
static void engines_are_a_bound_beside_the_model(void **state)
{
    struct triage *t = triage_of(whole, WHOLE, -1, NULL);
    int seen = 0;
    (void)state;
    for (int i = 0; i < t->candidates_count; i++)
        for (int k = 0; k < t->candidates[i]->estimates_count; k++) {
            const struct estimate *e = &t->candidates[i]->estimates[k];
            assert_true((e->card->engines > 0) == (e->engines_rate > 0));
            assert_true((e->engines_rate > 0) == (e->engines_seconds > 0));
            assert_false(e->engines_seconds > e->seconds.low * (1 + 1e-12));
            seen += e->engines_rate > 0;
        }
    assert_int_equal(seen, t->candidates_count);
    triage_destroy(t);
}

static void pipelines_stand_on_every_card(void **state)
{
    struct triage *t = triage_of(whole, WHOLE, -1, "{\"detector_gb_s\": 1000}");
    (void)state;
    for (int i = 0; i < t->cards_count; i++) {
        const struct pipeline *p = &t->pipelines[i];
        assert_ptr_equal(p->card, t->cards[i]);
        assert_true(p->lanes >= 1 && p->bound);
        assert_false(p->keeps_up); /* with nothing that these cards could take */
        assert_true(p->dsp_share <= t->weights.usable_dsp + 1e-9 || p->lanes == 1);
    }
    triage_destroy(t);
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
        cmocka_unit_test(a_part_that_disagrees_with_its_own_row_is_told),
        cmocka_unit_test(access_patterns_are_what_the_loops_do),
        cmocka_unit_test(reuse_distances_are_exact),
        cmocka_unit_test(shares_of_a_reconstruction_add_up),
        cmocka_unit_test(removing_an_operation_never_raises_a_ceiling),
        cmocka_unit_test(more_bandwidth_never_lowers_a_score),
        cmocka_unit_test(gpu_is_better_at_cone_back_projection),
        cmocka_unit_test(a_measured_gpu_stands_for_gpus),
        cmocka_unit_test(filter_in_the_stream_can_be_high),
        cmocka_unit_test(high_ones_can_be_handed_over),
        cmocka_unit_test(feedback_is_never_more_than_low),
        cmocka_unit_test(one_size_gives_no_exponent),
        cmocka_unit_test(what_is_no_time_is_left_out),
        cmocka_unit_test(files_without_times_are_refused),
        cmocka_unit_test(weights_are_checked),
        cmocka_unit_test(cards_are_chosen_by_name),
        cmocka_unit_test(engines_are_a_bound_beside_the_model),
        cmocka_unit_test(pipelines_stand_on_every_card),
        cmocka_unit_test(counts_of_the_processor_stand_above_computed_ones),
        cmocka_unit_test(mixes_are_found_by_name),
        cmocka_unit_test(ranges_take_a_reconstruction_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
