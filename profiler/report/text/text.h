/* The report on a terminal. */
#ifndef TP_REPORT_TEXT_TEXT_H
#define TP_REPORT_TEXT_TEXT_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

enum text_sort { TEXT_SELF, TEXT_INCLUSIVE, TEXT_CALLS };
/* The most expensive lines as a table for a terminal of `width` columns (0: 100), `top` rows per
 * block; colour 0: plain text. */
enum err report_text(const struct model *m, FILE *out, int width, int colour, int top);
/* The same by inclusive time, or by how often: samples count no calls of functions, so that
 * TEXT_CALLS orders kernels and adds ranges, whose calls are counted. */
enum err report_text_by(const struct model *m, FILE *out, int width, int colour, int top,
                        enum text_sort sort);

#endif
