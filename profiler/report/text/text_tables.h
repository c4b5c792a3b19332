/* Tables of the text report beside those of lines and functions. */
#ifndef TP_REPORT_TEXT_TEXT_TABLES_H
#define TP_REPORT_TEXT_TEXT_TABLES_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

/* Prints sums of input and output, then at most `top` files and endpoints that took 1 % of the run
 * or moved 1 MiB, each with its two most expensive places. Nothing where none did. */
void text_io(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` rows of locks; nothing where no thread waited. */
void text_locks(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` ranks, and as many lines that wait in MPI; nothing where the program started
 * no ranks. */
void text_ranks(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` ranges, kernels and calls of CUDA, whose calls are counted. */
enum err text_calls(const struct model *m, FILE *out, int colour, int top);

#endif
