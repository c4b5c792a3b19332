/* The longest common subsequence of a file's lines before and after an edit. */
#include <stdlib.h>
#include <string.h>

#include "profiler/report/compare/compare_parts.h"

#define MOST_EDITS 2000     /* the record of a search takes its square times 8 bytes: 32 MB */
#define MOST_LINES 10000000 /* of a file; a larger number is damage */

static enum err file_lines(const struct model_file *f, const char ***out, int *length)
{
    *length = 0;
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line > *length && f->lines[i].line < MOST_LINES)
            *length = (int)f->lines[i].line;
    if (f && f->length > *length && f->length < MOST_LINES)
        *length = (int)f->length;
    *out = calloc((size_t)*length + 1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left for the comparison");
    for (int i = 0; f && i < f->source_count; i++)
        if (f->source[i].line >= 1 && f->source[i].line <= *length)
            (*out)[f->source[i].line] = f->source[i].text;
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line >= 1 && f->lines[i].line <= *length)
            (*out)[f->lines[i].line] = f->lines[i].text;
    return ERR_OK;
}

static int all_known(const char **text, int length)
{
    for (int i = 1; i <= length; i++)
        if (!text[i])
            return 0;
    return length > 0;
}

static void align_pair(struct align *x, int a, int b)
{
    x->to_b[a] = b;
    x->to_a[b] = a;
}

/* Aligns lines (from, from + n] of A with (from, from + m] of B. reached[k]: how far down A the
 * best path with so many edits came on diagonal k (A's line less B's); a copy of each round leads
 * back.
 */
static enum err align_search(struct align *x, int from, int n, int m)
{
    int most = n + m < MOST_EDITS ? n + m : MOST_EDITS, edits, found = 0;
    int width = 2 * most + 3, middle = most + 1;
    int *reached = calloc((size_t)width, sizeof *reached);
    int **rounds = calloc((size_t)most + 1, sizeof *rounds);
    enum err e = reached && rounds ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for the comparison");
    for (edits = 0; e == ERR_OK && edits <= most; edits++) {
        for (int k = -edits; k <= edits && !found; k += 2) {
            int down =
                k == -edits || (k != edits && reached[middle + k - 1] < reached[middle + k + 1]);
            int i = down ? reached[middle + k + 1] : reached[middle + k - 1] + 1, j = i - k;
            while (i < n && j < m && !strcmp(x->a[from + i + 1], x->b[from + j + 1]))
                i++, j++;
            reached[middle + k] = i;
            found = i >= n && j >= m;
        }
        rounds[edits] = malloc((size_t)(2 * edits + 1) * sizeof(int));
        if (!rounds[edits]) {
            e = FAIL(ERR_MEMORY, "no memory left for the comparison");
            break;
        }
        memcpy(rounds[edits], reached + middle - edits, (size_t)(2 * edits + 1) * sizeof(int));
        if (found)
            break;
    }
    int i = n, j = m;
    for (int d = edits; found && e == ERR_OK && d > 0; d--) {
        const int *before = rounds[d - 1] + d - 1; /* by diagonal */
        int k = i - j;
        int down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        int i0 = before[down ? k + 1 : k - 1], j0 = i0 - (down ? k + 1 : k - 1);
        for (; i > i0 + !down && j > j0 + down; i--, j--)
            align_pair(x, from + i, from + j);
        i = i0;
        j = j0;
    }
    for (; found && e == ERR_OK && i > 0 && j > 0; i--, j--)
        align_pair(x, from + i, from + j);
    for (int d = 0; rounds && d <= most; d++)
        free(rounds[d]);
    free(rounds);
    free(reached);
    return e;
}

static enum err by_text(struct align *x)
{
    int na = x->length_a, nb = x->length_b, head = 0, tail = 0;
    while (head < na && head < nb && !strcmp(x->a[head + 1], x->b[head + 1])) {
        head++;
        align_pair(x, head, head);
    }
    for (; tail < na - head && tail < nb - head && !strcmp(x->a[na - tail], x->b[nb - tail]);
         tail++)
        align_pair(x, na - tail, nb - tail);
    return align_search(x, head, na - head - tail, nb - head - tail);
}

enum err align_files(const struct model_file *a, const struct model_file *b, struct align *out)
{
    struct align x = {0};
    enum err e = file_lines(a, &x.a, &x.length_a);
    if (!e)
        e = file_lines(b, &x.b, &x.length_b);
    if (!e) {
        x.to_b = calloc((size_t)x.length_a + 1, sizeof *x.to_b);
        x.to_a = calloc((size_t)x.length_b + 1, sizeof *x.to_a);
        if (!x.to_a || !x.to_b)
            e = FAIL(ERR_MEMORY, "no memory left for the comparison");
    }
    x.by_text = !e && all_known(x.a, x.length_a) && all_known(x.b, x.length_b);
    if (x.by_text)
        e = by_text(&x);
    else
        for (int i = 1; !e && i <= x.length_a && i <= x.length_b; i++)
            align_pair(&x, i, i);
    if (e)
        align_free(&x);
    *out = x;
    return e;
}

void align_free(struct align *x)
{
    free(x->a);
    free(x->b);
    free(x->to_a);
    free(x->to_b);
    *x = (struct align){0};
}
