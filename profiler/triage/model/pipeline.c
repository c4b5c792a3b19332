/* Fits flat field, logarithm, filter and median side by side on a card. */
#include <math.h>
#include <stddef.h>

#include "profiler/triage/model/pipeline.h"

static const char *const stages[STAGES] = {"flat_field_and_log", "parallel_fbp_filter",
                                           "median_filter3d", NULL};

enum err pipeline_make(const struct card *card, double size, const struct weights *w,
                       struct pipeline *out)
{
    double dsp = 0, lut = 0;
    *out = (struct pipeline){.card = card, .size = size};
    for (int i = 0; i < STAGES && stages[i]; i++) {
        const struct primitive *p = primitive_named(stages[i]);
        struct access_pair a;
        TRY(access_pair_measure(p->trace, &a));
        out->stages[i] = stages[i];
        out->each[i] = lane_of(p, card, size, 0);
        dsp += out->each[i].dsp;
        lut += out->each[i].lut;
        out->line_buffer_kib += access_window_at(&a, size) * w->element_bytes / 1024;
    }
    const double by_dsp = card->dsp * w->usable_dsp / dsp, by_lut = card->lut * w->usable_lut / lut;
    const double lanes = fmin(by_dsp, by_lut);
    /* As many lanes as the detector asks for at the pessimistic end, and at least one. */
    const double each = card->clock_mhz.low * 1e6 * w->regular_low;
    out->detector_samples_per_s = w->detector_gb_s * 1e9 / w->element_bytes;
    out->lanes = fmax(1, fmin(floor(lanes), ceil(out->detector_samples_per_s / each)));
    out->samples_per_s =
        bounds_of(out->lanes * each, out->lanes * card->clock_mhz.high * 1e6 * w->regular_high);
    out->dsp_share = out->lanes * dsp / card->dsp;
    out->lut_share = out->lanes * lut / card->lut;
    out->ram_share = out->line_buffer_kib / card->ram_kib;
    out->fits = lanes >= 1 && out->ram_share <= w->usable_ram;
    out->keeps_up = out->fits && out->samples_per_s.low >= out->detector_samples_per_s;
    out->bound = out->ram_share > w->usable_ram ? "on-chip RAM"
                 : by_dsp < by_lut              ? "DSP blocks"
                                                : "LUTs";
    return ERR_OK;
}
