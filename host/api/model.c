/* Models: the parameters that were given, and what automatic values make of them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/api/call.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/geometry_keys.h"

enum err model_text(const struct ct_model *m, char **text, size_t *bytes)
{
    struct jsonw w;
    *text = NULL;
    FILE *f = open_memstream(text, bytes);
    FAIL_IF(!f, ERR_MEMORY, "no memory left for the model's parameters");
    jsonw_init(&w, f, 0);
    ct_model_write_json(&w, m);
    FAIL_IF(fclose(f), ERR_MEMORY, "no memory left for the model's parameters");
    return ERR_OK;
}

/* All parameters, the automatic ones filled, as JSON. */
static enum err model_values(const struct ct_model *m, cJSON **out)
{
    char *text;
    size_t bytes;
    *out = NULL;
    TRY(model_text(m, &text, &bytes));
    enum err e = geometry_keys_parse("the model", text, bytes, out);
    free(text);
    return e;
}

/* Makes a model of `given`, which it takes. */
static enum err model_of_keys(cJSON *given, tomoprof_model **out)
{
    tomoprof_model *m = calloc(1, sizeof *m);
    enum err e =
        m ? ct_model_from_keys(given, &m->m) : FAIL(ERR_MEMORY, "no memory left for a model");
    if (e) {
        free(m);
        cJSON_Delete(given);
        return e;
    }
    m->given = given;
    *out = m;
    return ERR_OK;
}

/* Carries the arguments of the functions below into a call. */
struct model_work {
    const char *name, *text;
    size_t count;
    const double *values;
    const int64_t *views;
    tomoprof_model *m;
    const tomoprof_model *from;
    tomoprof_model **out;
    char *json;
    double *numbers;
    int32_t *pixels;
    size_t room, *length;
};

static enum err check_pointer(const void *p, const char *name)
{
    FAIL_IF(!p, ERR_USAGE, "%s is NULL; pass an address", name);
    return ERR_OK;
}

static enum err work_read(void *state)
{
    const struct model_work *w = state;
    cJSON *given;
    TRY(check_pointer(w->out, "out"));
    *w->out = NULL;
    TRY(check_pointer(w->name, "path"));
    TRY(geometry_keys_read(w->name, &given));
    enum err e = model_of_keys(given, w->out);
    return e ? err_prefix(e, "%s", w->name) : ERR_OK;
}

static enum err work_parse(void *state)
{
    const struct model_work *w = state;
    cJSON *given;
    TRY(check_pointer(w->out, "out"));
    *w->out = NULL;
    TRY(check_pointer(w->text, "json"));
    TRY(geometry_keys_parse("json", w->text, w->count, &given));
    return model_of_keys(given, w->out);
}

/* ---- Setting ---- */

/* Numbers of a row of a list: lists of lists have more than one. */
static int row_width(const struct ct_model *m, const char *name)
{
    if (!strcmp(name, "translation_vectors"))
        return 3;
    return !strcmp(name, "angles") && kind_of(&m->scan) == MULTIAXIS ? 2 : 1;
}

static enum err json_list(const struct model_work *w, int width, cJSON **out)
{
    FAIL_IF(w->count % (size_t)width, ERR_USAGE,
            "%s: %zu values were given; expected a multiple of %d, which are a row", w->name,
            w->count, width);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; list && i < w->count; i += (size_t)width) {
        cJSON *item = width == 1 ? cJSON_CreateNumber(w->values[i])
                                 : cJSON_CreateDoubleArray(w->values + i, width);
        if (!item || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            cJSON_Delete(list);
            list = NULL;
        }
    }
    *out = list;
    return ERR_OK;
}

static enum err json_value(const struct model_work *w, const struct key *key, cJSON **out)
{
    for (size_t i = 0; i < w->count; i++)
        FAIL_IF(isnan(w->values[i]), ERR_USAGE, "%s: value %zu is NaN; expected a number", w->name,
                i);
    FAIL_IF(key->form == TEXT, ERR_USAGE,
            "%s cannot be set; make another model with tomoprof_model_parse", w->name);
    FAIL_IF(key->form != LIST && w->count != 1, ERR_USAGE,
            "%s: %zu values were given; expected one", w->name, w->count);
    FAIL_IF(key->form == FLAG && w->values[0] != 0 && w->values[0] != 1, ERR_USAGE,
            "%s=%g: expected 0 or 1", w->name, w->values[0]);
    if (key->form == LIST)
        TRY(json_list(w, row_width(&w->m->m, w->name), out));
    else
        *out = key->form == FLAG ? cJSON_CreateBool(w->values[0] != 0)
                                 : cJSON_CreateNumber(w->values[0]);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left for %s", w->name);
    return ERR_OK;
}

