/* Estimates which operations would benefit from an FPGA: from the times of a run (timing.json), its
 * profile (profile.json, optional) and a table of cards to verdicts with their reasons. */
#ifndef TP_TRIAGE_TRIAGE_H
#define TP_TRIAGE_TRIAGE_H

#include <stdio.h>

#include "profiler/triage/model/fpga.h"
#include "profiler/triage/verdict/candidate.h"

#define TRIAGE_SCHEMA   "tomoprof-triage/1"
#define CANDIDATES_MOST 64

struct triage_options {
    const char *cards;   /* "u55c,v80", NULL: all */
    const char *weights; /* path of a JSON object, NULL: defaults */
    double size;         /* edge N; 0: the largest that was measured */
    const char *version; /* of the tool, for the file */
    const char *sass;    /* path of what cuda/sass.py --json wrote, NULL: none */
};

struct triage {
    struct timing timing;
    struct model *profile; /* NULL: none */
    struct sass sass;
    struct workloads workloads;
    struct weights weights;
    const struct card *cards[CARDS_MOST];
    int cards_count;
    struct inputs inputs;
    struct candidate pool[CANDIDATES_MOST];        /* in the order of the primitives */
    struct candidate *candidates[CANDIDATES_MOST]; /* those of the pool by verdict, then score */
    int candidates_count;
    struct pipeline pipelines[CARDS_MOST]; /* of each card */
    struct notes notes;
    char headline[512];
    const char *version;
};

/* Either path may be NULL, not both. ERR_USAGE when only a profile is given and no size. The result
 * is large and freed with triage_destroy. */
enum err triage_make(const char *timing, const char *profile, const struct triage_options *o,
                     struct triage **out);
void triage_destroy(struct triage *t);

enum err triage_write_json(const struct triage *t, FILE *out);
enum err triage_write_markdown(const struct triage *t, FILE *out);
enum err triage_write_svg(const struct triage *t, FILE *out);

#endif
