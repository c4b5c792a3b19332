/* An array as OME-Zarr 0.5: a Zarr 3 group of the array and of its halves, each voxel of a level
 * the mean of up to 2 x 2 x 2 of the level before. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/writer/outdir.h"
#include "host/store/writer/writer.h"

#define LEVELS_MOST 24
#define ENOUGH      64 /* a level whose sizes are all at most this is the last */
#define SPACE_DIMS  3

struct pyramid {
    const char *out;
    char made[4300];
    struct writer_options options;
    struct store_array shown; /* the source, with the names of the target's axes */
    struct store_dtype type;
    int dims, from[STORE_DIMS], levels;
    int64_t shape[STORE_DIMS], bytes;
    double spacing[STORE_DIMS];
};

static double dtype_number_at(struct store_dtype t, const void *p, int64_t i)
{
    if (t.kind == 'f')
        return t.bytes == 4 ? (double)((const float *)p)[i] : ((const double *)p)[i];
    if (t.kind == 'u')
        return t.bytes == 1   ? (double)((const uint8_t *)p)[i]
               : t.bytes == 2 ? (double)((const uint16_t *)p)[i]
                              : (double)((const uint32_t *)p)[i];
    return t.bytes == 1   ? (double)((const int8_t *)p)[i]
           : t.bytes == 2 ? (double)((const int16_t *)p)[i]
                          : (double)((const int32_t *)p)[i];
}

/* Integers are rounded to the nearest, ties to the even one. */
static void number_put(struct store_dtype t, void *p, int64_t i, double v)
{
    const int64_t whole = t.kind == 'f' ? 0 : (int64_t)rint(v);
    if (t.kind == 'f' && t.bytes == 4)
        ((float *)p)[i] = (float)v;
    else if (t.kind == 'f')
        ((double *)p)[i] = v;
    else if (t.bytes == 1)
        ((uint8_t *)p)[i] = (uint8_t)whole;
    else if (t.bytes == 2)
        ((uint16_t *)p)[i] = (uint16_t)whole;
    else
        ((uint32_t *)p)[i] = (uint32_t)whole;
}

/* Dimensions of space are the last three; those of size 1 stay. */
static int is_halved(const struct pyramid *p, int d, int64_t size)
{
    return d >= p->dims - SPACE_DIMS && size > 1;
}

/* Makes one level from the one before, or from the source. */
struct level {
    const struct pyramid *p;
    struct store *store;
    struct store_array *source;
    int k;
    struct writer w;
    void *wide; /* the planes of the level before */
    int64_t before[STORE_DIMS];
};

/* The mean around one voxel of a slab; at is the place in the slab, first its first plane. */
static double mean_at(const struct level *l, int64_t planes, const int64_t at[STORE_DIMS])
{
    const struct pyramid *p = l->p;
    double sum = 0;
    int count = 0;
    for (int corner = 0; corner < 1 << p->dims; corner++) {
        int64_t index = 0;
        int there = 1;
        for (int d = 0; d < p->dims; d++) {
            const int64_t size = d ? l->before[d] : planes;
            const int halved = is_halved(p, d, l->before[d]), step = corner >> d & 1;
            const int64_t i = (halved ? 2 : 1) * at[d] + step;
            there &= i < size && (halved || !step);
            index = index * size + i;
        }
        if (there) {
            sum += dtype_number_at(p->type, l->wide, index);
            count++;
        }
    }
    return sum / count;
}

static enum err level_halve(struct level *l, int64_t first, int64_t count, void *out)
{
    const struct pyramid *p = l->p;
    const int factor = is_halved(p, 0, l->before[0]) ? 2 : 1;
    struct engine_box b = engine_all(l->source);
    int64_t rest = 1;
    b.start[0] = first * factor;
    b.count[0] = count * factor;
    if (b.start[0] + b.count[0] > l->before[0])
        b.count[0] = l->before[0] - b.start[0];
    TRY(engine_read(l->store, l->source, &b, p->type, l->wide, NULL));
    for (int d = 1; d < p->dims; d++)
        rest *= l->w.shape[d];
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < count * rest; n++) {
        int64_t at[STORE_DIMS], left = n;
        for (int d = p->dims - 1; d > 0; d--) {
            at[d] = left % l->w.shape[d];
            left /= l->w.shape[d];
        }
        at[0] = left;
        number_put(p->type, out, n, mean_at(l, b.count[0], at));
    }
    return ERR_OK;
}

