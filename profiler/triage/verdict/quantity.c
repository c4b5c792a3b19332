/* Formats numbers with few digits and the prefixes of the SI. */
#include <math.h>
#include <stdio.h>

#include "profiler/triage/verdict/candidate.h"

#define TEXTS 64
#define TEXT  64

static char *next_text(void)
{
    static _Thread_local char text[TEXTS][TEXT];
    static _Thread_local int at;
    return text[at++ % TEXTS];
}

const char *quantity_number(double v)
{
    char *s = next_text();
    if (!isfinite(v))
        return "-";
    snprintf(s, TEXT, fabs(v) >= 1e5 ? "%.2g" : fabs(v) >= 999.5 ? "%.0f" : "%.3g", v);
    return s;
}

static const struct prefix {
    double factor;
    const char *name;
} prefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},  {1, ""},
                {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}, {1e-12, "p"}};
#define PREFIXES (int)(sizeof prefixes / sizeof *prefixes)

/* Numbers without a unit have no prefix below 1. */
static const struct prefix *prefix_of(double v, const char *unit)
{
    const int last = *unit ? PREFIXES - 1 : 4;
    for (int i = 0; i < last; i++)
        if (fabs(v) >= 0.9995 * prefixes[i].factor)
            return &prefixes[i];
    return &prefixes[v == 0 ? 4 : last];
}

/* 2 digits, without an exponent from 100 on. */
struct digits {
    char text[24];
};

static struct digits digits_two(double v)
{
    struct digits d;
    snprintf(d.text, sizeof d.text, fabs(v) >= 99.5 && fabs(v) < 1e5 ? "%.0f" : "%.2g", v);
    return d;
}

const char *quantity(double v, const char *unit)
{
    char *s = next_text();
    if (!isfinite(v))
        return "-";
    const struct prefix *p = prefix_of(v, unit);
    snprintf(s, TEXT, "%.3g%s%s%s", v / p->factor, *p->name || *unit ? " " : "", p->name, unit);
    return s;
}

/* The end that is known, where both are not; NAN: two are. */
static double bounds_single(struct bounds r)
{
    return !isfinite(r.high) || r.low == r.high ? r.low : isfinite(r.low) ? (double)NAN : r.high;
}

const char *quantity_bounds(struct bounds r, const char *unit)
{
    const double one = bounds_single(r);
    char *s = next_text();
    if (isfinite(one) || !isfinite(r.low))
        return quantity(one, unit);
    /* Both get one prefix, that of the high end, unless the low one would drown in zeros. */
    const struct prefix *high = prefix_of(r.high, unit), *low = prefix_of(r.low, unit);
    const struct digits to = digits_two(r.high / high->factor);
    const char *space = *high->name || *unit ? " " : "";
    if (low != high && r.low != 0 && r.low / high->factor < 0.01)
        snprintf(s, TEXT, "%s %s%s to %s%s%s%s", digits_two(r.low / low->factor).text, low->name,
                 unit, to.text, space, high->name, unit);
    else
        snprintf(s, TEXT, "%s to %s%s%s%s", digits_two(r.low / high->factor).text, to.text, space,
                 high->name, unit);
    return s;
}

const char *quantity_plain_bounds(struct bounds r)
{
    const double one = bounds_single(r);
    char *s = next_text();
    if (isfinite(one) || !isfinite(r.low))
        return quantity_number(one);
    snprintf(s, TEXT, "%s to %s", digits_two(r.low).text, digits_two(r.high).text);
    return s;
}
