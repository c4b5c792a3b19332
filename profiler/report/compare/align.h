/* Finds the line that each line of a file became when the file was edited. */
#ifndef TP_REPORT_COMPARE_ALIGN_H
#define TP_REPORT_COMPARE_ALIGN_H

#include "profiler/analyze/model/model.h"

/* The texts of two states of a file, [1, length]; NULL where a line's text is unknown. */
struct align {
    const char **a, **b;
    int length_a, length_b;
    int *to_b;   /* for each line of A, from 1 on: its number in B, 0: deleted or edited */
    int *to_a;   /* the other way round */
    int by_text; /* 0: by numbers, see below */
};

/* Lines that are equal in both, in order, as many as can be (Myers 1986). Where a file's text is
 * not known as a whole, or the states differ in more than 2,000 lines, lines are the same where
 * their numbers are. Either file may be NULL: it has no lines. ERR_MEMORY. */
enum err align_files(const struct model_file *a, const struct model_file *b, struct align *out);
void align_free(struct align *x);

#endif
