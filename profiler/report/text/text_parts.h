/* Parts of the text report, each a table for the terminal. */
#ifndef TP_REPORT_TEXT_TEXT_PARTS_H
#define TP_REPORT_TEXT_TEXT_PARTS_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* The table of what was called most often. */

/* Ranges, kernels and calls of CUDA, whose calls are counted, at most `top` of them. */
enum err text_calls(const struct model *m, FILE *out, int colour, int top);

/* The part of the text report about input and output. */

/* Sums, then at most `top` files and endpoints that took 1 % of the run or moved 1 MiB, each with
 * its two most expensive places. Nothing where none did. */
void text_io(const struct model *m, FILE *out, int colour, int top);

/* The table of locks of the text report. */

/* At most `top` rows; nothing where no thread waited. */
void text_locks(const struct model *m, FILE *out, int colour, int top);

/* The tables of ranks of the text report. */

/* At most `top` rows of each; nothing where the program started no ranks. */
void text_ranks(const struct model *m, FILE *out, int colour, int top);

#endif
