/* Reading and writing of each parameter in geometry files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/format/geometry_keys.h"

static const struct {
    const char *name;
    enum kind kind;
} kinds[] = {
    {"parallel", PARALLEL}, {"cone", CONE}, {"translation", TRANSLATION}, {"multiaxis", MULTIAXIS}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static enum err wrong_type(const char *name, const char *what)
{
    return FAIL(ERR_INPUT, "%s must be %s", name, what);
}

static enum err read_number(const char *name, const cJSON *value, void *field)
{
    if (!cJSON_IsNumber(value))
        return wrong_type(name, "a number");
    *(double *)field = value->valuedouble;
    return ERR_OK;
}

static void write_number(struct jsonw *w, const char *name, const void *field)
{
    jsonw_knumber(w, name, *(const double *)field);
}

/* A number, or infinity, which JSON cannot say: "inf". */
static enum err read_distance(const char *name, const cJSON *value, void *field)
{
    if (cJSON_IsString(value) && !strcmp(value->valuestring, "inf")) {
        *(double *)field = (double)INFINITY;
        return ERR_OK;
    }
    if (!cJSON_IsNumber(value))
        return wrong_type(name, "a number or \"inf\"");
    return read_number(name, value, field);
}

static void write_distance(struct jsonw *w, const char *name, const void *field)
{
    if (isinf(*(const double *)field))
        jsonw_kstring(w, name, "inf");
    else
        write_number(w, name, field);
}

/* Zero means automatic in struct ct_model, and is a mistake in a file. */
static enum err read_voxel(const char *name, const cJSON *value, void *field)
{
    TRY(read_number(name, value, field));
    FAIL_IF(*(double *)field == 0, ERR_INPUT, "%s is 0: it must be positive", name);
    return ERR_OK;
}

static enum err read_flag(const char *name, const cJSON *value, void *field)
{
    if (!cJSON_IsBool(value))
        return wrong_type(name, "true or false");
    *(int *)field = cJSON_IsTrue(value);
    return ERR_OK;
}

static void write_flag(struct jsonw *w, const char *name, const void *field)
{
    jsonw_kbool(w, name, *(const int *)field);
}

static enum err read_mask(const char *name, const cJSON *value, void *field)
{
    int on = 0;
    TRY(read_flag(name, value, &on));
    *(enum ror *)field = on ? ROR_ELLIPSE : ROR_NONE;
    return ERR_OK;
}

static void write_mask(struct jsonw *w, const char *name, const void *field)
{
    jsonw_kbool(w, name, *(const enum ror *)field == ROR_ELLIPSE);
}

enum kind kind_of(const struct scan *s)
{
    return s->beam == BEAM_PARALLEL ? PARALLEL
           : scan_is_translation(s) ? TRANSLATION
           : scan_is_multiaxis(s)   ? MULTIAXIS
                                    : CONE;
}

static enum err read_kind(const char *name, const cJSON *value, void *field)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    struct draft *d = field;
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(text, kinds[i].name))
            d->kind = kinds[i].kind;
    if (!d->kind)
        return wrong_type(name, "\"parallel\", \"cone\", \"translation\" or \"multiaxis\"");
    d->m.scan.beam = d->kind == PARALLEL ? BEAM_PARALLEL : BEAM_CONE;
    return ERR_OK;
}

static void write_kind(struct jsonw *w, const char *name, const void *field)
{
    const struct draft *d = field;
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].kind == d->kind)
            jsonw_kstring(w, name, kinds[i].name);
}

/* Fields follow each other in the structs: views, rows, channels and rows, cols, slices. */
static enum err read_shape(const char *name, const cJSON *value, void *field)
{
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != 3)
        return wrong_type(name, "a list of three sizes");
    int64_t *sizes = field;
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach (item, value) {
        double x = item->valuedouble;
        FAIL_IF(!cJSON_IsNumber(item) || x != floor(x), ERR_INPUT, "%s[%d] must be a whole number",
                name, i);
        FAIL_IF(x < 1 || x > INT32_MAX, ERR_INPUT, "%s[%d] is %.17g: it must be from 1 to %d", name,
                i, x, INT32_MAX);
        sizes[i++] = (int64_t)x;
    }
    return ERR_OK;
}

static void write_shape(struct jsonw *w, const char *name, const void *field)
{
    const int64_t *sizes = field;
    jsonw_karray(w, name);
    for (int i = 0; i < 3; i++)
        jsonw_int(w, sizes[i]);
    jsonw_end(w);
}

