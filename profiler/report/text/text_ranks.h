/* The tables of ranks of the text report. */
#ifndef TP_REPORT_TEXT_TEXT_RANKS_H
#define TP_REPORT_TEXT_TEXT_RANKS_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* At most `top` rows of each; nothing where the program started no ranks. */
void text_ranks(const struct model *m, FILE *out, int colour, int top);

#endif
