/* Compares what two runs of a program printed, by lines: some changed, are missing or are new. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/trial/trial.h"

#define OUTPUT_LIMIT ((size_t)256 << 20)
/* Limits the table that aligns lines to 8 MB. Where more lines lie between the first and the last
 * difference, they are compared by their numbers. */
#define CELLS_MOST ((size_t)4 << 20)
enum { SHOWN = 100 };

struct output_line {
    const char *text;
    size_t length;
};

struct output_text {
    char *data;
    size_t bytes;
    VECTOR(struct output_line) lines;
};

/* Counts lines by what became of them, and describes the first. */
struct output_changes {
    size_t changed, missing, added;
    char first[3 * SHOWN];
};

static enum err output_read(const char *folder, struct output_text *o)
{
    char path[RUN_PATH + 16];
    snprintf(path, sizeof path, "%s/stdout", folder);
    TRY(file_read_all(path, OUTPUT_LIMIT, &o->data, &o->bytes));
    for (const char *at = o->data, *end = at + o->bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        TRY(vector_add(&o->lines, ((struct output_line){at, length})));
        at += length + 1;
    }
    return ERR_OK;
}

static int lines_equal(const struct output_line *a, const struct output_line *b)
{
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

/* Returns how much of a line is shown. */
static int line_shown(const struct output_line *at)
{
    return (int)(at->length < SHOWN ? at->length : SHOWN);
}

/* Takes n lines in place of k: pairs changed, the rest is missing or new. `number`: of the first,
 * from 0. */
static void changes_add(struct output_changes *t, const struct output_line *a, size_t number,
                        size_t n, const struct output_line *b, size_t k)
{
    const size_t pairs = n < k ? n : k;
    if (!*t->first && pairs)
        snprintf(t->first, sizeof t->first, "line %zu is `%.*s` in place of `%.*s`", number + 1,
                 line_shown(b), b->text, line_shown(a), a->text);
    else if (!*t->first && n)
        snprintf(t->first, sizeof t->first, "line %zu is missing: `%.*s`", number + 1,
                 line_shown(a), a->text);
    else if (!*t->first && k)
        snprintf(t->first, sizeof t->first, "a line is new after line %zu: `%.*s`", number,
                 line_shown(b), b->text);
    t->changed += pairs;
    t->missing += n - pairs;
    t->added += k - pairs;
}

/* Aligns n lines with k by the longest common subsequence, of which `length` has a row for each line of
 * a and a column for each of b, one more of both. */
static void lines_align(struct output_changes *t, const struct output_line *a, size_t number,
                        size_t n, const struct output_line *b, size_t k, uint16_t *length)
{
    const size_t row = k + 1;
    for (size_t i = n; i-- > 0;)
        for (size_t j = k; j-- > 0;) {
            const uint16_t down = length[(i + 1) * row + j], right = length[i * row + j + 1];
            length[i * row + j] = lines_equal(a + i, b + j)
                                      ? (uint16_t)(length[(i + 1) * row + j + 1] + 1)
                                  : down > right ? down
                                                 : right;
        }
    for (size_t i = 0, j = 0; i < n || j < k;) {
        const size_t from = i, to = j;
        while ((i < n || j < k) && !(i < n && j < k && lines_equal(a + i, b + j))) {
            const int down =
                i < n && (j == k || length[(i + 1) * row + j] >= length[i * row + j + 1]);
            i += down ? 1 : 0;
            j += down ? 0 : 1;
        }
        changes_add(t, a + from, number + from, i - from, b + to, j - to);
        i += i < n;
        j += j < k;
    }
}

/* Compares what lies between the first and the last difference. */
static enum err outputs_compare(const struct output_text *a, const struct output_text *b,
                                struct output_changes *t)
{
    const struct output_line *x = a->lines.items, *y = b->lines.items;
    size_t n = a->lines.count, k = b->lines.count, same = 0;
    while (same < n && same < k && lines_equal(x + same, y + same))
        same++;
    while (n > same && k > same && lines_equal(x + n - 1, y + k - 1))
        n--, k--;
    n -= same;
    k -= same;
    if (!n || !k || (n + 1) > CELLS_MOST / (k + 1)) {
        const size_t pairs = n < k ? n : k;
        for (size_t i = 0; i < pairs; i++)
            if (!lines_equal(x + same + i, y + same + i))
                changes_add(t, x + same + i, same + i, 1, y + same + i, 1);
        changes_add(t, x + same + pairs, same + pairs, n - pairs, y + same + pairs, k - pairs);
        return ERR_OK;
    }
    uint16_t *length = calloc((n + 1) * (k + 1), sizeof *length);
    FAIL_IF(!length, ERR_MEMORY, "no memory to compare %zu lines with %zu", n, k);
    lines_align(t, x + same, same, n, y + same, k, length);
    free(length);
    return ERR_OK;
}

/* "; 2 lines are changed, 1 is missing" where that is more than the first. */
static void changes_text(const struct output_changes *t, char text[400])
{
    const struct {
        size_t count;
        const char *what;
    } parts[] = {{t->changed, "changed"}, {t->missing, "missing"}, {t->added, "new"}};
    const char *before = "; ", *noun = " line";
    snprintf(text, 400, "%s", t->first);
    if (t->changed + t->missing + t->added < 2)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].count)
            continue;
        const int one = parts[i].count == 1;
        text_append(text, 400, "%s%zu%s%s %s %s", before, parts[i].count, noun,
                    one || !*noun ? "" : "s", one ? "is" : "are", parts[i].what);
        before = ", ";
        noun = "";
    }
}

enum err trial_output(const struct trial_stage *a, const struct trial_stage *b, char text[400])
{
    struct output_text first = {0}, second = {0};
    struct output_changes changes = {0};
    *text = 0;
    enum err e = output_read(a->folder, &first);
    if (!e)
        e = output_read(b->folder, &second);
    if (!e && (first.bytes != second.bytes || memcmp(first.data, second.data, first.bytes))) {
        e = outputs_compare(&first, &second, &changes);
        changes_text(&changes, text);
        if (!e && !*text)
            snprintf(text, 400, "the last line has %s end",
                     first.bytes > second.bytes ? "lost its" : "got an");
    }
    vector_free(&first.lines);
    vector_free(&second.lines);
    free(first.data);
    free(second.data);
    return e;
}
