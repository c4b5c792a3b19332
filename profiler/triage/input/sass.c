/* Reads the mix of instructions that cuda/sass.py counted, and holds that of this project's own
 * kernels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "profiler/triage/input/sass.h"

/* float32, float64, special, loads, stores, shared, shuffles, branches, integer, other, flops; nvcc
 * 13.0, sm_90. Projections: one turn of the inner loop (two, where it is unrolled), cuda/sass.py
 * --walk with the words of docs/internals/cuda.md; the others: the busiest loop, cuda/sass.py
 * --json. */
static const struct own {
    const char *primitive;
    double units;
    struct sass_kernel k;
} own[] = {
    {"parallel_forward_project",
     8,
     {(char *)"gather_kernel<2, 8, straight>", 72, {16, 0, 0, 8, 0, 4, 0, 5, 8, 0, 32}}},
    {"parallel_back_project",
     16,
     {(char *)"spread_kernel<2, 8, straight_back>", 63, {32, 0, 0, 32, 0, 4, 0, 1, 13, 0, 64}}},
    {"parallel_hessian_diagonal",
     16,
     {(char *)"spread_kernel<2, 8, straight_back>", 63, {32, 0, 0, 32, 0, 4, 0, 1, 13, 0, 64}}},
    {"cone_forward_project",
     8,
     {(char *)"gather_kernel<3, 8, fan_forward>", 107, {169, 0, 13, 9, 0, 39, 0, 17, 73, 7, 231}}},
    {"cone_back_project",
     8,
     {(char *)"spread_kernel<3, 8, fan_back>", 87, {168, 0, 10, 27, 0, 39, 0, 14, 69, 7, 239}}},
    {"cone_hessian_diagonal",
     8,
     {(char *)"spread_kernel<3, 8, fan_back>", 87, {168, 0, 10, 27, 0, 39, 0, 14, 69, 7, 239}}},
    {"mbir_prior_and_updates",
     1,
     {(char *)"qggmrf_kernel", 30, {301, 0, 46, 8, 2, 0, 0, 42, 195, 62, 455}}},
    {"median_filter3d",
     4,
     {(char *)"median_kernel", 103, {332, 0, 0, 24, 4, 0, 0, 9, 187, 6, 332}}},
};

const struct sass_kernel *sass_own(const struct primitive *p, double *units)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].primitive, p->name)) {
            *units = own[i].units;
            return &own[i].k;
        }
    *units = (double)NAN;
    return NULL;
}

double sass_total(const struct sass_mix *m)
{
    return m->float32 + m->float64 + m->special + m->loads + m->stores + m->shared + m->shuffles +
           m->branches + m->integer + m->other;
}

const struct sass_kernel *sass_find(const struct sass *s, const struct primitive *p)
{
    const struct sass_kernel *best = NULL;
    for (int i = 0; i < s->count; i++) {
        const struct sass_kernel *k = &s->kernels[i];
        if (primitive_called(p, k->kernel) && (!best || k->loop.flops > best->loop.flops))
            best = k;
    }
    return best;
}

static double sass_number(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) && v->valuedouble >= 0 ? v->valuedouble : (double)NAN;
}

/* 0 when a count is missing. */
static int read_kernel(const cJSON *item, struct sass_kernel *k)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "kernel"),
                *loop = cJSON_GetObjectItemCaseSensitive(item, "loop");
    *k = (struct sass_kernel){.registers = sass_number(item, "registers")};
#define X(kind) k->loop.kind = sass_number(loop, #kind);
    SASS_KINDS(X)
#undef X
    if (!cJSON_IsString(name) || !(sass_total(&k->loop) > 0) || isnan(k->loop.flops))
        return 0;
    k->kernel = strdup(name->valuestring);
    return k->kernel != NULL;
}

static enum err sass_read_all(const cJSON *json, struct sass *out)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "kernels"),
                *arch = cJSON_GetObjectItemCaseSensitive(json, "arch");
    FAIL_IF(!cJSON_IsArray(all), ERR_INPUT,
            "no \"kernels\": it is not what `cuda/sass.py --json` writes");
    if (cJSON_IsString(arch))
        snprintf(out->arch, sizeof out->arch, "%s", arch->valuestring);
    out->kernels = calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *out->kernels);
    FAIL_IF(!out->kernels, ERR_MEMORY, "no memory for the mix of instructions");
    for (const cJSON *item = all->child; item; item = item->next)
        out->count += read_kernel(item, &out->kernels[out->count]);
    FAIL_IF(!out->count, ERR_INPUT, "no kernel in it has all its counts");
    return ERR_OK;
}

enum err sass_read(const char *path, struct sass *out)
{
    char *text;
    size_t bytes;
    *out = (struct sass){0};
    TRY(file_read_all(path, 1 << 26, &text, &bytes));
    cJSON *json = cJSON_ParseWithLength(text, bytes);
    enum err e = sass_read_all(json, out);
    cJSON_Delete(json);
    free(text);
    if (e)
        sass_free(out);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

void sass_free(struct sass *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->kernels[i].kernel);
    free(s->kernels);
    *s = (struct sass){0};
}
