/* Advice for a line that takes much CPU time: a table of recipes, by what the line's time went to,
 * its text and facts of the run. */
#ifndef TP_FINDINGS_ADVICE_RECIPES_H
#define TP_FINDINGS_ADVICE_RECIPES_H

#include "profiler/findings/hotspots.h"
#include "profiler/findings/run_facts.h"

struct recipe_line {
    const struct hotspot *hot;
    const struct model_file *file; /* NULL: the code has no lines */
    const struct model_line *row;  /* NULL: the model has none of this line */
};
/* Adds to the answer's text what the line's time went to, and fills its advice. ERR_MEMORY. */
enum err recipes_apply(struct model *m, const struct run_facts *facts,
                       const struct recipe_line *line, struct model_answer *a);

/* Returns whether threads waited for a lock that this line held: FACT_HOLDS_LOCK, with FACT_HOLDS_GIL
 * where that is the GIL alone; 0: they did not, or not for long. */
int recipe_holds_lock(const struct run_facts *f, const struct model_own *at);
/* Returns the advice for work of a kind, whatever its line is. NULL: none. */
const char *recipe_of_kind(const char *kind);
/* Returns the advice for a line that waits, by what it waits for ("io") and its text (NULL:
 * unknown). NULL: none. */
const char *recipe_of_wait(const char *waits_for, const char *text);

#endif
