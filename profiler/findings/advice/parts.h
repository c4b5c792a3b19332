/* Divides a line's CPU time by its work, with all that it calls: "35 % inflating, 32 % page faults". */
#ifndef TP_FINDINGS_ADVICE_PARTS_H
#define TP_FINDINGS_ADVICE_PARTS_H

#include "profiler/findings/hotspots.h"

enum { PARTS_MAX = 24 };
#define PART_LEAST 0.1 /* of the line's time: smaller parts are not told */

struct line_parts {
    struct line_part {
        const char *kind, *what; /* as in model_work */
        double share;            /* 0..1 of the line's time */
    } list[PARTS_MAX];           /* largest first */
    int count;
};

/* Divides a line or, as the hotspot has it, a function. Its time decides whether lines below are part
 * of it. ERR_MEMORY. */
enum err line_parts(const struct model *m, const struct hotspot *line, struct line_parts *out);

/* Share of the kinds that begin with `kind`. */
double line_parts_share(const struct line_parts *p, const char *kind);

/* The two or three largest parts; "" where these tell no more than the line does. */
void line_parts_text(const struct line_parts *p, char *out, size_t room);

#endif
