/* Geometry files: MBIRJAX's keys as JSON, read, checked together, and written. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/memory.h"
#include "base/options.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/geometry_keys.h"

#define FILE_MAX ((size_t)64 << 20)

/* cJSON takes this per value: its node of 64 bytes and the allocator's share. */
#define NODE_BYTES 96
#define ASK_FROM   ((size_t)1 << 20) /* asking the system takes longer than reading a small file */

enum err key_unknown(const char *name)
{
    const char *names[KEYS_MOST];
    for (int i = 0; i < geometry_key_count; i++)
        names[i] = geometry_keys[i].name;
    const char *near = opt_nearest(name, names, geometry_key_count);
    return FAIL(ERR_INPUT, "unknown key \"%.60s\"%s%s%s", name, near ? ": did you mean \"" : "",
                near ? near : "", near ? "\"?" : "");
}

static enum err read_keys(const cJSON *root, struct draft *d, unsigned char seen[KEYS_MOST])
{
    FAIL_IF(!cJSON_IsObject(root), ERR_INPUT, "must hold one JSON object: {\"geometry\": ...}");
    const cJSON *value;
    cJSON_ArrayForEach (value, root) {
        int i = key_find(value->string);
        if (i == geometry_key_count)
            return key_unknown(value->string);
        FAIL_IF(seen[i]++, ERR_INPUT, "%s is given twice", geometry_keys[i].name);
        TRY(geometry_keys[i].read(geometry_keys[i].name, value, (char *)d + geometry_keys[i].at));
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

/* Keys that each kind needs, and those of some kinds alone, with the name of these. */
static enum err check_keys(const struct draft *d, const unsigned char seen[KEYS_MOST])
{
    static const struct {
        const char *name;
        int needed, taken;
        const char *who;
    } rules[] = {
        {"geometry", ALWAYS, ALWAYS, ""},
        {"sinogram_shape", ALWAYS, ALWAYS, ""},
        {"angles", ALWAYS & ~TRANSLATION, ALWAYS & ~TRANSLATION,
         "parallel, cone and multi-axis scans have them"},
        {"translation_vectors", TRANSLATION, TRANSLATION, "translation scans have them"},
        {"source_detector_dist", CONE | TRANSLATION, CONE | TRANSLATION, "cone beams have it"},
        {"source_iso_dist", CONE | TRANSLATION, CONE | TRANSLATION, "cone beams have it"},
        {"recon_slice_offset", 0, ALWAYS & ~TRANSLATION,
         "cone and multi-axis scans have it; z of translation_vectors moves the object"},
        {"helical_z_shifts", 0, PARALLEL | CONE, "cone beams have them"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const int there = seen[key_find(rules[i].name)];
        FAIL_IF(!there && (!d->kind || rules[i].needed & d->kind), ERR_INPUT,
                "the key \"%s\" is missing", rules[i].name);
        FAIL_IF(there && !(rules[i].taken & d->kind), ERR_INPUT, "%s: only %s", rules[i].name,
                rules[i].who);
    }
    return ERR_OK;
}

static enum err check_width(const char *name, const struct value_list *list, int width,
                            const char *numbers)
{
    FAIL_IF(list->count && list->values && list->width != width, ERR_INPUT,
            "%s has %d number%s per view: give %s", name, list->width, list->width > 1 ? "s" : "",
            numbers);
    return ERR_OK;
}

/* MBIRJAX's own defaults of translation scans. */
static void translation_defaults(struct ct_model *m, const unsigned char seen[KEYS_MOST])
{
    if (!seen[key_find("use_ror_mask")])
        m->volume.ror = ROR_NONE;
    if (!seen[key_find("voxel_row_aspect")])
        m->volume.row_aspect = 0; /* automatic */
    if (!seen[key_find("qggmrf_nbr_wts")])
        m->regularisation.neighbour_weights[0] = 0.1;
    if (!seen[key_find("max_overrelaxation")] && !seen[key_find("max_alpha")])
        m->regularisation.max_overrelaxation = 1.3;
}

/* Checks that need the whole file: keys that must or must not be there, lengths, and whether a
 * given sigma turns automatic regularisation off (MBIRJAX: setting one does). */
static enum err check_together(struct draft *d, const unsigned char seen[KEYS_MOST])
{
    const int pairs = d->kind == MULTIAXIS;
    TRY(check_keys(d, seen));
    TRY(check_list("angles", &d->angles, d->m.scan.views));
    TRY(check_list("helical_z_shifts", &d->z_shifts, d->m.scan.views));
    TRY(check_list("translation_vectors", &d->vectors, d->m.scan.views));
    TRY(check_width("angles", &d->angles, pairs ? 2 : 1,
                    pairs ? "[azimuth, elevation]" : "one angle"));
    TRY(check_width("helical_z_shifts", &d->z_shifts, 1, "one shift"));
    TRY(check_width("translation_vectors", &d->vectors, 3, "[x, y, z]"));
    FAIL_IF(d->kind == TRANSLATION && isinf(d->m.scan.source_detector), ERR_INPUT,
            "source_detector_dist is infinite: a translation scan then sees the same in each view; "
            "give a finite distance");
    for (int i = 0; i < geometry_key_count; i++) {
        if (geometry_keys[i].when != MANUAL || !seen[i])
            continue;
        FAIL_IF(seen[key_find("auto_regularize_flag")] && d->m.regularisation.automatic, ERR_INPUT,
                "%s is given, but auto_regularize_flag is true, which would ignore it",
                geometry_keys[i].name);
    }
    for (int i = 0; i < geometry_key_count; i++)
        if (geometry_keys[i].when == MANUAL && seen[i])
            d->m.regularisation.automatic = 0;
    if (d->kind == TRANSLATION)
        translation_defaults(&d->m, seen);
    return ERR_OK;
}

/* Tables of translation and multi-axis scans, out of what the file calls them. */
static enum err make_moves(struct draft *d)
{
    struct scan *s = &d->m.scan;
    if (!(d->kind & (TRANSLATION | MULTIAXIS)))
        return ERR_OK;
    const size_t n = (size_t)s->views;
    struct view_move *moves = calloc(n, sizeof *moves);
    float *angles = calloc(n, sizeof *angles);
    float *z = d->kind == TRANSLATION ? calloc(n, sizeof *z) : NULL;
    s->moves = moves;
    s->angles = angles;
    s->z_shifts = z;
    FAIL_IF(!moves || !angles || (d->kind == TRANSLATION && !z), ERR_MEMORY,
            "no memory left for the tables of %zu views", n);
    for (size_t i = 0; z && i < n; i++) {
        const float *v = d->vectors.values + 3 * i;
        moves[i] = (struct view_move){.x = v[0], .y = v[1]};
        z[i] = v[2];
    }
    for (size_t i = 0; !z && i < n; i++) {
        angles[i] = d->angles.values[2 * i];
        moves[i].elevation = d->angles.values[2 * i + 1];
    }
    if (!z)
        s->source_detector = s->source_iso = (double)INFINITY;
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
    if (end == text + bytes)
        return ERR_OK;
    cJSON_Delete(*root);
    *root = NULL;
    return not_json(text, bytes, end);
}

enum err ct_model_from_keys(const cJSON *root, struct ct_model *m)
{
    struct draft d = {0};
    unsigned char seen[KEYS_MOST] = {0};
    enum err e;
    *m = (struct ct_model){0};
    ct_model_init(&d.m);
    TRY_OUT(read_keys(root, &d, seen));
    TRY_OUT(check_together(&d, seen));
    TRY_OUT(make_moves(&d));
    if (!d.m.scan.moves) {
        d.m.scan.angles = d.angles.values;
        d.m.scan.z_shifts = d.z_shifts.values;
        d.angles.values = d.z_shifts.values = NULL;
    }
    TRY_OUT(ct_model_resolve(&d.m));
    *m = d.m;
out:
    if (e)
        ct_model_free(&d.m);
    free(d.angles.values);
    free(d.z_shifts.values);
    free(d.vectors.values);
    return e;
}

enum err geometry_keys_parse(const char *name, const char *text, size_t bytes, cJSON **root)
{
    *root = NULL;
    char *copy = malloc(bytes + 1);
    FAIL_IF(!copy, ERR_MEMORY, "%s: no memory left to read it", name);
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    enum err e = parse_json(copy, bytes, root);
    free(copy);
    return e ? err_prefix(e, "%s", name) : ERR_OK;
}

enum err geometry_keys_read(const char *path, cJSON **root)
{
    char *text;
    size_t bytes;
    *root = NULL;
    TRY(file_read_all(path, FILE_MAX, &text, &bytes));
    enum err e = parse_json(text, bytes, root);
    free(text);
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

/* Takes `root`. */
static enum err model_of_keys(const char *name, cJSON *root, struct ct_model *m)
{
    enum err e = ct_model_from_keys(root, m);
    cJSON_Delete(root);
    return e ? err_prefix(e, "%s", name) : ERR_OK;
}

enum err ct_model_parse(const char *name, const char *text, size_t bytes, struct ct_model *m)
{
    cJSON *root;
    *m = (struct ct_model){0};
    TRY(geometry_keys_parse(name, text, bytes, &root));
    return model_of_keys(name, root, m);
}

enum err ct_model_read(const char *path, struct ct_model *m)
{
    cJSON *root;
    *m = (struct ct_model){0};
    TRY(geometry_keys_read(path, &root));
    return model_of_keys(path, root, m);
}

void ct_model_write_json(struct jsonw *w, const struct ct_model *m)
{
    struct draft d = {.m = *m,
                      .kind = kind_of(&m->scan),
                      .angles = {(float *)m->scan.angles, m->scan.views, 1},
                      .z_shifts = {(float *)m->scan.z_shifts, m->scan.views, 1}};
    jsonw_object(w);
    for (int i = 0; i < geometry_key_count; i++) {
        const int left_out = geometry_keys[i].when == MANUAL && m->regularisation.automatic;
        if (geometry_keys[i].written & (int)d.kind && !left_out)
            geometry_keys[i].write(w, geometry_keys[i].name,
                                   (const char *)&d + geometry_keys[i].at);
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
