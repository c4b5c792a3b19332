/* Medians, phantoms, partitions and the rotation axis of tomoprof.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "host/api/call.h"
#include "host/geom/phantom.h"
#include "host/recon/center/center.h"
#include "host/recon/partition.h"

/* The place of a name in a list; -1 where it has none. */
static int name_index(const char *name, const char *const *names, int count)
{
    for (int i = 0; name && i < count; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

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
    static const char *const names[] = {
        [PHANTOM_TWO_ELLIPSOIDS] = "two-ellipsoids", [PHANTOM_SHEPP_LOGAN] = "shepp-logan"};
    const char *name = k->options;
    *(int *)k->result = name_index(name, names, 2);
    FAIL_IF(*(int *)k->result < 0, ERR_USAGE, "name=%.60s; expected two-ellipsoids or shepp-logan",
            name ? name : "NULL");
    FAIL_IF(!k->operands[0].array && !k->operands[1].array, ERR_USAGE,
            "x and y are NULL; pass one of them");
    return ERR_OK;
}

static enum err compute_phantom(struct api_call *k)
{
    struct ellipsoid e[PHANTOM_MAX];
    const int n = phantom_ellipsoids(*(enum phantom *)k->result, &k->m->volume, e);
    if (k->operands[0].array)
        phantom_fill(e, n, &k->m->volume, k->operands[0].host);
    if (k->operands[1].array)
        phantom_project(e, n, &k->m->scan, k->operands[1].host);
    return ERR_OK;
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
    static const char *const names[] = {"random", "grid", "blue_noise"};
    static enum err (*const draw[])(const struct volume *, int64_t, struct rng *,
                                    struct partition *) = {
        partition_create_inside, partition_create_grid, partition_create_blue_noise};
    const struct partition_call *p = state;
    const int method = name_index(p->method, names, 3);
    struct partition drawn = {0};
    struct rng r;
    FAIL_IF(!p->m || !p->subsets || !p->length || (p->room && !p->indices), ERR_USAGE,
            "%s is NULL; pass an address",
            !p->m         ? "m"
            : !p->subsets ? "subsets"
            : !p->length  ? "length"
                          : "indices");
    FAIL_IF(method < 0, ERR_USAGE, "method=%.60s; expected random, grid or blue_noise",
            p->method ? p->method : "NULL");
    FAIL_IF(p->seed < 0 || p->seed > UINT32_MAX, ERR_USAGE,
            "seed=%" PRId64 "; expected 0 to 4294967295", p->seed);
    FAIL_IF(*p->subsets < 1 || *p->subsets > INT32_MAX, ERR_USAGE,
            "subsets=%" PRId64 "; expected 1 to %d", *p->subsets, INT32_MAX);
    rng_seed(&r, (uint32_t)p->seed);
    TRY(draw[method](&p->m->m.volume, *p->subsets, &r, &drawn));
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
enum { CENTER_REGISTRATION, CENTER_ENTROPY, CENTER_SYMMETRY, CENTERS };

static enum err check_center(struct api_call *k)
{
    static const char *const names[CENTERS] = {"registration", "entropy", "symmetry"};
    struct center_call *p = k->result;
    p->chosen = name_index(p->method, names, CENTERS);
    FAIL_IF(p->chosen < 0, ERR_USAGE, "method=%.60s; expected registration, entropy or symmetry",
            p->method ? p->method : "NULL");
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
    double channel, score = NAN;
    if (p->chosen == CENTER_REGISTRATION)
        TRY(center_registration(&views, &channel, &score));
    else
        TRY((p->chosen == CENTER_ENTROPY ? center_entropy : center_symmetry)(k->be, &views,
                                                                             &channel));
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