/* A sigma and automatic regularisation exclude each other: the later one counts, as in MBIRJAX. */
static void drop_opposites(cJSON *given, const char *name, int value)
{
    static const char *const sigmas[] = {"sigma_y", "sigma_x", "sigma_prox"};
    for (int i = 0; i < 3; i++) {
        if (!strcmp(name, sigmas[i]))
            cJSON_DeleteItemFromObjectCaseSensitive(given, "auto_regularize_flag");
        if (!strcmp(name, "auto_regularize_flag") && value)
            cJSON_DeleteItemFromObjectCaseSensitive(given, sigmas[i]);
    }
}

static enum err keys_with(const struct model_work *w, cJSON *given)
{
    const int at = key_find(w->name);
    cJSON *value = NULL;
    if (at == geometry_key_count)
        return key_unknown(w->name);
    FAIL_IF(!given, ERR_MEMORY, "no memory left for the parameters");
    if (w->count)
        TRY(json_value(w, &geometry_keys[at], &value));
    cJSON_DeleteItemFromObjectCaseSensitive(given, w->name);
    if (!value)
        return ERR_OK;
    drop_opposites(given, w->name, value->type == cJSON_True);
    if (cJSON_AddItemToObject(given, w->name, value))
        return ERR_OK;
    cJSON_Delete(value);
    return FAIL(ERR_MEMORY, "no memory left for %s", w->name);
}

static enum err work_set(void *state)
{
    const struct model_work *w = state;
    tomoprof_model *changed;
    TRY(check_pointer(w->m, "m"));
    TRY(check_pointer(w->name, "name"));
    if (w->count)
        TRY(check_pointer(w->values, "values"));
    cJSON *given = cJSON_Duplicate(w->m->given, 1);
    enum err e = keys_with(w, given);
    if (e) {
        cJSON_Delete(given);
        return e;
    }
    TRY(model_of_keys(given, &changed));
    const tomoprof_model before = *w->m;
    *w->m = *changed;
    *changed = before;
    tomoprof_model_free(changed);
    return ERR_OK;
}

/* ---- Getting ---- */

static void numbers_of(const cJSON *value, const struct model_work *w)
{
    const cJSON *item;
    if (cJSON_IsArray(value)) {
        cJSON_ArrayForEach (item, value)
            numbers_of(item, w);
        return;
    }
    if (*w->length < w->room)
        w->numbers[*w->length] = cJSON_IsNumber(value)   ? value->valuedouble
                                 : cJSON_IsString(value) ? (double)INFINITY /* "inf" */
                                                         : cJSON_IsTrue(value);
    ++*w->length;
}

static enum err work_get(void *state)
{
    const struct model_work *w = state;
    cJSON *all;
    TRY(check_pointer(w->from, "m"));
    TRY(check_pointer(w->name, "name"));
    TRY(check_pointer(w->length, "count"));
    if (w->room)
        TRY(check_pointer(w->numbers, "values"));
    const int at = key_find(w->name);
    if (at == geometry_key_count)
        return key_unknown(w->name);
    FAIL_IF(geometry_keys[at].form == TEXT, ERR_USAGE,
            "%s is a text, not numbers; tomoprof_model_json has it", w->name);
    TRY(model_values(&w->from->m, &all));
    *w->length = 0;
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(
        all, !strcmp(w->name, "max_alpha") ? "max_overrelaxation" : w->name);
    if (value)
        numbers_of(value, w);
    cJSON_Delete(all);
    return ERR_OK;
}

static enum err work_json(void *state)
{
    const struct model_work *w = state;
    char *text;
    size_t bytes;
    TRY(check_pointer(w->from, "m"));
    TRY(check_pointer(w->length, "bytes"));
    if (w->room)
        TRY(check_pointer(w->json, "json"));
    TRY(model_text(&w->from->m, &text, &bytes));
    if (w->room) {
        const size_t part = bytes < w->room ? bytes : w->room - 1;
        memcpy(w->json, text, part);
        w->json[part] = 0;
    }
    *w->length = bytes;
    free(text);
    return ERR_OK;
}

static enum err work_pixels(void *state)
{
    const struct model_work *w = state;
    int32_t *inside = NULL;
    int64_t n;
    TRY(check_pointer(w->from, "m"));
    TRY(check_pointer(w->length, "count"));
    if (w->room)
        TRY(check_pointer(w->pixels, "pixels"));
    const struct volume *v = &w->from->m.volume;
    n = volume_pixels(v);
    if (v->ror != ROR_NONE)
        TRY(volume_pixels_inside(v, &inside, &n));
    for (int64_t i = 0; i < n && (size_t)i < w->room; i++)
        w->pixels[i] = inside ? inside[i] : (int32_t)i;
    *w->length = (size_t)n;
    free(inside);
    return ERR_OK;
}

/* ---- Some views of a model ---- */

