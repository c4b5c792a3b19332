/* Medians, phantoms, partitions and the rotation axis of tomoprof.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "host/api/call.h"
#include "host/recon/center/center.h"
#include "host/recon/partition.h"
#include "host/recon/synthetic.h"

static enum err compute_median(struct api_call *k)
{
    const int64_t *n = k->operands[0].a.shape;
    return k->be->ops->median3(k->be, n[0], n[1], n[2], &k->operands[0].buffer,
                               &k->operands[1].buffer);
}

tomoprof_status tomoprof_median_filter3d(tomoprof_context *c, const tomoprof_array *in,
                                         tomoprof_array *out)
{
    struct api_call k = {
        .context = c,
        .operands = {{"in", FORM_ANY, WAY_IN, in}, {"out", FORM_ALIKE, WAY_OUT, out}},
        .compute = compute_median};
    return call_run(&k);
}

/* ---- Phantoms ---- */

static enum err check_phantom(struct api_call *k)
{
    TRY(choice_check("name", k->options, PHANTOM_NAMES, k->result));
    FAIL_IF(!k->operands[0].array && !k->operands[1].array, ERR_USAGE,
            "x and y are NULL; pass one of them");
    return ERR_OK;
}

static enum err compute_phantom(struct api_call *k)
{
    return synthetic_phantom(k->be, (enum phantom)(*(int *)k->result), k->m, k->operands[0].host,
                             k->operands[1].host);
}

tomoprof_status tomoprof_phantom(tomoprof_context *c, const tomoprof_model *m, const char *name,
                                 tomoprof_array *x, tomoprof_array *y)
{
    int phantom;
    struct api_call k = {.context = c,
                         .model = m,
                         .needs_model = 1,
                         .on_host = 1,
                         .operands = {{"x", FORM_VOLUME, WAY_OUT, x, .optional = 1},
                                      {"y", FORM_SINOGRAM, WAY_OUT, y, .optional = 1}},
                         .check = check_phantom,
                         .compute = compute_phantom,
                         .options = name,
                         .result = &phantom};
    return call_run(&k);
}

/* ---- Noise ---- */

struct noise_call {
    double relative;
    int64_t seed;
};

static enum err check_noise(struct api_call *k)
{
    const struct noise_call *o = k->options;
    FAIL_IF(!(o->relative >= 0 && isfinite(o->relative)), ERR_USAGE,
            "relative=%g; expected a number of 0 or more", o->relative);
    return seed_check(o->seed);
}

static enum err compute_noise(struct api_call *k)
{
    const struct noise_call *o = k->options;
    const struct operand *y = &k->operands[0], *out = &k->operands[1];
    if (out->host != y->host)
        memcpy(out->host, y->host, (size_t)y->elements * sizeof(float));
    return synthetic_noise(k->be, o->relative, (uint32_t)o->seed, out->host, y->elements);
}

tomoprof_status tomoprof_add_noise(tomoprof_context *c, const tomoprof_array *y, double relative,
                                   int64_t seed, tomoprof_array *out)
{
    struct api_call k = {.context = c,
                         .on_host = 1,
                         .operands = {{"y", FORM_ANY, WAY_IN, y, .may_equal = 1 << 1},
                                      {"out", FORM_ALIKE, WAY_OUT, out}},
                         .check = check_noise,
                         .compute = compute_noise,
                         .options = &(struct noise_call){relative, seed}};
    return call_run(&k);
}

/* ---- Partitions ---- */

struct partition_call {
    const tomoprof_model *m;
    const char *method;
    int64_t seed, *subsets, *length;
    int32_t *indices;
    size_t room;
};

static enum err work_partition(void *state)
{
    const struct partition_call *p = state;
    int method;
    struct partition drawn = {0};
    FAIL_IF(!p->m || !p->subsets || !p->length || (p->room && !p->indices), ERR_USAGE,
            "%s is NULL; pass an address",
            !p->m         ? "m"
            : !p->subsets ? "subsets"
            : !p->length  ? "length"
                          : "indices");
    TRY(choice_check("method", p->method, PARTITION_NAMES, &method));
    TRY(seed_check(p->seed));
    FAIL_IF(*p->subsets < 1 || *p->subsets > INT32_MAX, ERR_USAGE,
            "subsets=%" PRId64 "; expected 1 to %d", *p->subsets, INT32_MAX);
    TRY(partition_draw(&p->m->m.volume, (enum partition_method)method, *p->subsets,
                       (uint32_t)p->seed, &drawn));
    const size_t all = (size_t)(drawn.subsets * drawn.length);
    if (p->room)
        memcpy(p->indices, drawn.indices, sizeof *p->indices * (all < p->room ? all : p->room));
    *p->subsets = drawn.subsets;
    *p->length = drawn.length;
    partition_free(&drawn);
    return ERR_OK;
}

tomoprof_status tomoprof_partition(tomoprof_context *c, const tomoprof_model *m, const char *method,
                                   int64_t seed, int64_t *subsets, int64_t *length,
                                   int32_t *indices, size_t room)
{
    return call_simple(c, work_partition,
                       &(struct partition_call){m, method, seed, subsets, length, indices, room});
}

/* ---- The rotation axis ---- */

struct center_call {
    const char *method;
    int chosen;
    double *channel, *score;
};

static enum err check_center(struct api_call *k)
{
    struct center_call *p = k->result;
    TRY(choice_check("method", p->method, CENTER_NAMES, &p->chosen));
    FAIL_IF(!p->channel, ERR_USAGE, "channel is NULL; pass the address of a double");
    FAIL_IF(k->m->scan.beam != BEAM_PARALLEL, ERR_USAGE,
            "m is not a model of parallel beams, for which the axis can be found");
    return ERR_OK;
}

static enum err compute_center(struct api_call *k)
{
    const struct center_call *p = k->result;
    const struct scan *s = &k->m->scan;
    const struct center_views views = {s->views, s->rows, s->channels, k->operands[0].host,
                                       s->angles};
    double channel, score;
    TRY(center_find(k->be, (enum center_method)(CENTER_REGISTRATION + p->chosen), &views, &channel,
                    &score));
    *p->channel = channel;
    if (p->score)
        *p->score = score;
    return ERR_OK;
}

tomoprof_status tomoprof_find_center(tomoprof_context *c, const tomoprof_model *m,
                                     const char *method, const tomoprof_array *y, double *channel,
                                     double *score)
{
    struct center_call p = {.method = method, .channel = channel, .score = score};
    struct api_call k = {.context = c,
                         .model = m,
                         .needs_model = 1,
                         .on_host = 1,
                         .operands = {{"y", FORM_SINOGRAM, WAY_IN, y}},
                         .check = check_center,
                         .compute = compute_center,
                         .result = &p};
    return call_run(&k);
}