static enum err level_produce(struct level *l, int64_t first, int64_t count, void *out)
{
    return l->k ? level_halve(l, first, count, out)
                : writer_read(l->store, l->source, &l->w, l->w.from, first, count, out);
}

static enum err level_write_planes(struct level *l, void *slab)
{
    const int64_t total = l->w.shape[0];
    for (int64_t i = 0; i < total; i += l->w.step) {
        const int64_t n = total - i < l->w.step ? total - i : l->w.step;
        progress("writing", (double)i, (double)total);
        TRY(level_produce(l, i, n, slab));
        TRY(write_zarr.slab(&l->w, i, n, slab));
    }
    return ERR_OK;
}

/* Compares the planes that our own reader finds with the source's planes once more. */
static enum err compare_planes(struct level *l, void *slab, void *other)
{
    struct store *made;
    struct store_array *a;
    const int64_t total = l->w.shape[0], plane = writer_slab_bytes(&l->w);
    TRY(store_open(l->w.made, &made));
    enum err e = store_find(made, NULL, &a);
    for (int64_t i = 0; i < total && !e; i += l->w.step) {
        struct engine_box b = engine_all(a);
        b.start[0] = i;
        b.count[0] = total - i < l->w.step ? total - i : l->w.step;
        e = level_produce(l, i, b.count[0], slab);
        if (!e)
            e = engine_read(made, a, &b, l->p->type, other, NULL);
        if (!e && memcmp(slab, other, (size_t)(b.count[0] * plane)) != 0)
            e = FAIL(ERR_FAILED, "%s: what was written differs from its source; it is removed",
                     l->p->out);
    }
    store_close(made);
    return e;
}

static enum err write_level(struct level *l)
{
    void *slab = NULL, *other = NULL;
    char path[4400];
    enum err e;
    int64_t plane = l->p->type.bytes;
    snprintf(path, sizeof path, "%s/%d", l->p->made, l->k);
    l->w.path = path;
    TRY(write_zarr.begin(&l->w));
    const int64_t bytes = writer_slab_bytes(&l->w) * l->w.step;
    for (int d = 1; d < l->p->dims; d++)
        plane *= l->before[d];
    TRY_OUT(mem_alloc("a slab", (size_t)bytes, &slab));
    TRY_OUT(mem_alloc("a slab", (size_t)bytes, &other));
    if (l->k)
        TRY_OUT(mem_alloc("a slab", (size_t)(2 * plane * l->w.step), &l->wide));
    TRY_OUT(level_write_planes(l, slab));
    TRY_OUT(compare_planes(l, slab, other));
    FAIL_IF(rename(l->w.made, path), ERR_IO, "%s: cannot be renamed: %s", path, strerror(errno));
out:
    write_zarr.finish(&l->w, e);
    write_zarr.free(&l->w);
    mem_free(slab);
    mem_free(other);
    mem_free(l->wide);
    return e;
}

/* How many voxels of the source a voxel of level k is wide. */
static double width_at(const struct pyramid *p, int d, int k)
{
    double width = 1;
    int64_t size = p->shape[d];
    for (int i = 0; i < k && is_halved(p, d, size); i++, size = (size + 1) / 2)
        width *= 2;
    return width;
}

static struct store_array shown_at(const struct pyramid *p, int k)
{
    struct store_array a = p->shown;
    for (int d = 0; d < p->dims; d++)
        a.spacing[p->from[d]] *= width_at(p, d, k);
    return a;
}