static enum err views_list(const struct model_work *w, cJSON *all, const char *name)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(all, name);
    if (!list)
        return ERR_OK;
    const int64_t views = w->from->m.scan.views;
    const cJSON **items = malloc((size_t)views * sizeof *items), *item;
    cJSON *some = cJSON_CreateArray();
    int64_t n = 0;
    enum err e = items && some ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for %s", name);
    if (items)
        cJSON_ArrayForEach (item, list)
            if (n < views)
                items[n++] = item;
    for (size_t i = 0; !e && i < w->count; i++) {
        cJSON *copy = cJSON_Duplicate(items[w->views[i]], 1);
        if (!copy || !cJSON_AddItemToArray(some, copy))
            e = FAIL(ERR_MEMORY, "no memory left for %s", name);
    }
    free((void *)items);
    if (!e && !cJSON_ReplaceItemInObjectCaseSensitive(all, name, some))
        e = FAIL(ERR_MEMORY, "no memory left for %s", name);
    if (e)
        cJSON_Delete(some);
    return e;
}

static enum err work_views(void *state)
{
    static const char *const lists[] = {"angles", "helical_z_shifts", "translation_vectors"};
    const struct model_work *w = state;
    cJSON *all;
    enum err e = ERR_OK;
    TRY(check_pointer(w->out, "out"));
    *w->out = NULL;
    TRY(check_pointer(w->from, "m"));
    TRY(check_pointer(w->views, "views"));
    const int64_t views = w->from->m.scan.views;
    FAIL_IF(!w->count || w->count > INT32_MAX, ERR_USAGE, "count is %zu; expected 1 to %d",
            w->count, INT32_MAX);
    for (size_t i = 0; i < w->count; i++)
        FAIL_IF(w->views[i] < 0 || w->views[i] >= views, ERR_USAGE,
                "views[%zu] is %" PRId64 "; expected 0 to %" PRId64, i, w->views[i], views - 1);
    TRY(model_values(&w->from->m, &all));
    for (size_t i = 0; !e && i < sizeof lists / sizeof *lists; i++)
        e = views_list(w, all, lists[i]);
    if (e) {
        cJSON_Delete(all);
        return e;
    }
    cJSON *shape = cJSON_GetObjectItemCaseSensitive(all, "sinogram_shape");
    cJSON_SetNumberValue(shape->child, (double)w->count);
    return model_of_keys(all, w->out);
}

/* ---- tomoprof.h ---- */

tomoprof_status tomoprof_model_read(tomoprof_context *c, const char *path, tomoprof_model **out)
{
    return call_simple(c, work_read, &(struct model_work){.name = path, .out = out});
}

tomoprof_status tomoprof_model_parse(tomoprof_context *c, const char *json, size_t bytes,
                                     tomoprof_model **out)
{
    return call_simple(c, work_parse,
                       &(struct model_work){.text = json, .count = bytes, .out = out});
}

void tomoprof_model_free(tomoprof_model *m)
{
    if (!m)
        return;
    ct_model_free(&m->m);
    cJSON_Delete(m->given);
    free(m);
}

tomoprof_status tomoprof_model_set(tomoprof_context *c, tomoprof_model *m, const char *name,
                                   const double *values, size_t count)
{
    return call_simple(
        c, work_set, &(struct model_work){.m = m, .name = name, .values = values, .count = count});
}

tomoprof_status tomoprof_model_get(tomoprof_context *c, const tomoprof_model *m, const char *name,
                                   double *values, size_t room, size_t *count)
{
    return call_simple(
        c, work_get,
        &(struct model_work){
            .from = m, .name = name, .numbers = values, .room = room, .length = count});
}

tomoprof_status tomoprof_model_json(tomoprof_context *c, const tomoprof_model *m, char *json,
                                    size_t room, size_t *bytes)
{
    return call_simple(
        c, work_json, &(struct model_work){.from = m, .json = json, .room = room, .length = bytes});
}

tomoprof_status tomoprof_model_pixels(tomoprof_context *c, const tomoprof_model *m, int32_t *pixels,
                                      size_t room, size_t *count)
{
    return call_simple(
        c, work_pixels,
        &(struct model_work){.from = m, .pixels = pixels, .room = room, .length = count});
}

tomoprof_status tomoprof_model_views(tomoprof_context *c, const tomoprof_model *m,
                                     const int64_t *views, size_t count, tomoprof_model **out)
{
    return call_simple(c, work_views,
                       &(struct model_work){.from = m, .views = views, .count = count, .out = out});
}

void tomoprof_model_sinogram_shape(const tomoprof_model *m, int64_t shape[3])
{
    const struct scan none = {0}, *s = m ? &m->m.scan : &none;
    shape[0] = s->views;
    shape[1] = s->rows;
    shape[2] = s->channels;
}

void tomoprof_model_volume_shape(const tomoprof_model *m, int64_t shape[3])
{
    const struct volume none = {0}, *v = m ? &m->m.volume : &none;
    shape[0] = v->rows;
    shape[1] = v->cols;
    shape[2] = v->slices;
}
