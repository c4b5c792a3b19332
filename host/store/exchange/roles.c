/* Finds the roles of a scan file's arrays by the conventions of its format. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/log.h"
#include "host/store/engine/engine.h"
#include "host/store/engine/chunk_cache.h"
#include "host/store/exchange/roles.h"

#define DATA     "exchange/data"
#define THETA    "exchange/theta"
#define PROCESS  "process/acquisition/"
#define ROTATION PROCESS "rotation/"

/* Why `name` is not among the arrays. */
static enum err roles_missing(const struct scan_file *s, const char *name)
{
    struct store_array *none;
    TRY(values_want(s->store, name, &none));
    for (int i = 0; i < s->store->notes_count; i++)
        FAIL_IF(!strcmp(s->store->notes[i].name, "unreadable"), ERR_INPUT,
                "%s: has no views that can be read; cannot read %s", s->path,
                s->store->notes[i].value);
    return FAIL(ERR_INPUT, "%s: has no dataset %s: is it a Data Exchange file?", s->path, name);
}

/* "theta:y:x" or "y:theta:x" (theta_white and theta_dark instead of theta in the frames); absent:
 * as it is. */
static enum err read_order(const struct scan_file *s, struct frames *f)
{
    const struct store_array *a = f->array;
    const char *const *axis = a->axis;
    if (!axis[0] || a->dims != 3)
        return ERR_OK;
    const int theta_first = !strncmp(axis[0], "theta", 5) || !strcmp(axis[0], "z"),
              known = axis[1] && axis[2] && !strcmp(axis[2], "x");
    FAIL_IF(
        !known || (theta_first ? strcmp(axis[1], "y") != 0
                               : strcmp(axis[0], "y") != 0 || strncmp(axis[1], "theta", 5) != 0),
        ERR_INPUT, "%s: %s has the axes \"%.40s:%.40s:%.40s\"; theta:y:x and y:theta:x are known",
        s->path, a->name, axis[0], axis[1] ? axis[1] : "", axis[2] ? axis[2] : "");
    f->rows_first = !theta_first;
    return ERR_OK;
}

static enum err check_numbers(const struct scan_file *s, const struct store_array *a)
{
    FAIL_IF(!engine_converts(a->dtype, (struct store_dtype){'f', 4, 0}), ERR_INPUT,
            "%s: %s holds complex numbers; counts are expected", s->path, a->name);
    TRY(store_index(s->store, (struct store_array *)a));
    for (int64_t i = 0; i < a->chunks_count; i++)
        if (a->chunks[i].object >= 0)
            return ERR_OK;
    return FAIL(ERR_INPUT, "%s: %s holds no data", s->path, a->name);
}

static enum err set_views(struct scan_file *s, struct store_array *a)
{
    struct frames *f = &s->data;
    f->store = s->store;
    f->array = a;
    FAIL_IF(a->dims != 3, ERR_INPUT, "%s: %s has %d dimensions instead of 3", s->path, a->name,
            a->dims);
    TRY(read_order(s, f));
    TRY(check_numbers(s, a));
    s->rows = a->shape[f->rows_first ? 0 : 1];
    s->channels = a->shape[2];
    if (!f->index)
        f->count = a->shape[f->rows_first ? 1 : 0];
    s->views = f->count;
    return ERR_OK;
}

/* Sets flat or dark frames: (frames, rows, channels), (rows, frames, channels) or a single (rows,
 * channels). */
static enum err set_frames(struct scan_file *s, struct store *store, struct store_array *a,
                           struct frames *f)
{
    f->store = store;
    f->array = a;
    f->count = 1;
    int64_t rows = a->dims ? a->shape[0] : 0, channels = a->dims ? a->shape[a->dims - 1] : 0;
    if (a->dims == 3) {
        f->rows_first = a->shape[1] != s->rows && a->shape[0] == s->rows;
        TRY(read_order(s, f));
        rows = a->shape[f->rows_first ? 0 : 1];
        f->count = a->shape[f->rows_first ? 1 : 0];
    }
    FAIL_IF(a->dims < 2 || a->dims > 3 || rows != s->rows || channels != s->channels, ERR_INPUT,
            "%s: %s has frames of %" PRId64 " x %" PRId64 ", the views %" PRId64 " x %" PRId64
            " (rows x channels)",
            store->name, a->name, rows, channels, s->rows, s->channels);
    FAIL_IF(!engine_converts(a->dtype, (struct store_dtype){'f', 4, 0}), ERR_INPUT,
            "%s: %s holds complex numbers; counts are expected", s->path, a->name);
    return ERR_OK;
}

