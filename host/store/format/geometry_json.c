/* Geometry files: one table of MBIRJAX's keys reads and writes them. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "host/base/memory.h"
#include "host/base/options.h"
#include "host/store/format/geometry_json.h"

#define FILE_MAX ((size_t)64 << 20)

/* What cJSON takes per value: its node of 64 bytes and the allocator's share. */
#define NODE_BYTES 96
#define ASK_FROM   ((size_t)1 << 20) /* asking the system takes longer than reading a small file */

struct value_list {
    float *values;
    int64_t count;
};

/* A model while its file is read: lists stay beside it until their lengths are known to fit. */
struct draft {
    struct ct_model m;
    struct value_list angles, z_shifts;
};

/* One parameter: where it lies in struct draft, and how it is read and written. */
struct key {
    const char *name;
    size_t at;
    enum err (*read)(const char *name, const cJSON *value, void *field);
    void (*write)(struct jsonw *w, const char *name, const void *field);
    enum {
        ALWAYS,
        CONE,
        MANUAL,
        ALIAS
    } when; /* MANUAL: written when regularisation is not automatic */
};

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

static enum err read_beam(const char *name, const cJSON *value, void *field)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    int cone = !strcmp(text, "cone");
    if (!cone && strcmp(text, "parallel"))
        return wrong_type(name, "\"parallel\" or \"cone\"");
    *(enum beam *)field = cone ? BEAM_CONE : BEAM_PARALLEL;
    return ERR_OK;
}

static void write_beam(struct jsonw *w, const char *name, const void *field)
{
    jsonw_kstring(w, name, *(const enum beam *)field == BEAM_CONE ? "cone" : "parallel");
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
    jsonw_key(w, name);
    jsonw_array(w);
    for (int i = 0; i < 3; i++)
        jsonw_int(w, sizes[i]);
    jsonw_end(w);
}

