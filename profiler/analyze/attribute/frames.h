/* A recorded stack as frames with names and lines, native and Python ones in one chain. */
#ifndef TP_ANALYZE_ATTRIBUTE_FRAMES_H
#define TP_ANALYZE_ATTRIBUTE_FRAMES_H

#include "profiler/analyze/attribute/rules.h"
#include "profiler/analyze/state/image.h"

struct resolved {
    const char *function, *file, *module; /* file: as recorded, NULL unknown */
    int line, begins;
    enum frame_class class;
    int python, inlined, own; /* own: own.h */
};
enum { RESOLVED_MAX = 8192 }; /* 1,537 as recorded, and what was inlined */
/* At most `max` frames, leaf first; *interpreter: the innermost code that is not a runtime's is the
 * interpreter. */
int frames_of(struct image *im, uint32_t stack, struct resolved *out, int max, int *interpreter);

/* The innermost own line; else the innermost user's, else any with a line. NULL: none has one. */
const struct resolved *frames_own(const struct resolved *f, int n);

#endif