static enum err use_frames(struct scan_file *s, const char *name, struct frames *f)
{
    struct store_array *a;
    TRY(values_want(s->store, name, &a));
    return a ? set_frames(s, s->store, a, f) : ERR_OK;
}

/* Scales theta to radians by its units. Without them the specification of Data Exchange says
 * radians, but beamlines write degrees: angles beyond two turns of radians are taken as such. */
static enum err theta_scale(const struct scan_file *s, const struct store_array *a, int degrees)
{
    double largest = 0, factor;
    if (a->units) {
        degrees = !strncmp(a->units, "deg", 3);
        FAIL_IF(!degrees && strncmp(a->units, "rad", 3) != 0, ERR_INPUT,
                "%s: %s has the units \"%s\"; deg and rad are known", s->path, a->name, a->units);
    } else if (!degrees) {
        for (int64_t i = 0; i < s->views; i++)
            largest = fmax(largest, fabs(s->theta[i]));
        degrees = largest > 4 * M_PI;
        log_info("%s: %s has no units: taken as %s", s->path, a->name,
                 degrees ? "degrees" : "radians");
    }
    factor = degrees ? M_PI / 180 : 1;
    for (int64_t i = 0; i < s->views; i++)
        s->theta[i] *= factor;
    return ERR_OK;
}

/* Sets one angle per view, or per frame where views are some of the frames. */
static enum err set_theta(struct scan_file *s, struct store_array *a, int degrees)
{
    double *all;
    const int64_t frames = s->data.array->shape[0], n = a->dims == 1 ? a->shape[0] : 0;
    const int by_frame = s->data.index && n == frames;
    FAIL_IF(n != s->views && !by_frame, ERR_INPUT,
            "%s: %s has %" PRId64 " angles and %s %" PRId64 " views", s->path, a->name, n,
            s->data.array->name, s->views);
    TRY(values_read(s->store, a, &all));
    for (int64_t i = 0; i < s->views; i++)
        all[i] = all[by_frame ? s->data.index[i] : i];
    s->theta = all;
    for (int64_t i = 0; i < s->views; i++)
        FAIL_IF(!isfinite(all[i]), ERR_INPUT, "%s: %s[%" PRId64 "] is not a finite number", s->path,
                a->name, i);
    return theta_scale(s, a, degrees);
}

static enum err data_exchange_roles(struct scan_file *s, struct store_array *data)
{
    struct store_array *theta;
    double start = 0, step;
    s->format = "Data Exchange";
    TRY(set_views(s, data));
    if (!s->others_darks)
        TRY(use_frames(s, "exchange/data_dark", &s->darks));
    if (!s->others_flats)
        TRY(use_frames(s, "exchange/data_white", &s->flats));
    TRY(values_scalar(s->store, PROCESS "flat_fields/flat_field_value", &s->flats.value, NULL));
    TRY(values_scalar(s->store, PROCESS "dark_fields/dark_field_value", &s->darks.value, NULL));
    if (s->others_angles)
        return ERR_OK;
    TRY(values_want(s->store, THETA, &theta));
    if (theta)
        return set_theta(s, theta, 0);
    TRY(values_scalar(s->store, ROTATION "rotation_step", &step, NULL));
    if (!isfinite(step))
        return ERR_OK;
    TRY(values_scalar(s->store, ROTATION "rotation_start", &start, NULL));
    s->theta = calloc((size_t)s->views, sizeof *s->theta);
    FAIL_IF(!s->theta, ERR_MEMORY, "%s: no memory left for its angles", s->path);
    for (int64_t i = 0; i < s->views; i++)
        s->theta[i] = ((isfinite(start) ? start : 0) + step * (double)i) * M_PI / 180;
    return ERR_OK;
}

/* Picks the frames of one key. */
static enum err frames_pick(const double *key, int64_t n, int wanted, struct frames *f)
{
    f->index = calloc((size_t)n, sizeof *f->index);
    FAIL_IF(!f->index, ERR_MEMORY, "no memory left for %" PRId64 " frames", n);
    for (int64_t i = 0; i < n; i++)
        if (key[i] == wanted)
            f->index[f->count++] = i;
    return ERR_OK;
}

static enum err detector_facts(struct scan_file *s, const char *data)
{
    struct store_array *a;
    char path[1024];
    double value;
    TRY(values_scalar(s->store, nexus_sibling(data, "x_pixel_size", path), &value, &a));
    if (isfinite(value) && a->units)
        s->pixel = value * values_millimetres(a->units);
    TRY(values_scalar(s->store, nexus_sibling(data, "x_rotation_axis_pixel_position", path), &value,
                      NULL));
    if (isfinite(value)) /* relative to the detector's middle */
        s->center = (double)(s->channels - 1) / 2 + value;
    return ERR_OK;
}