static enum err read_list(const char *name, const cJSON *value, void *field)
{
    struct value_list *list = field;
    if (!cJSON_IsArray(value))
        return wrong_type(name, "a list of numbers");
    list->count = cJSON_GetArraySize(value);
    list->values = malloc((size_t)(list->count ? list->count : 1) * sizeof(float));
    FAIL_IF(!list->values, ERR_MEMORY, "no memory left for %s", name);
    const cJSON *item;
    int64_t i = 0;
    cJSON_ArrayForEach (item, value) {
        FAIL_IF(!cJSON_IsNumber(item), ERR_INPUT, "%s[%" PRId64 "] must be a number", name, i);
        list->values[i++] = (float)item->valuedouble;
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
    jsonw_key(w, name);
    jsonw_array(w);
    for (int64_t i = 0; i < list->count; i++)
        jsonw_number(w, (double)list->values[i]);
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
    jsonw_key(w, name);
    jsonw_array(w);
    for (int i = 0; i < 3; i++)
        jsonw_number(w, weights[i]);
    jsonw_end(w);
}

#define SCAN(field)           offsetof(struct draft, m.scan.field)
#define VOLUME(field)         offsetof(struct draft, m.volume.field)
#define REGULARISATION(field) offsetof(struct draft, m.regularisation.field)
static const struct key keys[] = {
    {"geometry", SCAN(beam), read_beam, write_beam, ALWAYS},
    {"sinogram_shape", SCAN(views), read_shape, write_shape, ALWAYS},
    {"source_detector_dist", SCAN(source_detector), read_distance, write_distance, CONE},
    {"source_iso_dist", SCAN(source_iso), read_distance, write_distance, CONE},
    {"use_curved_detector", SCAN(curved), read_flag, write_flag, CONE},
    {"delta_det_channel", SCAN(delta_channel), read_number, write_number, ALWAYS},
    {"delta_det_row", SCAN(delta_row), read_number, write_number, ALWAYS},
    {"det_channel_offset", SCAN(channel_offset), read_number, write_number, ALWAYS},
    {"det_row_offset", SCAN(row_offset), read_number, write_number, ALWAYS},
    {"recon_shape", VOLUME(rows), read_shape, write_shape, ALWAYS},
    {"delta_voxel", VOLUME(delta), read_voxel, write_number, ALWAYS},
    {"voxel_row_aspect", VOLUME(row_aspect), read_number, write_number, ALWAYS},
    {"voxel_slice_aspect", VOLUME(slice_aspect), read_number, write_number, ALWAYS},
    {"recon_slice_offset", VOLUME(slice_offset), read_number, write_number, CONE},
    {"use_ror_mask", VOLUME(ror), read_mask, write_mask, ALWAYS},
    {"sharpness", REGULARISATION(sharpness), read_number, write_number, ALWAYS},
    {"snr_db", REGULARISATION(snr_db), read_number, write_number, ALWAYS},
    {"auto_regularize_flag", REGULARISATION(automatic), read_flag, write_flag, ALWAYS},
    {"sigma_y", REGULARISATION(sigma_y), read_number, write_number, MANUAL},
    {"sigma_x", REGULARISATION(sigma_x), read_number, write_number, MANUAL},
    {"sigma_prox", REGULARISATION(sigma_prox), read_number, write_number, MANUAL},
    {"p", REGULARISATION(p), read_number, write_number, ALWAYS},
    {"q", REGULARISATION(q), read_number, write_number, ALWAYS},
    {"T", REGULARISATION(T), read_number, write_number, ALWAYS},
    {"qggmrf_nbr_wts", REGULARISATION(neighbour_weights), read_weights, write_weights, ALWAYS},
    {"positivity_flag", REGULARISATION(positivity), read_flag, write_flag, ALWAYS},
    {"max_overrelaxation", REGULARISATION(max_overrelaxation), read_number, write_number, ALWAYS},
    {"max_alpha", REGULARISATION(max_overrelaxation), read_number, write_number,
     ALIAS}, /* 0.7's name */
    {"angles", offsetof(struct draft, angles), read_list, write_list, ALWAYS},
    {"helical_z_shifts", offsetof(struct draft, z_shifts), read_optional_list, write_list, CONE},
};
enum { KEYS = sizeof keys / sizeof *keys };

static int key_find(const char *name)
{
    int i = 0;
    while (i < KEYS && strcmp(keys[i].name, name))
        i++;
    return i;
}

static enum err unknown_key(const char *name)
{
    const char *names[KEYS];
    for (int i = 0; i < KEYS; i++)
        names[i] = keys[i].name;
    const char *near = opt_nearest(name, names, KEYS);
    return FAIL(ERR_INPUT, "unknown key \"%.60s\"%s%s%s", name, near ? ": did you mean \"" : "",
                near ? near : "", near ? "\"?" : "");
}

static enum err read_keys(const cJSON *root, struct draft *d, unsigned char seen[KEYS])
{
    FAIL_IF(!cJSON_IsObject(root), ERR_INPUT, "must hold one JSON object: {\"geometry\": ...}");
    const cJSON *value;
    cJSON_ArrayForEach (value, root) {
        int i = key_find(value->string);
        if (i == KEYS)
            return unknown_key(value->string);
        FAIL_IF(seen[i]++, ERR_INPUT, "%s is given twice", keys[i].name);
        TRY(keys[i].read(keys[i].name, value, (char *)d + keys[i].at));
    }
    return ERR_OK;
}

static enum err check_list(const char *name, const struct value_list *list, int64_t views)
{
    FAIL_IF(list->values && list->count != views, ERR_INPUT,
            "%s has %" PRId64 " entries and sinogram_shape %" PRId64
            " views: one is needed per view",
            name, list->count, views);
    return ERR_OK;
}

/* What only the whole file tells: keys that must or must not be there, lengths, and whether a given
 * sigma turns automatic regularisation off (MBIRJAX: setting one does). */
static enum err check_together(struct draft *d, const unsigned char seen[KEYS])
{
    static const char *const required[] = {"geometry", "sinogram_shape", "angles",
                                           "source_detector_dist", "source_iso_dist"};
    int cone = d->m.scan.beam == BEAM_CONE;
    for (int i = 0; i < 5; i++) {
        int there = seen[key_find(required[i])];
        FAIL_IF(!there && (i < 3 || cone), ERR_INPUT, "the key \"%s\" is missing", required[i]);
        FAIL_IF(there && i >= 3 && !cone, ERR_INPUT, "%s: only cone beams have it", required[i]);
    }
    TRY(check_list("angles", &d->angles, d->m.scan.views));
    TRY(check_list("helical_z_shifts", &d->z_shifts, d->m.scan.views));
    for (int i = 0; i < KEYS; i++) {
        if (keys[i].when != MANUAL || !seen[i])
            continue;
        FAIL_IF(seen[key_find("auto_regularize_flag")] && d->m.regularisation.automatic, ERR_INPUT,
                "%s is given, but auto_regularize_flag is true, which would ignore it",
                keys[i].name);
    }
    for (int i = 0; i < KEYS; i++)
        if (keys[i].when == MANUAL && seen[i])
            d->m.regularisation.automatic = 0;
    return ERR_OK;
}

/* Python writes infinity as Infinity, which is not JSON: outside of strings it becomes 1e999, of
 * the same length with spaces. Counts the values on the way, an upper bound of cJSON's nodes. */
static size_t prepare_text(char *text, size_t bytes)
{
    static const char python[] = "Infinity", json[] = "1e999   ";
    size_t values = 1;
    int quoted = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else if (text[i] == 'I' && bytes - i >= 8 && !memcmp(text + i, python, 8))
            memcpy(text + i, json, 8);
        values += !quoted && strchr("[{,", text[i]) && text[i];
    }
    return values;
}