static enum err make_levels(struct pyramid *p, struct store *s, struct store_array *a)
{
    int64_t shape[STORE_DIMS], largest;
    enum err e = ERR_OK;
    memcpy(shape, p->shape, sizeof shape);
    do {
        struct store_array shown = shown_at(p, p->levels);
        struct level l = {.p = p, .store = s, .source = a, .k = p->levels};
        char before[4400];
        l.w = (struct writer){
            .options = &p->options, .source = &shown, .type = p->type, .dims = p->dims, .step = 1};
        memcpy(l.w.from, p->from, sizeof p->from);
        memcpy(l.before, shape, sizeof shape);
        largest = 0;
        for (int d = 0; d < p->dims; d++) {
            shape[d] = p->levels && is_halved(p, d, shape[d]) ? (shape[d] + 1) / 2 : shape[d];
            l.w.shape[d] = shape[d];
            if (d >= p->dims - SPACE_DIMS && shape[d] > largest)
                largest = shape[d];
        }
        if (l.k) {
            snprintf(before, sizeof before, "%s/%d", p->made, l.k - 1);
            TRY(store_open(before, &l.store));
            e = store_find(l.store, NULL, &l.source);
        }
        e = e ? e : write_level(&l);
        if (l.k)
            store_close(l.store);
        p->levels++;
    } while (!e && largest > ENOUGH && p->levels < LEVELS_MOST);
    progress_end();
    return e;
}

static void ome_write_axes(struct jsonw *j, const struct pyramid *p)
{
    static const char *const units[][2] = {{"mm", "millimeter"},        {"um", "micrometer"},
                                           {"\xc2\xb5m", "micrometer"}, {"nm", "nanometer"},
                                           {"cm", "centimeter"},        {"m", "meter"}};
    jsonw_karray(j, "axes");
    for (int d = 0; d < p->dims; d++) {
        const char *name = p->shown.axis[p->from[d]], *unit = p->shown.unit[p->from[d]];
        jsonw_object(j);
        jsonw_kstring(j, "name", name);
        jsonw_kstring(j, "type", *name == 't' ? "time" : *name == 'c' ? "channel" : "space");
        for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
            if (!strcmp(unit, units[i][0]))
                jsonw_kstring(j, "unit", units[i][1]);
        jsonw_end(j);
    }
    jsonw_end(j);
}

/* The first voxel's centre lies between those that it is the mean of. */
static void ome_write_transform(struct jsonw *j, const struct pyramid *p, int k, const char *key)
{
    const int is_scale = !strcmp(key, "scale");
    jsonw_object(j);
    jsonw_kstring(j, "type", key);
    jsonw_karray(j, key);
    for (int d = 0; d < p->dims; d++) {
        const double width = width_at(p, d, k);
        jsonw_number(j, p->spacing[d] * (is_scale ? width : 0.5 * (width - 1)));
    }
    jsonw_end(j);
    jsonw_end(j);
}

static enum err write_group(const struct pyramid *p)
{
    char path[4400];
    struct outfile f;
    struct jsonw j;
    const char *name = strrchr(p->out, '/');
    snprintf(path, sizeof path, "%s/zarr.json", p->made);
    TRY(outfile_open(&f, path));
    jsonw_init(&j, f.stream, 1);
    jsonw_object(&j);
    jsonw_kint(&j, "zarr_format", 3);
    jsonw_kstring(&j, "node_type", "group");
    jsonw_kobject(&j, "attributes");
    jsonw_kobject(&j, "ome");
    jsonw_kstring(&j, "version", "0.5");
    jsonw_karray(&j, "multiscales");
    jsonw_object(&j);
    jsonw_kstring(&j, "name", name ? name + 1 : p->out);
    jsonw_kstring(&j, "type", "mean");
    ome_write_axes(&j, p);
    jsonw_karray(&j, "datasets");
    for (int k = 0; k < p->levels; k++) {
        char level[12];
        snprintf(level, sizeof level, "%d", k);
        jsonw_object(&j);
        jsonw_kstring(&j, "path", level);
        jsonw_karray(&j, "coordinateTransformations");
        ome_write_transform(&j, p, k, "scale");
        ome_write_transform(&j, p, k, "translation");
        jsonw_end(&j);
        jsonw_end(&j);
    }
    for (int i = 0; i < 6; i++) /* datasets, image, multiscales, ome, attributes, the whole */
        jsonw_end(&j);
    return outfile_commit(&f);
}

