/* Ranges, kernels and calls of CUDA by their number. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/report/text/text_parts.h"

struct calls_row {
    const char *kind, *name;
    const struct model_stat *time;
};

ARRAY_ORDER(most_first, struct calls_row, COMPARE(y->time->n, x->time->n));

enum err text_calls(const struct model *m, FILE *out, int colour, int top)
{
    const int most = m->ranges_count + m->kernels_count + m->apis_count;
    struct calls_row *rows = calloc((size_t)most + 1, sizeof *rows);
    int n = 0;
    FAIL_IF(!rows, ERR_MEMORY, "no memory left for the table of calls");
    for (int i = 0; i < m->ranges_count; i++)
        rows[n++] = (struct calls_row){"range", m->ranges[i].name, &m->ranges[i].time};
    for (int i = 0; i < m->kernels_count; i++)
        rows[n++] = (struct calls_row){"kernel", m->kernels[i].name, &m->kernels[i].time};
    for (int i = 0; i < m->apis_count; i++)
        rows[n++] = (struct calls_row){"CUDA", m->apis[i].name, &m->apis[i].time};
    qsort(rows, (size_t)n, sizeof *rows, most_first);
    fprintf(out, "\nMost often; functions are sampled, and their calls not counted\n");
    fprintf(out, "%s     calls    total s  median us  what%s\n", colour ? PLAIN_BOLD : "",
            colour ? PLAIN_END : "");
    for (int i = 0; i < n && i < top; i++) {
        const struct model_stat *t = rows[i].time;
        fprintf(out, "%10lld %10.4g %10.4g  %s ", (long long)t->n, t->total_s, 1e6 * t->median_s,
                rows[i].kind);
        for (const char *c = rows[i].name ? rows[i].name : ""; *c; c++)
            fputc((unsigned char)*c < 0x20 || *c == 0x7F ? ' ' : *c, out);
        fputc('\n', out);
    }
    free(rows);
    return ERR_OK;
}
