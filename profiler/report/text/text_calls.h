/* The table of what was called most often. */
#ifndef TP_REPORT_TEXT_TEXT_CALLS_H
#define TP_REPORT_TEXT_TEXT_CALLS_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* Ranges, kernels and calls of CUDA, whose calls are counted, at most `top` of them. */
enum err text_calls(const struct model *m, FILE *out, int colour, int top);

#endif