/* A list of numbers, or of lists that all have as many numbers. */
static enum err read_list(const char *name, const cJSON *value, void *field)
{
    struct value_list *list = field;
    if (!cJSON_IsArray(value))
        return wrong_type(name, "a list of numbers");
    const cJSON *item = cJSON_IsArray(value->child) ? value->child : NULL;
    list->count = cJSON_GetArraySize(value);
    list->width = item ? cJSON_GetArraySize(item) : 1;
    FAIL_IF(item && (list->width < 2 || list->width > 3), ERR_INPUT,
            "%s[0] must be a number, or a list of 2 or 3 numbers; it has %d", name, list->width);
    const size_t numbers = (size_t)list->count * (size_t)list->width;
    list->values = malloc((numbers ? numbers : 1) * sizeof(float));
    FAIL_IF(!list->values, ERR_MEMORY, "no memory left for %s", name);
    int64_t i = 0, at = 0;
    const cJSON *entry;
    cJSON_ArrayForEach (entry, value) {
        FAIL_IF(item && (!cJSON_IsArray(entry) || cJSON_GetArraySize(entry) != list->width),
                ERR_INPUT, "%s[%" PRId64 "] must be a list of %d numbers, as the first is", name, i,
                list->width);
        const cJSON *number = item ? entry->child : entry;
        for (int k = 0; k < list->width; k++, number = number->next) {
            FAIL_IF(!cJSON_IsNumber(number), ERR_INPUT, "%s[%" PRId64 "] must be %s", name, i,
                    item ? "a list of numbers" : "a number");
            list->values[at++] = (float)number->valuedouble;
        }
        i++;
    }
    return ERR_OK;
}

/* MBIRJAX's None: no shifts. */
static enum err read_optional_list(const char *name, const cJSON *value, void *field)
{
    return cJSON_IsNull(value) ? ERR_OK : read_list(name, value, field);
}

static void write_list(struct jsonw *w, const char *name, const void *field)
{
    const struct value_list *list = field;
    if (!list->values)
        return;
    jsonw_karray(w, name);
    for (int64_t i = 0; i < list->count; i++)
        jsonw_number(w, (double)list->values[i]);
    jsonw_end(w);
}

static void write_numbers(struct jsonw *w, const double *numbers, int n)
{
    jsonw_array(w);
    for (int k = 0; k < n; k++)
        jsonw_number(w, numbers[k]);
    jsonw_end(w);
}

/* Reads the angles of multi-axis scans, [azimuth, elevation] per view. */
static enum err read_angles(const char *name, const cJSON *value, void *field)
{
    return read_list(name, value, &((struct draft *)field)->angles);
}

static void write_angles(struct jsonw *w, const char *name, const void *field)
{
    const struct draft *d = field;
    const struct scan *s = &d->m.scan;
    if (d->kind != MULTIAXIS) {
        write_list(w, name, &d->angles);
        return;
    }
    jsonw_karray(w, name);
    for (int64_t i = 0; i < s->views; i++)
        write_numbers(w, (const double[]){(double)s->angles[i], (double)s->moves[i].elevation}, 2);
    jsonw_end(w);
}

static enum err read_vectors(const char *name, const cJSON *value, void *field)
{
    return read_list(name, value, &((struct draft *)field)->vectors);
}

static void write_vectors(struct jsonw *w, const char *name, const void *field)
{
    const struct scan *s = &((const struct draft *)field)->m.scan;
    jsonw_karray(w, name);
    for (int64_t i = 0; i < s->views; i++)
        write_numbers(
            w,
            (const double[]){(double)s->moves[i].x, (double)s->moves[i].y, (double)s->z_shifts[i]},
            3);
    jsonw_end(w);
}

static enum err read_weights(const char *name, const cJSON *value, void *field)
{
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != 3)
        return wrong_type(name, "a list of three numbers (row, column, slice)");
    double *weights = field;
    const cJSON *item;
    cJSON_ArrayForEach (item, value)
        TRY(read_number(name, item, weights++));
    return ERR_OK;
}

static void write_weights(struct jsonw *w, const char *name, const void *field)
{
    const double *weights = field;
    jsonw_karray(w, name);
    for (int i = 0; i < 3; i++)
        jsonw_number(w, weights[i]);
    jsonw_end(w);
}