/* The last three are z, y, x where the source does not name them; x comes last. */
static enum err pyramid_set_axes(struct pyramid *p, const struct store_array *a)
{
    static const char *const names[] = {"t", "c", "z", "y", "x"};
    FAIL_IF(a->dims < 2 || a->dims > 5, ERR_UNSUPPORTED,
            "%s: the array has %d dimensions; OME-Zarr takes 2 to 5", p->out, a->dims);
    const int turn = !p->options.order_dims && a->axis[0] && !strcmp(a->axis[0], "x");
    p->dims = a->dims;
    p->shown = *a;
    if (p->options.order_dims)
        TRY(writer_order(&p->options, a->dims, p->from));
    for (int d = 0; d < a->dims; d++) {
        if (!p->options.order_dims)
            p->from[d] = turn ? a->dims - 1 - d : d;
        p->shape[d] = a->shape[p->from[d]];
        p->shown.axis[p->from[d]] = names[5 - a->dims + d];
        const int space = d - (a->dims - SPACE_DIMS);
        if (space >= 0 && p->options.spacing[space] > 0)
            p->shown.spacing[p->from[d]] = p->options.spacing[space];
        p->spacing[d] = p->shown.spacing[p->from[d]] > 0 ? p->shown.spacing[p->from[d]] : 1;
    }
    return ERR_OK;
}

static enum err pyramid_set_type(struct pyramid *p, const struct store_array *a)
{
    const struct store_dtype *t = &p->type;
    p->type = p->options.type.bytes ? p->options.type : a->dtype;
    p->type.swap = 0;
    FAIL_IF(!(t->kind == 'f' && (t->bytes == 4 || t->bytes == 8)) &&
                !((t->kind == 'u' || t->kind == 'i') && t->bytes <= 4),
            ERR_UNSUPPORTED,
            "%s: means of this type are not made; give `dtype=float32`, or `dtype=float64`",
            p->out);
    FAIL_IF(!engine_converts(a->dtype, p->type), ERR_UNSUPPORTED,
            "%s: %s cannot be converted to that type", p->out, a->name);
    return ERR_OK;
}

/* Axes get names of OME-Zarr, and keep their spacing. */
static void pyramid_lost(const struct pyramid *p, const struct store *s,
                         const struct store_array *a)
{
    const struct writer_format f = {.keeps = KEEPS_SPACING | KEEPS_AXES | KEEPS_SCALE};
    struct writer w = {.options = &p->options, .source = a, .dims = p->dims};
    memcpy(w.from, p->from, sizeof w.from);
    writer_lost(s, &w, &f);
}

enum err store_pyramid(const char *in, const char *out, const struct writer_options *o,
                       struct writer_result *result)
{
    struct pyramid p = {.out = out, .options = *o};
    struct store *s = NULL;
    struct store_array *a;
    struct stat st;
    enum err e;
    *result = (struct writer_result){.bytes = 0};
    FAIL_IF(
        o->scale, ERR_USAGE,
        "`apply_scale`: is not available for .ome.zarr. Convert to .nii or .zarr with it first, "
        "then to .ome.zarr");
    FAIL_IF(o->zarr == 2, ERR_USAGE, "%s: OME-Zarr 0.5 is Zarr 3: leave out `zarr=2`", out);
    FAIL_IF(!stat(out, &st), ERR_INPUT, "%s: exists already: remove it, or choose another name",
            out);
    const int n = snprintf(p.made, sizeof p.made, "%s.%ld.tmp", out, (long)getpid());
    FAIL_IF(n >= 4200, ERR_USAGE, "%s: the path is too long", out);
    TRY(store_open(in, &s));
    TRY_OUT(store_find(s, o->array, &a));
    TRY_OUT(pyramid_set_axes(&p, a));
    TRY_OUT(pyramid_set_type(&p, a));
    pyramid_lost(&p, s, a);
    TRY_OUT(writer_require_space(s, a, out, store_bytes(a, p.type.bytes), 1));
    TRY_OUT(outdir_begin(p.made));
    e = make_levels(&p, s, a);
    if (!e)
        e = write_group(&p);
    const enum err ended = outdir_end(p.made, e ? NULL : out);
    e = e ? e : ended;
    result->bytes = store_bytes(a, p.type.bytes);
    result->levels = p.levels;
    result->array = a->name;
out:
    store_close(s);
    return e;
}
