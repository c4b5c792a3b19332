/* Projections, Hessian diagonal and filters of tomoprof.h. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "host/api/call.h"

#define VOLUME(name, array)                                                                        \
    {                                                                                              \
        name, FORM_VOLUME, WAY_IN, array                                                           \
    }
#define SINOGRAM(name, array)                                                                      \
    {                                                                                              \
        name, FORM_SINOGRAM, WAY_IN, array                                                         \
    }
#define TO_VOLUME(name, array)                                                                     \
    {                                                                                              \
        name, FORM_VOLUME, WAY_OUT, array                                                          \
    }
#define TO_SINOGRAM(name, array)                                                                   \
    {                                                                                              \
        name, FORM_SINOGRAM, WAY_OUT, array                                                        \
    }
#define PLACED(kind) .needs_model = 1, .places = 1, .op = kind

static enum err compute_forward(struct api_call *k)
{
    return forward_project(k->be, k->m, &k->operands[0].buffer, &k->operands[1].buffer);
}

tomoprof_status tomoprof_forward_project(tomoprof_context *c, const tomoprof_model *m,
                                         const tomoprof_array *x, tomoprof_array *y)
{
    struct api_call k = {.context = c,
                         .model = m,
                         .operands = {VOLUME("x", x), TO_SINOGRAM("y", y)},
                         .compute = compute_forward,
                         PLACED(RECON_FORWARD)};
    return call_run(&k);
}

static enum err compute_back(struct api_call *k)
{
    return back_project(k->be, k->m, &k->operands[0].buffer, &k->operands[1].buffer);
}

tomoprof_status tomoprof_back_project(tomoprof_context *c, const tomoprof_model *m,
                                      const tomoprof_array *y, tomoprof_array *x)
{
    struct api_call k = {.context = c,
                         .model = m,
                         .operands = {SINOGRAM("y", y), TO_VOLUME("x", x)},
                         .compute = compute_back,
                         PLACED(RECON_BACK)};
    return call_run(&k);
}

static enum err compute_hessian(struct api_call *k)
{
    return hessian_diagonal(k->be, k->m, operand_buffer(&k->operands[0]), &k->operands[1].buffer);
}

tomoprof_status tomoprof_hessian_diagonal(tomoprof_context *c, const tomoprof_model *m,
                                          const tomoprof_array *weights, tomoprof_array *h)
{
    struct api_call k = {
        .context = c,
        .model = m,
        .operands = {{"weights", FORM_SINOGRAM, WAY_IN, weights, .optional = 1}, TO_VOLUME("h", h)},
        .compute = compute_hessian,
        PLACED(RECON_HESSIAN)};
    return call_run(&k);
}

static enum err compute_filter(struct api_call *k)
{
    return direct_filter(k->be, k->m, &k->operands[0].buffer, &k->operands[1].buffer);
}

tomoprof_status tomoprof_direct_filter(tomoprof_context *c, const tomoprof_model *m,
                                       const tomoprof_array *y, tomoprof_array *out)
{
    struct api_call k = {
        .context = c,
        .model = m,
        .operands = {{"y", FORM_SINOGRAM, WAY_IN, y, .may_equal = 1 << 1}, TO_SINOGRAM("out", out)},
        .compute = compute_filter,
        PLACED(RECON_FILTER)};
    return call_run(&k);
}

/* ---- Some pixels ---- */

struct some_pixels {
    const int32_t *pixels;
    size_t count;
    int power;
};

static enum err check_pixels(struct api_call *k)
{
    const struct some_pixels *p = k->options;
    const int64_t all = volume_pixels(&k->m->volume);
    FAIL_IF(!p->pixels, ERR_USAGE, "pixels is NULL; pass the indices of %zu pixels", p->count);
    FAIL_IF(p->power != 1 && p->power != 2, ERR_USAGE, "power=%d; expected 1 or 2", p->power);
    for (size_t i = 0; i < p->count; i++)
        FAIL_IF(p->pixels[i] < 0 || p->pixels[i] >= all, ERR_USAGE,
                "pixels[%zu] is %" PRId32 "; expected 0 to %" PRId64 " (rows x columns - 1)", i,
                p->pixels[i], all - 1);
    return ERR_OK;
}

static struct pixel_set pixels_of(const struct api_call *k)
{
    const struct some_pixels *p = k->options;
    return (struct pixel_set){p->pixels, (int64_t)p->count, 1};
}

static enum err compute_sparse_forward(struct api_call *k)
{
    const struct pixel_set pixels = pixels_of(k);
    return sparse_forward_project(k->be, k->m, &pixels, &k->operands[0].buffer,
                                  &k->operands[1].buffer);
}

static enum err compute_sparse_back(struct api_call *k)
{
    const struct some_pixels *p = k->options;
    const struct pixel_set pixels = pixels_of(k);
    return sparse_back_project(k->be, k->m, &pixels, &k->operands[0].buffer, p->power,
                               &k->operands[1].buffer);
}

static tomoprof_status run_sparse(struct api_call *k, const struct some_pixels *p)
{
    k->needs_model = 1;
    k->count = (int64_t)p->count;
    k->options = p;
    k->check = check_pixels;
    return call_run(k);
}

tomoprof_status tomoprof_sparse_forward_project(tomoprof_context *c, const tomoprof_model *m,
                                                const tomoprof_array *voxels, const int32_t *pixels,
                                                size_t count, tomoprof_array *y)
{
    struct api_call k = {
        .context = c,
        .model = m,
        .operands = {{"voxels", FORM_CYLINDERS, WAY_IN, voxels}, TO_SINOGRAM("y", y)},
        .compute = compute_sparse_forward};
    return run_sparse(&k, &(struct some_pixels){pixels, count, 1});
}

tomoprof_status tomoprof_sparse_back_project(tomoprof_context *c, const tomoprof_model *m,
                                             const tomoprof_array *y, const int32_t *pixels,
                                             size_t count, int power, tomoprof_array *voxels)
{
    struct api_call k = {
        .context = c,
        .model = m,
        .operands = {SINOGRAM("y", y), {"voxels", FORM_CYLINDERS, WAY_OUT, voxels}},
        .compute = compute_sparse_back};
    return run_sparse(&k, &(struct some_pixels){pixels, count, power});
}
