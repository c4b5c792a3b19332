/* Growth of time with the edge N of the volume: t = a + b N^p. */
#ifndef TP_SUITE_STATISTICS_FIT_H
#define TP_SUITE_STATISTICS_FIT_H

/* a, b >= 0, 0 <= p <= FIT_P_MAX; NAN where unknown, and `reason` then says why (else NULL). r2 is
 * the share of the variance of t explained. Residuals are relative to t (times span decades, each
 * size counts the same). */
struct fit {
    double a, b, p, r2;
    int sizes;
    const char *reason;
};

#define FIT_P_MAX 8

/* size[i] > 0 ascending and distinct, seconds[i] > 0. Needs 3 sizes. */
struct fit fit_power(const double *size, const double *seconds, int n);

#endif
