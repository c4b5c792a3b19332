/* Samples of instructions, added up over a recording, become lines: a chain of inlined calls for
 * each place. A line's time is its kernel's time times its share of the kernel's samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/stack_tree.h"
#include "profiler/analyze/gpu/inside.h"
#include "profiler/analyze/symbols/demangle.h"
#include "profiler/trace/stalls.h"

enum { INSTRUCTIONS_MAX = 500000, PLACES_MAX = 50000, PLACES_SHOWN = 2000 };

enum err inside_samples(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_samples *s = (const void *)item->record;
    struct gpu *g = state;
    struct trace_stall_count stall;
    (void)im;
    const uint64_t key = table_mix(table_mix(s->cubin, s->name), s->offset);
    uint32_t at = table_get(&g->instructions.by_key, key);
    if (at == TABLE_NONE && g->instructions.list.count >= INSTRUCTIONS_MAX)
        return ERR_OK;
    if (at == TABLE_NONE) {
        at = (uint32_t)g->instructions.list.count;
        TRY(vector_add(
            &g->instructions.list,
            (struct instruction){.cubin = s->cubin, .name = s->name, .offset = s->offset}));
        TRY(table_put(&g->instructions.by_key, key, at));
    }
    for (uint32_t i = 0; i < s->stalls && (i + 1) * sizeof stall <= item->tail_bytes; i++) {
        memcpy(&stall, (const char *)item->tail + i * sizeof stall, sizeof stall);
        const uint32_t why = stall.reason < TRACE_STALLS ? stall.reason : TRACE_STALL_OTHER;
        g->instructions.list.items[at].stalls[why] += stall.samples;
    }
    return ERR_OK;
}

static uint64_t inside_key(uint32_t kernel, const struct inside_frame *frames, uint32_t count)
{
    uint64_t key = table_mix(kernel, count);
    for (uint32_t i = 0; i < count; i++)
        key = table_mix(table_mix(key, (uintptr_t)frames[i].file),
                        table_mix((uintptr_t)frames[i].function, (uint64_t)frames[i].line));
    return key;
}

enum err inside_of(struct run *r, uint32_t kernel, const struct cubin_frame *frames, int count,
                   struct inside_place **out)
{
    struct inside_place row = {.kernel = kernel,
                               .sectors = (double)NAN,
                               .sectors_ideal = (double)NAN,
                               .wavefronts = (double)NAN,
                               .wavefronts_ideal = (double)NAN};
    for (int i = 0; i < count && i < INSIDE_DEEP; i++) {
        if (!frames[i].file || frames[i].line <= 0)
            continue;
        char *readable = frames[i].function ? demangle(frames[i].function) : NULL;
        const char *function = readable ? readable : frames[i].function;
        row.frame[row.frames++] = (struct inside_frame){
            run_text(r, frames[i].file), function ? run_text(r, function) : NULL, frames[i].line};
        free(readable);
    }
    const uint64_t key = inside_key(kernel, row.frame, row.frames);
    uint32_t at = table_get(&r->gpu.inside_by_key, key);
    *out = NULL;
    if (at == TABLE_NONE && r->gpu.inside.count >= PLACES_MAX)
        return ERR_OK;
    if (at == TABLE_NONE) {
        at = (uint32_t)r->gpu.inside.count;
        TRY(vector_add(&r->gpu.inside, row));
        TRY(table_put(&r->gpu.inside_by_key, key, at));
    }
    *out = &r->gpu.inside.items[at];
    return ERR_OK;
}

static enum err inside_add(struct run *r, const struct instruction *p, uint32_t kernel,
                           const struct cubin_frame *frames, int count)
{
    struct inside_place *to;
    TRY(inside_of(r, kernel, frames, count, &to));
    for (int i = 0; i < TRACE_STALLS && to; i++)
        to->stalls[i] += p->stalls[i];
    return ERR_OK;
}

enum err inside_resolve(struct image *im, struct gpu *g, const struct cubin *c, uint64_t hash)
{
    struct run *r = im->run;
    struct cubin_frame frames[INSIDE_DEEP];
    for (size_t i = 0; i < g->instructions.list.count; i++) {
        struct instruction *p = &g->instructions.list.items[i];
        const char *name = p->cubin == hash && !p->done ? image_string(im, p->name) : NULL;
        const int count = name ? cubin_at(c, name, p->offset, frames, INSIDE_DEEP) : 0;
        uint32_t kernel;
        if (!count)
            continue;
        p->done = 1;
        TRY(gpu_kernel_of(r, name, &kernel));
        TRY(inside_add(r, p, kernel, frames, count));
    }
    return ERR_OK;
}

enum err inside_rest(struct image *im, struct gpu *g)
{
    for (size_t i = 0; i < g->instructions.list.count; i++) {
        struct instruction *p = &g->instructions.list.items[i];
        uint32_t kernel;
        if (p->done)
            continue;
        TRY(gpu_kernel_of(im->run, image_string(im, p->name), &kernel));
        TRY(inside_add(im->run, p, kernel, NULL, 0));
    }
    return ERR_OK;
}

static const char *const stall_keys[] = {
#define X(name, number, prefix, key, words) [number] = (key),
    TRACE_STALL_LIST(X)
#undef X
};
static const char *const stall_words[] = {
#define X(name, number, prefix, key, words) [number] = (words),
    TRACE_STALL_LIST(X)
#undef X
};

static double inside_total(const struct inside_place *p)
{
    double sum = 0;
    for (int i = 0; i < TRACE_STALLS; i++)
        sum += p->stalls[i];
    return sum;
}

ARRAY_ORDER(by_samples, struct model_stall, COMPARE(y->samples, x->samples));
ARRAY_ORDER(by_weight, struct model_device_line,
            COMPARE(isnan(y->s) ? y->share : y->s, isnan(x->s) ? x->share : x->s)
                ?: COMPARE(y->samples, x->samples)
                ?: COMPARE(x->kernel, y->kernel)
                ?: COMPARE(x->line, y->line));

static int64_t inside_count(double v)
{
    return v < 9e15 ? llround(v) : MODEL_UNKNOWN; /* false for NaN */
}

