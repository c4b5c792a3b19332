/* Own lines that take most of a run, from its call tree of own code, and how they are named. */
#ifndef TP_FINDINGS_HOTSPOTS_H
#define TP_FINDINGS_HOTSPOTS_H

#include "profiler/analyze/model/model.h"

enum hotspots_of { HOTSPOTS_CPU, HOTSPOTS_GPU, HOTSPOTS_WAIT, HOTSPOTS_KINDS };
enum { HOTSPOTS_MAX = 8 };

struct hotspot {
    const struct model_own *at; /* its line, or its function where lines are unknown */
    double ns;                  /* of what was asked for, with everything that it calls */
    double path_ns;             /* part of the run's own time, computing or waiting */
    int of_function;            /* 1: no line dominates the function; `at` is its largest */
    int64_t first, last;        /* of a function: between these lines is most of its time */
};
struct hotspots {
    struct hotspot found[HOTSPOTS_MAX]; /* no time is in two of them; most first */
    int count;
    double total_ns; /* of all code, imports left out */
    int flat;        /* 1: no line and no function dominates; found has large lines alone */
    struct hotspot largest;
    int lines; /* of a flat profile: so many lines have shared_ns */
    double shared_ns;
};

/* The deepest functions that still hold most of what their callers hold, by their lines. Where the
 * calls branch, each large branch. ERR_MEMORY. */
enum err hotspots_find(const struct model *m, enum hotspots_of what, struct hotspots *out);

/* NULL: the model has none of that path. */
const struct model_file *hotspots_file(const struct model *m, const char *path);

/* NULL: the model has no such line. */
const struct model_line *own_line_of(const struct model *m, const char *path, int64_t line);
static inline int own_made_at_run_time(const struct model_own *at)
{
    return at->module && *at->module == '[';
}
/* "recon.py:12", or "waves (prog)" of a program without line tables. */
void own_place(const struct model_own *at, char out[300]);
/* The same with the text of the line, cut to some 50 bytes. */
void own_place_and_text(const struct model *m, const struct model_own *at, char out[400]);
/* "recon() (app.py:10 to 13)" of a function without a line that dominates it, else own_place(). */
void hotspot_name(const struct hotspot *s, char out[400]);

#endif
