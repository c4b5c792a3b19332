/* The report on a terminal. */
#ifndef TP_REPORT_TEXT_TEXT_H
#define TP_REPORT_TEXT_TEXT_H

#include <stdio.h>

#include "profiler/analyze/model/model.h"

enum text_sort { TEXT_SELF, TEXT_INCLUSIVE, TEXT_CALLS };
struct text_view {
    int width;       /* of the terminal; 0: 100, with whole source lines */
    int colour, top; /* 0: plain text; rows of each block */
    enum text_sort sort;
    int verbose; /* 1: with notes that name no damage, as "Build with -g" */
};
/* 1: an item of the data's quality that is printed only with `verbose`. */
int text_is_note(const struct model_item *q);
/* Prints the answers and the most expensive lines as tables. Samples count no calls of functions,
 * so that TEXT_CALLS orders kernels and adds ranges, whose calls are counted. */
enum err report_text(const struct model *m, FILE *out, const struct text_view *v);

/* Writes a line of a terminal: what is wider goes on below, behind `indent` blanks. */
void text_wrapped(FILE *out, const char *text, int width, int indent);

/* Tables of the text report beside those of lines and functions. */

/* Prints sums of input and output, then at most `top` files and endpoints that took 1 % of the run
 * or moved 1 MiB, each with its two most expensive places. Nothing where none did. */
void text_io(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` rows of locks, each with its holder below it in lines of the width; nothing
 * where no thread waited. */
enum err text_locks(const struct model *m, FILE *out, const struct text_view *v);

/* Prints at most `top` ranks, and as many lines that wait in MPI; nothing where the program started
 * no ranks. */
void text_ranks(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` lines inside kernels, by their time; nothing where none was sampled. */
void text_inside(const struct model *m, FILE *out, int colour, int top);

/* Prints the `top` longest regions and NVTX ranges in the order in which they first began, each with
 * the own line that takes most of its CPU time; nothing where the program has none. */
enum err text_ranges(const struct model *m, FILE *out, int colour, int top);

/* Prints at most `top` ranges, kernels and calls of CUDA, whose calls are counted. */
enum err text_calls(const struct model *m, FILE *out, int colour, int top);

#endif