static enum err nxtomo_roles(struct scan_file *s, const struct store_alias *data,
                             struct store_array *keys)
{
    struct store_array *theta;
    struct frames *const kinds[] = {&s->data, &s->flats, &s->darks};
    double *key;
    s->format = "NXtomo";
    TRY(values_read(s->store, keys, &key));
    enum err e = ERR_OK;
    for (int i = 0; i < 3 && !e; i++)
        e = frames_pick(key, data->array->shape[0], i, kinds[i]);
    free(key);
    TRY(e);
    FAIL_IF(!s->data.count, ERR_INPUT, "%s: image_key marks no frame as a projection (0)", s->path);
    TRY(set_views(s, data->array));
    for (int i = 1; i < 3; i++) {
        kinds[i]->store = s->store;
        kinds[i]->array = kinds[i]->count ? data->array : NULL;
    }
    TRY(detector_facts(s, data->name));
    if (s->others_angles)
        return ERR_OK;
    TRY(nexus_rotation(s->store, data->name, &theta));
    return theta ? set_theta(s, theta, 0) : ERR_OK;
}

static enum err txrm_roles(struct scan_file *s)
{
    struct store_array *angles = values_find(s->store, "angles");
    const double source = fabs(values_note(s->store, "source_iso_distance")),
                 detector = fabs(values_note(s->store, "detector_iso_distance")),
                 shift = values_note(s->store, "center_shift");
    s->format = "Zeiss TXRM";
    TRY(set_views(s, s->store->arrays[0]));
    TRY(use_frames(s, "reference", &s->flats));
    s->pixel = values_note(s->store, "pixel_size_um") / 1000;
    if (isfinite(shift)) /* of the detector: MBIRJAX, too, takes it with the other sign */
        s->center = (double)(s->channels - 1) / 2 - shift;
    s->cone = !isfinite(values_note(s->store, "zone_plate")) && source > 0 && detector > 0 &&
              s->pixel > 0;
    if (s->cone) {
        s->source_iso = source;
        s->iso_detector = detector;
    }
    if (!angles)
        return ERR_OK;
    TRY(set_theta(s, angles, 1));
    for (int64_t i = 0; i < s->views; i++)
        s->theta[i] = -s->theta[i]; /* the sample turns, and not the source */
    return ERR_OK;
}

/* TIFF stacks name their arrays by the files: proj_0001.tif, flat_0001.tif, dark_0001.tif. */
static int begins_with(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (!strncasecmp(name, *words, strlen(*words)))
            return 1;
    return 0;
}

static enum err plain_roles(struct scan_file *s)
{
    static const char *const flats[] = {"flat", "white", "ref", "gain", "open", NULL},
                             *const darks[] = {"dark", "offset", "black", NULL};
    struct store_array *views = NULL;
    s->format = s->store->format;
    for (int i = 0; i < s->store->arrays_count; i++) {
        struct store_array *a = s->store->arrays[i];
        if (!views && !begins_with(a->name, flats) && !begins_with(a->name, darks))
            views = a;
    }
    TRY(set_views(s, views ? views : s->store->arrays[0]));
    for (int i = 0; i < s->store->arrays_count && views; i++) {
        struct store_array *a = s->store->arrays[i];
        if (a == views || a->dims < 2)
            continue;
        if (begins_with(a->name, flats))
            TRY(set_frames(s, s->store, a, &s->flats));
        if (begins_with(a->name, darks))
            TRY(set_frames(s, s->store, a, &s->darks));
    }
    return ERR_OK;
}

static enum err find_roles(struct scan_file *s)
{
    struct store_array *a = values_find(s->store, DATA), *key;
    struct store_alias data;
    if (a)
        return data_exchange_roles(s, a);
    TRY(nexus_detector(s->store, &data, &key));
    if (key)
        return nxtomo_roles(s, &data, key);
    if (!strcmp(s->store->format, "HDF5"))
        return roles_missing(s, DATA);
    return strcmp(s->store->format, "Zeiss TXRM") ? plain_roles(s) : txrm_roles(s);
}

static enum err other_frames(struct scan_file *s, const char *path, int which, struct frames *f)
{
    free(f->index);
    *f = (struct frames){.value = (double)NAN};
    TRY(store_open(path, &s->others[which]));
    return set_frames(s, s->others[which], s->others[which]->arrays[0], f);
}

