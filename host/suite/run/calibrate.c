/* Finds what the machine reaches, before the runs of a child: kept rates where it is as fast as it was, else
 * new ones. In the process and with the threads of the runs, because a shared machine's speed
 * changes within minutes. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/backend/registry.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/run/rate_file.h"
#include "host/suite/run/suite.h"

#define CACHED_TRIES 3
#define SAME_LEAST   0.93 /* of the kept arithmetic rate */
#define SAME_ENOUGH  0.97
#define SAME_MOST    1.05
#define WAITED_MOST  0.02 /* of the time: a disturbed measurement is not kept */

/* Copies through the caches that are slower than those through main memory were disturbed, or are
 * too short to fill a team: measured again, a few times. */
static double cached_rate(struct run_state *s, double memory)
{
    double best = 0;
    for (int i = 0; i < CACHED_TRIES && (i == 0 || best < memory); i++)
        best = fmax(best, suite_copy_rate(s->be, s->op, &s->model, 0));
    return best;
}

/* 1: arithmetic is as fast as when the calibration was made. */
static int rates_hold(struct backend *be, const struct rate_file *k)
{
    double now;
    if (!(k->peak.flops_per_s > 0))
        return 0;
    if (backend_calibration_is_trusted())
        return 1;
    return !be->ops->glance_peak(be, SAME_ENOUGH * k->peak.flops_per_s, &now) &&
           now >= SAME_LEAST * k->peak.flops_per_s && now <= SAME_MOST * k->peak.flops_per_s;
}

/* Measures what `k` lacks; a calibration that fails leaves the share of the peak unknown and fails
 * nothing. Returns 1 where there is something new. */
static int calibrate_rest(struct run_state *s, struct rate_file *k, double *cached)
{
    const double bytes = (double)suite_copy_bytes(s->op, &s->model);
    const int has_peak = k->peak.flops_per_s > 0;
    if (!has_peak && s->be->ops->measure_peak(s->be, &k->peak)) {
        log_warn("no calibration: %s", err_text());
        k->peak = (struct peak){0, 0};
    }
    if (has_peak && rate_file_copy_rate(k, bytes, cached))
        return 0;
    *cached = cached_rate(s, k->peak.bytes_per_s);
    rate_file_add_copy(k, bytes, *cached);
    return 1;
}

void suite_calibrate(struct run_state *s, int anew, struct suite_rates *out)
{
    struct rate_file k = {0};
    const int keeps = s->be->ops->glance_peak && !backend_calibration_is_brief();
    const int fd = clock_waits_open();
    const int64_t begin = clock_ns(), waited = clock_waits_ns(fd);
    if (keeps)
        rate_file_read(s->be, &k);
    if (anew || !rates_hold(s->be, &k))
        rate_file_forget(&k);
    *out = (struct suite_rates){.kept_s = k.age_s};
    const int new = calibrate_rest(s, &k, &out->cached_bytes_per_s);
    out->peak = k.peak;
    const int quiet =
        (double)(clock_waits_ns(fd) - waited) < WAITED_MOST * (double)(clock_ns() - begin);
    if (keeps && new && (quiet || backend_calibration_is_trusted()))
        rate_file_write(&k);
    if (fd >= 0)
        close(fd);
    if (!strcmp(s->op->group, "volume"))
        out->like_runs_bytes_per_s = suite_copy_rate(s->be, s->op, &s->model, 1);
}