static enum err inside_row(struct run *r, const struct inside_place *p, double kernel_samples,
                           struct model_device_line *row)
{
    const struct kernel *k = &r->gpu.kernels.items[p->kernel];
    const double samples = inside_total(p);
    row->kernel = k->rank;
    row->line = MODEL_UNKNOWN;
    if (p->frames) {
        row->file = path_shown(r, p->frame[0].file);
        row->line = p->frame[0].line;
        row->function = p->frame[0].function;
    }
    row->samples = inside_count(samples);
    row->share = kernel_samples > 0 ? samples / kernel_samples : (double)NAN;
    row->s = k->total > 0 ? k->total * 1e-9 * row->share : (double)NAN;
    row->sectors = inside_count(p->sectors);
    row->sectors_ideal = inside_count(p->sectors_ideal);
    row->wavefronts = inside_count(p->wavefronts);
    row->wavefronts_ideal = inside_count(p->wavefronts_ideal);
    const size_t calls = p->frames > 1 ? p->frames - 1 : 0;
    TRY(model_list(r->m, model_place, row, called_at, calls));
    for (size_t i = 0; i < calls; i++)
        row->called_at[i] = (struct model_place){path_shown(r, p->frame[i + 1].file),
                                                 p->frame[i + 1].line, MODEL_UNKNOWN, (double)NAN};
    size_t n = 0;
    for (int i = 0; i < TRACE_STALLS; i++)
        n += p->stalls[i] > 0;
    TRY(model_list(r->m, model_stall, row, stalls, n));
    n = 0;
    for (int i = 0; i < TRACE_STALLS; i++)
        if (p->stalls[i] > 0)
            row->stalls[n++] =
                (struct model_stall){stall_keys[i], stall_words[i], inside_count(p->stalls[i])};
    array_sort(row->stalls, n, sizeof *row->stalls, by_samples);
    return ERR_OK;
}

/* The innermost line has the time; those that it was inlined into have it with their callees. */
static enum err inside_sites(struct run *r, const struct inside_place *p, double ns)
{
    for (uint32_t i = 0; i < p->frames; i++) {
        int site, again = 0;
        for (uint32_t k = 0; k < i; k++)
            again |= p->frame[k].line == p->frame[i].line && p->frame[k].file == p->frame[i].file;
        if (again)
            continue;
        TRY(site_of(r, p->frame[i].file, p->frame[i].line, NULL, 0, &site));
        r->sites.items[site].incl.inside += ns;
        if (!i)
            r->sites.items[site].self.inside += ns;
        if (p->frame[i].file == p->frame[p->frames - 1].file) /* not headers of the toolkit */
            r->sources.items[r->sites.items[site].file].user = 1;
    }
    return ERR_OK;
}

static enum err inside_rows(struct run *r, const double *of_kernel)
{
    TRY(model_list(r->m, model_device_line, r->m, device_lines, r->gpu.inside.count));
    for (size_t i = 0; i < r->gpu.inside.count; i++) {
        const struct inside_place *p = &r->gpu.inside.items[i];
        struct model_device_line *row = &r->m->device_lines[i];
        TRY(inside_row(r, p, of_kernel[p->kernel], row));
        TRY(inside_sites(r, p, isnan(row->s) ? 0 : row->s * 1e9));
    }
    array_sort(r->m->device_lines, r->gpu.inside.count, sizeof *r->m->device_lines, by_weight);
    if (r->m->device_lines_count > PLACES_SHOWN)
        r->m->device_lines_count = PLACES_SHOWN;
    return ERR_OK;
}

enum err inside_build(struct run *r)
{
    if (!r->gpu.inside.count)
        return ERR_OK;
    double *of_kernel = calloc(r->gpu.kernels.count + 1, sizeof *of_kernel);
    FAIL_IF(!of_kernel, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < r->gpu.inside.count; i++)
        of_kernel[r->gpu.inside.items[i].kernel] += inside_total(&r->gpu.inside.items[i]);
    enum err e = inside_rows(r, of_kernel);
    free(of_kernel);
    return e;
}
