/* Times of operations and the judgement that triage makes of them, for its tests. */
#ifndef TP_TESTS_UNIT_TRIAGE_CASE_H
#define TP_TESTS_UNIT_TRIAGE_CASE_H

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "profiler/triage/triage.h"

struct row {
    const char *operation;
    double size, time;
};

static char path[64];

static inline void write_text(const char *text)
{
    strcpy(path, "/tmp/test_triage_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static inline void write_rows(const struct row *rows, int n, int without)
{
    char text[8192];
    int at =
        snprintf(text, sizeof text,
                 "{\"environment\": {\"backend\": \"cpu\", \"threads\": 2}, \"measurements\": [");
    const char *comma = "";
    for (int i = 0; i < n; i++) {
        if (i == without)
            continue;
        at +=
            snprintf(text + at, sizeof text - (size_t)at,
                     "%s{\"operation\": \"%s\", \"volume_size\": %g, \"run\": 1, \"time\": %.17g}",
                     comma, rows[i].operation, rows[i].size, rows[i].time);
        comma = ", ";
    }
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    write_text(text);
}

static inline struct triage *triage_of(const struct row *rows, int n, int without,
                                       const char *weights)
{
    char file[64] = "";
    struct triage *t;
    if (weights) {
        write_text(weights);
        strcpy(file, path);
    }
    write_rows(rows, n, without);
    const struct triage_options o = {.weights = weights ? file : NULL, .version = "test"};
    enum err e = triage_make(path, NULL, &o, &t);
    unlink(path);
    if (weights)
        unlink(file);
    if (e)
        fail_msg("%s", err_text());
    return t;
}

static inline const struct candidate *find(const struct triage *t, const char *name)
{
    for (int i = 0; i < t->candidates_count; i++)
        if (!strcmp(t->candidates[i]->primitive->name, name))
            return t->candidates[i];
    return NULL;
}

/* As a CPU of two threads has them at 256^3. */
static const struct row whole[] = {
    {"cone_forward_project", 256, 0.41},  {"cone_back_project", 256, 0.38},
    {"cone_hessian_diagonal", 256, 0.54}, {"cone_fdk_filter", 256, 0.01},
    {"gen_pixel_partition", 256, 0.001},  {"cone_mbir_recon", 256, 4.4},
    {"cone_fdk_recon", 256, 0.4},         {"median_filter3d", 256, 0.01},
};
#define WHOLE (int)(sizeof whole / sizeof *whole)

#endif
