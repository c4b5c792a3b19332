/* The table of locks of the text report. */
#ifndef TP_REPORT_TEXT_TEXT_LOCKS_H
#define TP_REPORT_TEXT_TEXT_LOCKS_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* At most `top` rows; nothing where no thread waited. */
void text_locks(const struct model *m, FILE *out, int colour, int top);

#endif
