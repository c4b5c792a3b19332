/* Numbers as people say them. The text lasts until 64 more were asked for. */
#ifndef TP_TRIAGE_VERDICT_QUANTITY_H
#define TP_TRIAGE_VERDICT_QUANTITY_H

#include "profiler/triage/model/card.h"

/* 3 digits; "-": unknown. */
const char *quantity_number(double v);
/* Formats with the prefix of the SI: "8.9 us", "35 G". `unit` may be empty. */
const char *quantity(double v, const char *unit);
/* 2 digits, as ranges deserve: "0.89 to 1.9 us", "0.26 to 1.1". */
const char *quantity_bounds(struct bounds r, const char *unit);
const char *quantity_plain_bounds(struct bounds r);

#endif
