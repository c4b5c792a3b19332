/* From the texts of options to the steps before a reconstruction, and what they did as lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/runs/before_options.h"

/* Numbers between commas; *count of at most `most`. */
static enum err numbers(const char *option, const char *text, int least, int most, double *out)
{
    const char *at = text;
    for (int n = 0; n < most; n++) {
        char *end;
        out[n] = strtod(at, &end);
        FAIL_IF(end == at || !isfinite(out[n]) || (*end && *end != ','), ERR_USAGE,
                "--%s %s: finite numbers with commas between them are needed", option, text);
        FAIL_IF(!*end && n + 1 < least, ERR_USAGE, "--%s %s: at least %d numbers are needed",
                option, text, least);
        if (!*end)
            return ERR_OK;
        at = end + 1;
    }
    return FAIL(ERR_USAGE, "--%s %s: more than %d numbers", option, text, most);
}

static enum err paganin(const char *text, struct scan_steps *s)
{
    double n[4] = {0, 0, 0, 0};
    TRY(numbers("paganin", text, 3, 4, n));
    FAIL_IF(n[0] <= 0 || n[1] <= 0 || n[2] <= 0 || n[3] < 0, ERR_USAGE,
            "--paganin %s: delta/beta, energy (keV), distance and pixel (mm) are positive", text);
    s->delta_beta = n[0];
    s->energy = n[1];
    s->distance = n[2];
    s->pixel = n[3];
    return ERR_OK;
}

/* A number or "auto". */
static enum err given_or_found(const char *option, const char *text, double least, double most,
                               enum scan_find *how, double *value)
{
    *how = FIND_AUTO;
    if (!strcmp(text, "auto"))
        return ERR_OK;
    TRY(numbers(option, text, 1, 1, value));
    FAIL_IF(!(*value >= least && *value <= most), ERR_USAGE,
            "--%s %s: must be from %g to %g, or auto", option, text, least, most);
    *how = FIND_GIVEN;
    return ERR_OK;
}

enum err before_options_read(const struct before_options *o, struct scan_steps *out)
{
    *out = (struct scan_steps){.zingers = o->zingers / 100, .air = o->air, .least = o->least};
    if (o->paganin)
        TRY(paganin(o->paganin, out));
    if (o->hardening)
        TRY(numbers("hardening", o->hardening, 1, PREPARE_COEFFICIENTS, out->hardening));
    if (o->tilt)
        TRY(given_or_found("tilt", o->tilt, -45, 45, &out->tilted, &out->tilt));
    if (o->overlap)
        TRY(given_or_found("overlap", o->overlap, 1, 1e6, &out->joined, &out->overlap));
    return ERR_OK;
}

void before_options_tell(const struct scan_steps *s)
{
    char line[512] = "";
    size_t used = 0;
    for (int i = 0; i < s->count && used + 64 < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %.3g s", i ? ", " : "",
                                 s->done[i].name, s->done[i].seconds);
    if (s->count)
        log_info("steps: %s", line);
    if (s->zingers > 0)
        log_info("%" PRId64 " samples were zingers; %" PRId64 " pixels are dead", s->zapped,
                 s->dead);
    if (s->tilted)
        log_info("tilt: %.4f degrees (%s)", s->tilt, s->tilted == FIND_AUTO ? "found" : "given");
    if (s->joined)
        log_info("overlap: %.2f channels (%s), the axis near the %s channel", s->overlap,
                 s->joined == FIND_AUTO ? "found" : "given", s->end > 0 ? "last" : "first");
}