static enum err not_json(const char *text, size_t bytes, const char *at)
{
    size_t stop = at && at >= text && at <= text + bytes ? (size_t)(at - text) : 0, line = 1,
           column = 1;
    for (size_t i = 0; i < stop; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return FAIL(ERR_INPUT, "is not valid JSON at line %zu, column %zu", line, column);
}

static enum err parse_json(char *text, size_t bytes, cJSON **root)
{
    *root = NULL;
    FAIL_IF(bytes > FILE_MAX, ERR_INPUT, "is larger than 64 MiB, too large for a geometry file");
    size_t nodes = prepare_text(text, bytes) * NODE_BYTES;
    if (nodes > ASK_FROM)
        TRY(mem_require("reading it", nodes, NULL));
    const char *end = NULL;
    *root = cJSON_ParseWithLengthOpts(text, bytes, &end, 0);
    if (!*root)
        return not_json(text, bytes, end);
    while (end < text + bytes && strchr(" \t\r\n", *end)) /* a closing NUL counts as white space */
        end++;
    return end == text + bytes ? ERR_OK : not_json(text, bytes, end);
}

static enum err read_model(char *text, size_t bytes, struct ct_model *m)
{
    struct draft d = {0};
    unsigned char seen[KEYS] = {0};
    cJSON *root;
    enum err e;
    ct_model_init(&d.m);
    TRY_OUT(parse_json(text, bytes, &root));
    TRY_OUT(read_keys(root, &d, seen));
    TRY_OUT(check_together(&d, seen));
    d.m.scan.angles = d.angles.values;
    d.m.scan.z_shifts = d.z_shifts.values;
    d.angles.values = d.z_shifts.values = NULL;
    TRY_OUT(ct_model_resolve(&d.m));
    *m = d.m;
out:
    if (e)
        ct_model_free(&d.m);
    free(d.angles.values);
    free(d.z_shifts.values);
    cJSON_Delete(root);
    return e;
}

enum err ct_model_parse(const char *name, const char *text, size_t bytes, struct ct_model *m)
{
    *m = (struct ct_model){0};
    char *copy = malloc(bytes + 1);
    FAIL_IF(!copy, ERR_MEMORY, "%s: no memory left to read it", name);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    enum err e = read_model(copy, bytes, m);
    free(copy);
    return e ? err_prefix(e, "%s", name) : ERR_OK;
}

enum err ct_model_read(const char *path, struct ct_model *m)
{
    char *text;
    size_t bytes;
    *m = (struct ct_model){0};
    TRY(file_read_all(path, FILE_MAX, &text, &bytes));
    enum err e = read_model(text, bytes, m);
    free(text);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

void ct_model_write_json(struct jsonw *w, const struct ct_model *m)
{
    struct draft d = {.m = *m,
                      .angles = {(float *)m->scan.angles, m->scan.views},
                      .z_shifts = {(float *)m->scan.z_shifts, m->scan.views}};
    jsonw_object(w);
    for (int i = 0; i < KEYS; i++) {
        int left_out = (keys[i].when == CONE && m->scan.beam != BEAM_CONE) ||
                       (keys[i].when == MANUAL && m->regularisation.automatic) ||
                       keys[i].when == ALIAS;
        if (!left_out)
            keys[i].write(w, keys[i].name, (const char *)&d + keys[i].at);
    }
    jsonw_end(w);
}

enum err ct_model_write(const char *path, const struct ct_model *m)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    struct jsonw w;
    jsonw_init(&w, f.stream, 1);
    ct_model_write_json(&w, m);
    return outfile_commit(&f);
}
