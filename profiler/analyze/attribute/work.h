/* Names what a stack did below its innermost own line, in words of its user: "inflating",
 * "page faults", else the function that it was in. */
#ifndef TP_ANALYZE_ATTRIBUTE_WORK_H
#define TP_ANALYZE_ATTRIBUTE_WORK_H

#include "profiler/analyze/attribute/frames.h"

struct stack_work {
    const char *kind, *what; /* kind: of a row of work_rows, or "call", "python", "self" */
};
enum { WORK_USER, WORK_SYSTEM, WORK_MODES };

/* Takes frames from the leaf on; inner: those of frames_inner(), may be none. ERR_MEMORY. */
enum err work_find(struct image *im, const struct resolved *inner, int inner_count,
                   const struct resolved *frames, int count, struct stack_work out[WORK_MODES]);
/* Adds CPU time in ns to what node `own` of run.own did. */
enum err work_add(struct run *r, uint32_t own, const struct stack_work of[WORK_MODES],
                  const struct costs *s);

/* A row of the table, work_kinds.c: the innermost frame that a row matches is the work, of weak
 * rows (1) only where no other matches further out, of rows of callees (2) only where the function
 * would be told by its name. Of rows of the interpreter (3) only where it serves Python: what
 * compiled code of a package asks of it is a part of that code. Patterns are divided by |, * is any
 * text. NULL: anything. */
enum { WORK_WEAK = 1, WORK_CALLEE, WORK_INTERPRETER };
struct work_row {
    const char *kind, *words; /* words: "35 % <words>"; NULL: of the type that it converts to */
    int weak, python;         /* python: of Python's frames, else of machine code */
    const char *module, *function, *file;
};
extern const struct work_row work_rows[], kernel_rows[];
extern const size_t work_rows_count, kernel_rows_count;

#endif
