/* Operations of the suite that have no model of a card: what is known of their work, and why. */
#ifndef TP_TRIAGE_MODEL_UNMODELLED_H
#define TP_TRIAGE_MODEL_UNMODELLED_H

struct unmodelled {
    const char *name;   /* may hold * */
    const char *access; /* as `tomoprof run --list` has it */
    const char *flops;  /* what the floating-point operations are counted by; NULL: not counted */
    const char *reason; /* why it has none; where flops is NULL, why not */
};

/* NULL: nothing is known of an operation of that name. */
const struct unmodelled *unmodelled_named(const char *name);

#endif
