/* Names of verdicts, and the verdict on an interval. */
#include <math.h>

#include "profiler/report/compare/compare_parts.h"

const char *compare_verdict_name(enum compare_verdict v)
{
    static const char *const names[] = {"unchanged", "faster",    "slower",  "undecided",
                                        "only in A", "only in B", "removed", "added"};
    return names[v];
}

enum compare_verdict compare_judge(double low, double high)
{
    return isnan(low)                                                    ? COMPARE_UNDECIDED
           : low > 1 + COMPARE_LEAST                                     ? COMPARE_SLOWER
           : high < 1 - COMPARE_LEAST                                    ? COMPARE_FASTER
           : low >= 1 / (1 + COMPARE_CLOSE) && high <= 1 + COMPARE_CLOSE ? COMPARE_SAME
                                                                         : COMPARE_UNDECIDED;
}