#define SCAN(field)           offsetof(struct draft, m.scan.field)
#define VOLUME(field)         offsetof(struct draft, m.volume.field)
#define REGULARISATION(field) offsetof(struct draft, m.regularisation.field)
const struct key geometry_keys[] = {
    {"geometry", TEXT, 0, read_kind, write_kind, ALWAYS, PLAIN},
    {"sinogram_shape", LIST, SCAN(views), read_shape, write_shape, ALWAYS, PLAIN},
    {"source_detector_dist", NUMBER, SCAN(source_detector), read_distance, write_distance,
     CONE | TRANSLATION, PLAIN},
    {"source_iso_dist", NUMBER, SCAN(source_iso), read_distance, write_distance, CONE | TRANSLATION,
     PLAIN},
    {"use_curved_detector", FLAG, SCAN(curved), read_flag, write_flag, CONE, PLAIN},
    {"delta_det_channel", NUMBER, SCAN(delta_channel), read_number, write_number, ALWAYS, PLAIN},
    {"delta_det_row", NUMBER, SCAN(delta_row), read_number, write_number, ALWAYS, PLAIN},
    {"det_channel_offset", NUMBER, SCAN(channel_offset), read_number, write_number, ALWAYS, PLAIN},
    {"det_row_offset", NUMBER, SCAN(row_offset), read_number, write_number, ALWAYS, PLAIN},
    {"recon_shape", LIST, VOLUME(rows), read_shape, write_shape, ALWAYS, PLAIN},
    {"delta_voxel", NUMBER, VOLUME(delta), read_voxel, write_number, ALWAYS, PLAIN},
    {"voxel_row_aspect", NUMBER, VOLUME(row_aspect), read_number, write_number, ALWAYS, PLAIN},
    {"voxel_slice_aspect", NUMBER, VOLUME(slice_aspect), read_number, write_number, ALWAYS, PLAIN},
    {"recon_slice_offset", NUMBER, VOLUME(slice_offset), read_number, write_number,
     CONE | MULTIAXIS, PLAIN},
    {"use_ror_mask", FLAG, VOLUME(ror), read_mask, write_mask, ALWAYS, PLAIN},
    {"sharpness", NUMBER, REGULARISATION(sharpness), read_number, write_number, ALWAYS, PLAIN},
    {"snr_db", NUMBER, REGULARISATION(snr_db), read_number, write_number, ALWAYS, PLAIN},
    {"auto_regularize_flag", FLAG, REGULARISATION(automatic), read_flag, write_flag, ALWAYS, PLAIN},
    {"sigma_y", NUMBER, REGULARISATION(sigma_y), read_number, write_number, ALWAYS, MANUAL},
    {"sigma_x", NUMBER, REGULARISATION(sigma_x), read_number, write_number, ALWAYS, MANUAL},
    {"sigma_prox", NUMBER, REGULARISATION(sigma_prox), read_number, write_number, ALWAYS, MANUAL},
    {"p", NUMBER, REGULARISATION(p), read_number, write_number, ALWAYS, PLAIN},
    {"q", NUMBER, REGULARISATION(q), read_number, write_number, ALWAYS, PLAIN},
    {"T", NUMBER, REGULARISATION(T), read_number, write_number, ALWAYS, PLAIN},
    {"qggmrf_nbr_wts", LIST, REGULARISATION(neighbour_weights), read_weights, write_weights, ALWAYS,
     PLAIN},
    {"positivity_flag", FLAG, REGULARISATION(positivity), read_flag, write_flag, ALWAYS, PLAIN},
    {"max_overrelaxation", NUMBER, REGULARISATION(max_overrelaxation), read_number, write_number,
     ALWAYS, PLAIN},
    {"max_alpha", NUMBER, REGULARISATION(max_overrelaxation), read_number, write_number, 0,
     PLAIN}, /* 0.7's name */
    {"angles", LIST, 0, read_angles, write_angles, ALWAYS & ~TRANSLATION, PLAIN},
    {"helical_z_shifts", LIST, offsetof(struct draft, z_shifts), read_optional_list, write_list,
     CONE, PLAIN},
    {"translation_vectors", LIST, 0, read_vectors, write_vectors, TRANSLATION, PLAIN},
};
const int geometry_key_count = sizeof geometry_keys / sizeof *geometry_keys;
_Static_assert(sizeof geometry_keys / sizeof *geometry_keys <= KEYS_MOST,
               "more keys than KEYS_MOST");

int key_find(const char *name)
{
    int i = 0;
    while (i < geometry_key_count && strcmp(geometry_keys[i].name, name))
        i++;
    return i;
}
