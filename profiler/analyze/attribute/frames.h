/* A recorded stack as frames with names and lines, native and Python ones in one chain. */
#ifndef TP_ANALYZE_ATTRIBUTE_FRAMES_H
#define TP_ANALYZE_ATTRIBUTE_FRAMES_H

#include "profiler/analyze/state/image.h"
#include "profiler/analyze/state/run.h"

struct resolved {
    const char *function, *file, *module; /* file: as recorded, NULL unknown */
    int line, begins;
    enum owner owner;
    int python, inlined;
};
enum { RESOLVED_MAX = 8192 }; /* 1,537 as recorded, and what was inlined */
/* At most `max` frames, leaf first; *interpreter: the innermost code that is not a runtime's is the
 * interpreter. */
int frames_of(struct image *im, uint32_t stack, struct resolved *out, int max, int *interpreter);

/* Machine code that the innermost Python frame called, leaf first, with what frames_of() leaves out:
 * the interpreter's functions. 0: the stack has no Python frames. */
int frames_inner(struct image *im, uint32_t stack, struct resolved *out, int max);

/* The innermost frame with a line whose owner is `first` or one before it; else that of the next
 * owner that has one, down to libraries. NULL: none. */
const struct resolved *frames_line(const struct resolved *f, int n, enum owner first);
/* The innermost module that is not a runtime, else the innermost. NULL: none is known. */
const char *frames_module(const struct resolved *f, int n);

/* Lines of C that Cython has generated, and the lines of .pyx that they come from. */

/* Replaces file and line where the file is generated and tells the source of its line; *file lives
 * as long as the run. The file as recorded is read once. */
enum err cython_source(struct run *r, const char **file, int *line);
void cython_free(struct run *r);

#endif
