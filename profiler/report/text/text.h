/* The report on a terminal. */
#ifndef TP_REPORT_TEXT_TEXT_H
#define TP_REPORT_TEXT_TEXT_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* The most expensive lines as a table for a terminal of `width` columns (0: 100), `top` rows per
 * block; colour 0: plain text. */
enum err report_text(const struct model *m, FILE *out, int width, int colour, int top);

#endif