static enum err roles_fill(struct scan_file *s, const struct exchange_source *source)
{
    TRY(store_open(source->path, &s->store));
    s->others_flats = source->flats != NULL;
    s->others_darks = source->darks != NULL;
    s->others_angles = source->angles != NULL;
    TRY(find_roles(s));
    if (source->flats)
        TRY(other_frames(s, source->flats, 0, &s->flats));
    if (source->darks)
        TRY(other_frames(s, source->darks, 1, &s->darks));
    if (!source->angles)
        return ERR_OK;
    free(s->theta);
    s->theta = NULL;
    return values_angles(source->angles, s->views, &s->theta);
}

enum err scan_file_open(const struct exchange_source *source, struct scan_file *out)
{
    const double unknown = (double)NAN;
    *out = (struct scan_file){.path = source->path,
                              .flats.value = unknown,
                              .darks.value = unknown,
                              .center = unknown,
                              .pixel = unknown,
                              .source_iso = unknown,
                              .iso_detector = unknown};
    return roles_fill(out, source);
}

void scan_file_close(struct scan_file *s)
{
    free(s->data.index);
    free(s->flats.index);
    free(s->darks.index);
    free(s->theta);
    for (int i = 0; i < 3; i++)
        store_close(s->others[i]);
    store_close(s->store);
    chunk_cache_free(s->kept);
}

/* A chunk holds several pictures, and not all of them are of one run. */
static int is_shared(const struct frames *f)
{
    const struct store_array *a = f->array;
    return a && f->index && !a->tiles && a->dims == 3 && a->chunk[f->rows_first] > 1;
}

enum err scan_file_keep(struct scan_file *s, int64_t bytes_most)
{
    if (s->kept || !(is_shared(&s->data) || is_shared(&s->flats) || is_shared(&s->darks)))
        return ERR_OK;
    return chunk_cache_create(bytes_most, &s->kept);
}

static int64_t decoded_bytes(const struct store_array *a)
{
    int64_t bytes = a && !a->tiles ? a->dtype.bytes : 0;
    int codecs = 0;
    for (int i = 0; a && i < a->pipelines_count; i++)
        codecs |= a->pipelines[i].count > 0;
    for (int d = 0; a && d < a->dims; d++)
        if (__builtin_mul_overflow(bytes, a->grid[d] * a->chunk[d], &bytes))
            return INT64_MAX / 4;
    return codecs ? bytes : 0;
}

int64_t scan_file_decoded_bytes(const struct scan_file *s)
{
    const struct store_array *views = s->data.array, *flats = s->flats.array;
    int64_t bytes = decoded_bytes(views);
    if (flats != views)
        bytes += decoded_bytes(flats);
    if (s->darks.array != views && s->darks.array != flats)
        bytes += decoded_bytes(s->darks.array);
    return bytes;
}

enum err scan_file_keep_all(struct scan_file *s, int64_t bytes_most, int64_t shared_most)
{
    const int64_t bytes = scan_file_decoded_bytes(s);
    if (!bytes || bytes > bytes_most)
        return scan_file_keep(s, shared_most);
    s->keep_all = 1;
    return s->kept ? ERR_OK : chunk_cache_create(bytes_most, &s->kept);
}

static enum err read_box(const struct scan_file *s, const struct frames *f,
                         const struct engine_box *box, float *out, const int64_t *stride)
{
    const struct engine_options o = {.kept = s->keep_all || is_shared(f) ? s->kept : NULL};
    struct engine_plan *p;
    TRY(engine_plan(f->store, f->array, box, &o, &p));
    enum err e = engine_run(p, (struct store_dtype){'f', 4, 0}, out, stride, NULL, NULL);
    engine_plan_free(p);
    return e;
}

enum err frames_read(const struct scan_file *s, const struct frames *f, int64_t first,
                     int64_t count, int64_t row, int64_t rows, float *out, int64_t stride)
{
    const int single = f->array->dims == 2, by_row = f->rows_first;
    const int64_t size = (int64_t)sizeof *out;
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t from = f->index ? f->index[first + i] : first + i;
        for (n = 1; i + n < count; n++)
            if (f->index && f->index[first + i + n] != from + n)
                break;
        struct engine_box box = {{row, 0}, {rows, s->channels}};
        int64_t bytes[STORE_DIMS] = {s->channels * size, size};
        if (!single) {
            box = (struct engine_box){.count = {n, rows, s->channels}};
            box.start[by_row] = from;
            box.count[by_row] = n;
            box.start[!by_row] = row;
            box.count[!by_row] = rows;
            bytes[by_row] = stride * size;
            bytes[!by_row] = s->channels * size;
            bytes[2] = size;
        }
        TRY(read_box(s, f, &box, out + i * stride, bytes));
    }
    return ERR_OK;
}
