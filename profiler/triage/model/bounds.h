/* A number that is known within bounds only, as the model's are: never a point. */
#ifndef TP_TRIAGE_MODEL_BOUNDS_H
#define TP_TRIAGE_MODEL_BOUNDS_H

struct bounds {
    double low, high; /* both NAN: unknown */
};

struct bounds bounds_of(double low, double high);
struct bounds bounds_over(struct bounds a, struct bounds b); /* the widest quotient */
struct bounds bounds_times(struct bounds a, double k);
double bounds_middle(struct bounds b); /* geometric */

#endif
