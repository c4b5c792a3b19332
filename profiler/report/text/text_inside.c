/* Lines inside kernels, on a terminal. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/text/text.h"

enum { PLACE_COLUMNS = 20 };

/* "project.cu:15 at 25", the second the line that it was inlined into; its end where it is longer. */
static void inside_place(FILE *out, const struct model_device_line *l)
{
    char place[300];
    snprintf(place, sizeof place, "%s:%lld", base_name(l->file), (long long)l->line);
    if (l->called_at_count && l->called_at[0].line > 0)
        text_append(place, sizeof place, " at %lld", (long long)l->called_at[0].line);
    const size_t n = strlen(place);
    for (char *c = place; *c; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7F ? ' ' : *c;
    plain_print(out, "%-*s", PLACE_COLUMNS, n > PLACE_COLUMNS ? place + n - PLACE_COLUMNS : place);
}

static void inside_number(FILE *out, int width, int digits, double value)
{
    if (isfinite(value))
        fprintf(out, "%*.*f ", width, digits, value);
    else
        plain_print(out, "%*s ", width, "?");
}

void text_inside(const struct model *m, FILE *out, int colour, int top)
{
    int shown = 0;
    for (int i = 0; i < m->device_lines_count && shown < top; i++) {
        const struct model_device_line *l = &m->device_lines[i];
        if (!l->file || !(l->share > 0))
            continue;
        if (!shown++)
            fprintf(out,
                    "\n%s kernel s  of it  line inside a kernel and what its warps do there%s\n",
                    colour ? PLAIN_BOLD : "", colour ? PLAIN_END : "");
        inside_number(out, 9, 4, l->s);
        inside_number(out, 5, 1, 100 * l->share);
        fputs("% ", out);
        inside_place(out, l);
        if (l->stalls_count)
            plain_print(out, " %3.0f%% %s", 100 * (double)l->stalls[0].samples / (double)l->samples,
                        l->stalls[0].meaning);
        fputs("\n", out);
    }
}
