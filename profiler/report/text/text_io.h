/* The part of the text report about input and output. */
#ifndef TP_REPORT_TEXT_TEXT_IO_H
#define TP_REPORT_TEXT_TEXT_IO_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* Sums, then at most `top` files and endpoints that took 1 % of the run or moved 1 MiB, each with
 * its two most expensive places. Nothing where none did. */
void text_io(const struct model *m, FILE *out, int colour, int top);

#endif
