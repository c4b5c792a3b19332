/* One operation on a synthetic input: its model, its times, its rates against the machine's copy
 * rate, its targets. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/results/apply_size.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/run/plan.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/stats.h"
#include "host/suite/statistics/targets.h"

#define COPY_TRIES 3
#define SETTINGS   8

/* A key and '=': where a setting begins. Blanks anywhere else belong to a value, as in the name of
 * a file. */
static int begins(const char *at)
{
    const size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    return key && at[key] == '=';
}

enum err apply_settings(struct run_state *s, const char *text)
{
    static char room[4096];
    static const char *items[SETTINGS];
    FAIL_IF(strlen(text) >= sizeof room, ERR_USAGE, "--set: %zu bytes; at most %zu are accepted",
            strlen(text), sizeof room - 1);
    strcpy(room, text + strspn(text, " "));
    for (char *at = room; *at;) {
        FAIL_IF(s->settings_count == SETTINGS, ERR_USAGE, "--set: more than %d settings", SETTINGS);
        items[s->settings_count++] = at;
        char *end = at + strcspn(at, " "), *next = end + strspn(end, " ");
        while (*next && !begins(next)) {
            end = next + strcspn(next, " ");
            next = end + strspn(end, " ");
        }
        *end = 0;
        at = next;
    }
    s->settings = items;
    return ERR_OK;
}

enum err apply_size_model(struct run_state *s, const char *text)
{
    int64_t n[3] = {0, 0, 0};
    char *end;
    const long long edge = strtoll(text, &end, 10);
    if (shape_parse(text, n)) {
        FAIL_IF(!s->op->step, ERR_USAGE, "%s takes an edge, %s is a shape of volume operations",
                s->op->name, text);
        TRY(model_for_size(s->op, SIZE_MIN, &s->model));
        s->model.volume.rows = n[0];
        s->model.volume.cols = n[1];
        s->model.volume.slices = n[2];
        return ERR_OK;
    }
    FAIL_IF(end == text || *end || edge < SIZE_MIN || edge > SIZE_MAX_EDGE, ERR_USAGE,
            "the size \"%s\" is not accepted: an edge of %d to %d, or a shape like 512x512x30",
            text, SIZE_MIN, SIZE_MAX_EDGE);
    return model_for_size(s->op, edge, &s->model);
}

static enum err judge(const struct apply_report *r, const char *text, const char *gate, double copy,
                      int implausible)
{
    struct run_state *s = r->state;
    struct target_row row = {.operation = s->op->name,
                             .shape = text,
                             .size = cbrt((double)volume_voxels(&s->model.volume)),
                             .seconds = r->seconds,
                             .bytes_in = state_bytes_in(s),
                             .bytes_out = state_bytes_out(s),
                             .bytes_moved = r->work.bytes_min,
                             .copy_bytes_per_s = copy,
                             .implausible = implausible};
    struct targets targets;
    TRY(targets_read(gate, &targets));
    enum err e = r->crew ? ERR_OK : suite_pairs(s, row.size, &targets, &row.pairs, &row.pair_bytes);
    if (!e) {
        const struct targets_count count = targets_print(&targets, &row, 1);
        char what[160];
        snprintf(what, sizeof what, "%s at %s", s->op->name, text);
        e = targets_conclude(&targets, &count, gate, what);
    }
    targets_free(&targets);
    return e;
}

static void rate(char out[40], double bytes, double seconds, const char *what)
{
    snprintf(out, 40, bytes > 0 ? ", %.4g MB/s %s" : "", bytes / seconds * 1e-6, what);
}

enum err apply_size_report(const struct apply_report *r, const char *text, const char *gate)
{
    const struct run_state *s = r->state;
    const struct statistics t = statistics_of(r->times, (int)r->repeats);
    char in[40], out[40], share[64] = "";
    double copy = NAN, like_runs = NAN;
    if (s->in.host && gate && (like_runs = suite_copy_rate(s->be, s->op, &s->model, 1)) <= 0)
        like_runs = NAN;
    const struct work bytes = {0, r->work.bytes_min, r->work.bytes_min};
    struct rates rates = {.implausible = 1};
    for (int i = 0; i < COPY_TRIES && rates.implausible; i++) { /* copies may be disturbed, too */
        const double rate = s->in.host ? suite_copy_rate(s->be, s->op, &s->model, 0) : 0;
        copy = rate > 0 ? fmax(copy, rate) : copy;
        const struct peak peak = {0, fmax(copy, like_runs)}; /* of a number and NAN the number */
        rates = rates_of(t.median, &bytes, 0, &peak);
    }
    rate(in, state_bytes_in(s), t.median, "in");
    rate(out, state_bytes_out(s), t.median, "out");
    if (!isnan(rates.roof_share))
        snprintf(share, sizeof share, ", %.3g %% of copy%s", 100 * rates.roof_share,
                 rates.implausible ? ": implausible" : "");
    log_info("%s %s on %s: median %.4g s, mean %.4g, min %.4g, p95 %.4g, cv %.2g of %d runs%s%s%s",
             s->op->name, text, s->be->device, t.median, t.mean, t.min, t.p95, t.cv, t.n,
             r->work.bytes_min > 0 ? in : "", r->work.bytes_min > 0 ? out : "", share);
    return gate ? judge(r, text, gate, like_runs, rates.implausible) : ERR_OK;
}
