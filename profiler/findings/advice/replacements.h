/* Functions of other packages that tomoprof computes faster: python/tomoprof/replacements.json, of
 * which the build makes the table, and the lines of a run that call them. */
#ifndef TP_FINDINGS_ADVICE_REPLACEMENTS_H
#define TP_FINDINGS_ADVICE_REPLACEMENTS_H

#include <stddef.h>

#include "profiler/analyze/model/model.h"

struct replacement {
    const char *module, *name; /* as a program imports it: scipy.ndimage, median_filter */
    const char *hook;          /* the module that holds it */
    const char *file;          /* glob of the sources whose function of that name it is */
    const char *frames;        /* names of functions there that take its time, with | between them;
                                  "": its own */
    const char *text,
        *unless;       /* of the line that calls it: one of the first, none of the second, with
                                  | between them, and & between words of one; "" any, none */
    const char *ours;  /* module to import in its place */
    const char *label; /* what computes then */
    const char *equal; /* in words */
    double tolerance;  /* relative l2 */
};
extern const struct replacement replacements[];
extern const size_t replacements_count;

/* Adds to the answer of a line that spends at least half of its time in a function of the table what
 * computes the same. `text`: of the line, NULL unknown. ERR_MEMORY. */
enum err replacement_offer(struct model *m, const struct model_own *at, const char *text,
                           struct model_answer *a);

#endif
