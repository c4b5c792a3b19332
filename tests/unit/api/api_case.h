/* A context and a model of tomoprof.h for a test, with arrays from tests/data/goldens. */
#ifndef TP_TESTS_UNIT_API_CASE_H
#define TP_TESTS_UNIT_API_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tomoprof.h>

#include "base/memory.h"
#include "host/store/format/npy.h"
#include "tests/unit/check.h"

#define GOLDENS  "/goldens"
#define API_DATA (getenv("TP_DATA") ? getenv("TP_DATA") : TP_DATA)

struct api_case {
    tomoprof_context *c;
    tomoprof_model *m;
    const char *name; /* the golden's folder */
    int64_t volume[3], sinogram[3];
};

#define api_ok(a, call)                                                                            \
    do {                                                                                           \
        if (call)                                                                                  \
            fail_msg("%s: %s", #call, tomoprof_error((a)->c));                                     \
    } while (0)

/* The call fails with that status, and its sentence holds `part`. */
#define api_fails(a, status, part, call)                                                           \
    do {                                                                                           \
        assert_int_equal(call, status);                                                            \
        if (!strstr(tomoprof_error((a)->c), part))                                                 \
            fail_msg("\"%s\" does not hold \"%s\"", tomoprof_error((a)->c), part);                 \
    } while (0)

static inline void api_open(struct api_case *a, const char *name)
{
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    char path[500];
    *a = (struct api_case){.name = name};
    o.backend = "cpu";
    o.threads = 2;
    if (tomoprof_context_create(&o, &a->c))
        fail_msg("%s", tomoprof_error(NULL));
    snprintf(path, sizeof path, "%s" GOLDENS "/%s/geometry.json", API_DATA, name);
    api_ok(a, tomoprof_model_read(a->c, path, &a->m));
    tomoprof_model_volume_shape(a->m, a->volume);
    tomoprof_model_sinogram_shape(a->m, a->sinogram);
}

/* A scan of n views of n x n. */
static inline void api_open_size(struct api_case *a, const char *geometry, int n, int threads)
{
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    char json[40000];
    const double turn = *geometry == 'c' ? 2 * M_PI : M_PI;
    *a = (struct api_case){0};
    o.backend = "cpu";
    o.threads = threads;
    if (tomoprof_context_create(&o, &a->c))
        fail_msg("%s", tomoprof_error(NULL));
    int at =
        snprintf(json, sizeof json, "{\"geometry\": \"%s\", \"sinogram_shape\": [%d, %d, %d], ",
                 geometry, n, n, n);
    if (*geometry == 'c')
        at += snprintf(json + at, sizeof json - (size_t)at,
                       "\"source_detector_dist\": %d, \"source_iso_dist\": %d, ", 4 * n, 2 * n);
    for (int v = 0; v < n; v++)
        at += snprintf(json + at, sizeof json - (size_t)at, "%s%.9g", v ? "," : "\"angles\": [",
                       v * turn / n);
    strcat(json, "]}");
    api_ok(a, tomoprof_model_parse(a->c, json, strlen(json), &a->m));
    tomoprof_model_volume_shape(a->m, a->volume);
    tomoprof_model_sinogram_shape(a->m, a->sinogram);
}

static inline void api_close(struct api_case *a)
{
    tomoprof_model_free(a->m);
    tomoprof_context_free(a->c);
}

static inline int64_t api_count(const int64_t shape[3])
{
    return shape[0] * shape[1] * shape[2];
}

/* An array of the golden; NULL where it has none. */
static inline float *api_golden(const struct api_case *a, const char *array, const int64_t shape[3])
{
    static const char *const names[] = {"first size", "second size", "third size"};
    char path[500];
    float *data = NULL;
    int64_t expected[3] = {shape[0], shape[1], shape[2]};
    snprintf(path, sizeof path, "%s" GOLDENS "/%s/%s.npy", API_DATA, a->name, array);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fclose(f);
    assert_int_equal(npy_read(path, 3, expected, names, 1, &data), ERR_OK);
    return data;
}

/* Memory that nobody has written. */
static inline float *api_floats(const int64_t shape[3])
{
    const size_t n = (size_t)api_count(shape);
    float *p = malloc(n * sizeof *p);
    assert_non_null(p);
    memset(p, 0x7f, n * sizeof *p);
    return p;
}

static inline tomoprof_array api_array(void *data, const int64_t n[3])
{
    tomoprof_array a = TOMOPROF_ARRAY(data, TOMOPROF_FLOAT32, n[0], n[1], n[2]);
    return a;
}

#endif
