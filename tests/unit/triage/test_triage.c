/* links: tp_fpga */
/* Triage: what holds of every judgement. */
#include "profiler/fpga/hls/hls_export.h"
#include "tests/unit/triage/triage_case.h"

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

/* A measured H200 with the rate of good texture code (700 GUPS) is the rival itself. */
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
    struct width_case slice;
    int high = 0;
    (void)state;
    assert_ok(width_case_phantom(16, &slice));
    for (int i = 0; primitive_at(i); i++)
        assert_true(hls_export_write(primitive_at(i)->name, &slice, "/dev/null/no") != ERR_USAGE ||
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
    width_case_destroy(&slice);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_reconstruction_add_up),
        cmocka_unit_test(removing_an_operation_never_raises_a_ceiling),
        cmocka_unit_test(more_bandwidth_never_lowers_a_score),
        cmocka_unit_test(gpu_is_better_at_cone_back_projection),
        cmocka_unit_test(a_measured_gpu_stands_for_gpus),
        cmocka_unit_test(filter_in_the_stream_can_be_high),
        cmocka_unit_test(high_ones_can_be_handed_over),
        cmocka_unit_test(feedback_is_never_more_than_low),
        cmocka_unit_test(one_size_gives_no_exponent),
        cmocka_unit_test(engines_are_a_bound_beside_the_model),
        cmocka_unit_test(pipelines_stand_on_every_card),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
