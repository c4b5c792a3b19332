/* The interval in which the ratio of two samples of times lies, and the verdict on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/report/compare/compare.h"
#include "profiler/report/compare/compare_parts.h"

/* Exact ranks up to so many times a side; with more, only the first ones count. */
#define MOST 40

/* Student's t, two-sided 99 %, by degrees of freedom from 1 on; above 30 the value for 30, which is
 * at most 7 % too wide. */
static double student_t(int freedom)
{
    static const double t[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355,
                               3.250,  3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921,
                               2.898,  2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797,
                               2.787,  2.779, 2.771, 2.763, 2.756, 2.750};
    return t[(freedom < 30 ? freedom : 30) - 1];
}

/* Mann and Whitney: how many of the differences that lie lowest (and highest) are outside of the
 * 99 % interval of the shift; 0: too few times to say so much. ways[i][u]: orders of i times of one
 * side among those of the other in which u pairs stand the other way round. */
static int ranks_outside(int na, int nb)
{
    double(*ways)[MOST * MOST + 1] = calloc(MOST + 1, sizeof *ways);
    if (!ways)
        return 0;
    for (int i = 0; i <= na; i++)
        ways[i][0] = 1;
    for (int j = 1; j <= nb; j++) /* the last of all is B's j-th, or one of A's behind j of B */
        for (int i = 1; i <= na; i++)
            for (int u = j; u <= i * j; u++)
                ways[i][u] += ways[i - 1][u - j];
    double all = 0, below = 0;
    for (int u = 0; u <= na * nb; u++)
        all += ways[na][u];
    int k = 0;
    while (k <= na * nb && (below += ways[na][k]) <= 0.005 * all)
        k++;
    free(ways);
    return k;
}

static void by_ranks(const double *a, int na, const double *b, int nb, int cut, double *low,
                     double *high)
{
    double differences[MOST * MOST];
    int n = 0;
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
            differences[n++] = log(b[j]) - log(a[i]);
    qsort(differences, (size_t)n, sizeof *differences, ascending_double);
    *low = exp(differences[cut - 1]);
    *high = exp(differences[n - cut]);
}

static double mean_log(const double *x, int n, double *squares)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += log(x[i]) / n;
    for (int i = 0; i < n; i++)
        *squares += (log(x[i]) - sum) * (log(x[i]) - sum);
    return sum;
}

static void by_student(const double *a, int na, const double *b, int nb, double *low, double *high)
{
    double squares = 0;
    double shift = -mean_log(a, na, &squares);
    shift += mean_log(b, nb, &squares);
    int freedom = na + nb - 2;
    double half = student_t(freedom) * sqrt(squares / freedom * (1.0 / na + 1.0 / nb));
    *low = exp(shift - half);
    *high = exp(shift + half);
}

void compare_interval(const double *a, int na, const double *b, int nb, double *low, double *high)
{
    *low = *high = NAN;
    if (na < 2 || nb < 2)
        return;
    na = na < MOST ? na : MOST;
    nb = nb < MOST ? nb : MOST;
    int cut = ranks_outside(na, nb);
    if (cut)
        by_ranks(a, na, b, nb, cut, low, high);
    else
        by_student(a, na, b, nb, low, high);
}

const char *compare_verdict_name(enum compare_verdict v)
{
    static const char *const names[] = {"unchanged", "faster",  "slower", "undecided", "only in A",
                                        "only in B", "removed", "added",  "gone",      "new"};
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

double compare_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending_double);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* The interval should leave 1 behind, or come close to it: its half width shrinks as one over the
 * root of the runs. */
int compare_runs_needed(double ratio, double low, double high, int runs)
{
    if (isnan(low))
        return 2;
    double shift = fabs(log(ratio)), half = 0.5 * log(high / low);
    double room = fmax(shift - log1p(COMPARE_LEAST), log1p(COMPARE_CLOSE) - shift);
    double wanted = runs * half * half / (room * room);
    return room > 0 && wanted <= 50 ? (int)fmax(ceil(wanted), runs + 1) : 0;
}

/* Unchanged is what an error leaves no room for a change of a tenth. */
enum compare_verdict compare_judge_difference(double a, double b, double error)
{
    double d = b - a, most = fmax(a, b), least = fmax(3 * error, COMPARE_LEAST * most);
    if (fabs(d) > least)
        return d > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
    return d == 0 || fabs(d) + 3 * error <= COMPARE_CLOSE * most ? COMPARE_SAME : COMPARE_UNDECIDED;
}
