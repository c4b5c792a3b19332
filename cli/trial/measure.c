/* Measures what two recordings of the program differ in: time of a line, and what was printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/trial/trial.h"
#include "profiler/analyze/model/model.h"

#define OUTPUT_LIMIT ((size_t)256 << 20)

/* 1: the path ends with that key of the profile's files. */
static int path_is_key(const char *path, const char *key)
{
    const size_t n = strlen(path), k = strlen(key);
    return text_ends(path, key) && (n == k || path[n - k - 1] == '/');
}

double trial_line_s(const struct model *m, const char *file, int64_t line)
{
    double ns = 0;
    if (!m || !file)
        return (double)NAN;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        if (o->line == line && o->file && path_is_key(file, o->file))
            ns += (double)o->path_cpu_ns + (double)o->path_wait_ns;
    }
    return 1e-9 * ns;
}

/* Returns the length of the line at `at`. */
static size_t line_length(const char *at)
{
    return strcspn(at, "\n");
}

/* Puts the first different lines into `text`, and counts them. */
static void outputs_compare(const char *a, const char *b, char text[400])
{
    int number = 0, differ = 0;
    while (*a || *b) {
        const size_t n = line_length(a), k = line_length(b);
        number++;
        if ((n != k || memcmp(a, b, n)) && !differ++)
            snprintf(text, 300, "line %d is `%.*s` in place of `%.*s`", number,
                     (int)(k < 100 ? k : 100), b, (int)(n < 100 ? n : 100), a);
        a += n + (a[n] != 0);
        b += k + (b[k] != 0);
    }
    if (differ > 1)
        text_append(text, 400, "; %d of %d lines differ", differ, number);
}

enum err trial_output(const struct trial_stage *a, const struct trial_stage *b, char text[400])
{
    char path[RUN_PATH + 16], *first = NULL, *second = NULL;
    size_t n, k;
    *text = 0;
    snprintf(path, sizeof path, "%s/stdout", a->folder);
    TRY(file_read_all(path, OUTPUT_LIMIT, &first, &n));
    snprintf(path, sizeof path, "%s/stdout", b->folder);
    const enum err e = file_read_all(path, OUTPUT_LIMIT, &second, &k);
    if (!e && (n != k || memcmp(first, second, n))) {
        outputs_compare(first, second, text);
        if (!*text)
            snprintf(text, 400, "the bytes differ");
    }
    free(first);
    free(second);
    return e;
}
