/* Facts of files that are arrays of chunks: shapes, types, chunks and codecs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/doctor/facts.h"
#include "cli/storage/info_store.h"
#include "cli/storage/sandbox.h"
#include "host/store/engine/overview.h"
#include "host/store/exchange/exchange.h"
#include "host/store/store.h"
#include "profiler/trace/secrets.h"

static int as_json;

/* Prints the file's name; an address without its secrets. */
static void info_print_file(struct facts *f, const char *path)
{
    char shown[4096];
    secrets_mask_addresses(path, shown, sizeof shown);
    facts_string(f, "file", shown);
}

static void info_print_axes(struct facts *f, const struct store_array *a)
{
    char text[200] = "", key[32];
    int known = 0;
    for (int i = 0; i < a->dims; i++) {
        known += a->axis[i] != NULL;
        text_append(text, sizeof text, "%s%.15s", i ? ", " : "", a->axis[i] ? a->axis[i] : "?");
    }
    if (known)
        facts_string(f, "axes", text);
    *text = 0;
    for (int i = 0; i < a->channels_count && strlen(text) < sizeof text - 50; i++)
        text_append(text, sizeof text, "%s%.40s", i ? ", " : "", a->channels[i].name);
    if (a->channels_count)
        facts_string(f, "channels", text);
    for (int i = 0; i < a->dims; i++)
        if (a->spacing[i] > 0 && a->axis[i]) {
            snprintf(key, sizeof key, "spacing_%.15s", a->axis[i]);
            facts_number(f, key, a->spacing[i], a->unit[i] ? a->unit[i] : "");
        }
}

void info_affine(struct facts *f, const struct nifti_details *d)
{
    static const char *const rows[] = {"affine_x", "affine_y", "affine_z"};
    double m[3][4];
    const char *from = nifti_affine(d, m);
    char text[120];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%.6g %.6g %.6g %.6g", m[i][0], m[i][1], m[i][2], m[i][3]);
        facts_string(f, rows[i], text);
    }
    const int64_t code = d->sform_code > 0 ? d->sform_code : d->qform_code;
    snprintf(text, sizeof text, code > 0 ? "%s, code %lld" : "%s", from, (long long)code);
    facts_string(f, "affine_from", text);
}

static void info_print_codec(struct facts *f, const struct store_array *a)
{
    char text[200] = "";
    const struct codec_pipeline *p = &a->pipelines[0];
    for (int i = 1; i < a->pipelines_count && !p->count; i++)
        p = &a->pipelines[i];
    for (int i = 0; i < p->count; i++)
        text_append(text, sizeof text, "%s%s", i ? ", " : "", codec_name(p->step[i].codec));
    facts_string(f, "codec", *text ? text : "none");
}

/* "FALSE = 0, TRUE = 1". */
static void info_print_members(struct facts *f, const struct store_array *a)
{
    char text[400] = "";
    for (int i = 0; i < a->members_count && strlen(text) < sizeof text - 80; i++)
        text_append(text, sizeof text, "%s%.40s = %lld", i ? ", " : "", a->members[i].name,
                    (long long)a->members[i].value);
    if (a->members_count)
        facts_string(f, "names_of_values", text);
}

/* Prints where its data come from, and the links that lead to it. */
static void info_print_links(struct facts *f, const struct store *s, const struct store_array *a)
{
    char text[1000] = "";
    for (int i = 0; i < s->aliases_count && strlen(text) < sizeof text - 260; i++)
        if (s->aliases[i].array == a)
            text_append(text, sizeof text, "%s%.250s", *text ? ", " : "", s->aliases[i].name);
    if (a->from)
        facts_string(f, "from", a->from);
    if (*text)
        facts_string(f, "also", text);
}

static void info_print_array(struct facts *f, const struct store *s, const struct store_array *a)
{
    char dtype[16];
    store_dtype_name(a->dtype, dtype);
    f->verbatim = 1;
    facts_group(f, a->name);
    f->verbatim = 0;
    facts_shape(f, "shape", a->dims, a->shape);
    facts_string(f, "dtype", dtype);
    info_print_links(f, s, a);
    info_print_members(f, a);
    info_print_axes(f, a);
    if (!a->tiles)
        facts_shape(f, "chunk", a->dims, a->chunk);
    facts_int(f, "chunks", a->chunks_count);
    info_print_codec(f, a);
    facts_bytes(f, "bytes", (double)store_elements(a) * a->dtype.bytes);
    if (a->slope != 1 || a->intercept != 0) {
        facts_number(f, "slope", a->slope, "");
        facts_number(f, "intercept", a->intercept, "");
    }
    if (a->nifti)
        info_affine(f, &a->nifti->details);
    facts_group_end(f);
}

#define DEGREES(x) ((x)*180 / M_PI)

/* Describes the file as `recon` sees it, where it is a scan by its own metadata. */
static void info_print_scan(struct facts *f, const char *path)
{
    struct exchange_info i;
    const struct exchange_source source = {.path = path};
    if (exchange_info(&source, &i) || (!i.has_theta && !i.whites))
        return;
    const int64_t shape[] = {i.views, i.rows, i.channels};
    facts_string(f, "scan", i.format);
    facts_string(f, "axes", "views, rows, channels");
    facts_shape(f, "shape", 3, shape);
    facts_string(f, "dtype", i.dtype);
    facts_string(f, "stored_as", i.sinogram_order ? "sinograms" : "projections");
    facts_int(f, "flats", i.whites);
    facts_int(f, "darks", i.darks);
    facts_bool(f, "has_theta", i.has_theta);
    facts_number(f, "theta_first", i.has_theta ? DEGREES(i.theta_first) : (double)NAN, "degrees");
    facts_number(f, "theta_last", i.has_theta ? DEGREES(i.theta_last) : (double)NAN, "degrees");
    facts_string(f, "beam", i.cone ? "cone" : "parallel");
    facts_number(f, "rotation_axis", i.center, "channel");
    facts_number(f, "pixel", i.pixel, "mm");
    facts_number(f, "source_to_axis", i.source_iso, "mm");
    facts_number(f, "axis_to_detector", i.iso_detector, "mm");
    facts_bytes(f, "bytes_as_sinogram",
                4.0 * (double)i.views * (double)i.rows * (double)i.channels);
}

static enum err print_store(char **word)
{
    const char *path = word[0];
    struct store *s;
    struct facts f;
    TRY(store_open(path, &s));
    facts_begin(&f, as_json);
    info_print_file(&f, path);
    facts_string(&f, "format", s->format);
    info_print_scan(&f, path);
    for (int i = 0; i < s->notes_count; i++)
        if (strcmp(s->notes[i].name, "unreadable") != 0)
            facts_string(&f, s->notes[i].name, s->notes[i].value);
    facts_group(&f, "arrays");
    for (int i = 0; i < s->arrays_count; i++)
        info_print_array(&f, s, s->arrays[i]);
    facts_group_end(&f);
    int unreadable = 0;
    for (int i = 0; i < s->notes_count; i++)
        unreadable += !strcmp(s->notes[i].name, "unreadable");
    if (unreadable || as_json)
        facts_group(&f, "unreadable"); /* NAME: the reason */
    for (int i = 0; i < s->notes_count; i++) {
        char name[256];
        const char *text = s->notes[i].value, *reason = strstr(text, ": ");
        if (strcmp(s->notes[i].name, "unreadable") != 0 || !reason)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(reason - text), text);
        f.verbatim = 1;
        facts_string(&f, name, reason + 2);
        f.verbatim = 0;
    }
    if (unreadable || as_json)
        facts_group_end(&f);
    facts_end(&f);
    store_close(s);
    return ERR_OK;
}

enum err info_store(const char *path, int json)
{
    char *word[] = {(char *)path};
    as_json = json;
    return storage_sandboxed(print_store, word, 1, NULL);
}

int info_is_store(const char *folder)
{
    struct store *s;
    if (store_open(folder, &s))
        return strstr(err_text(), "a folder without .zarray") == NULL;
    store_close(s);
    return 1;
}

int info_is_references(const char *head)
{
    static const char *const keys[] = {"\"refs\"", ".zarray\"", ".zgroup\"", "zarr.json\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strstr(head, keys[i]))
            return 1;
    return 0;
}

/* The histogram of an array: bins and counts, for people with bars. */

#define BAR 40 /* characters of the longest */

static int bins, as_json;

static void put_bins_json(struct facts *f, const struct histogram *h)
{
    jsonw_karray(&f->w, "edges");
    for (int i = 0; i <= h->bins; i++)
        jsonw_number(&f->w, h->edge[i]);
    jsonw_end(&f->w);
    jsonw_karray(&f->w, "counts");
    for (int i = 0; i < h->bins; i++)
        jsonw_int(&f->w, h->count[i]);
    jsonw_end(&f->w);
}

static void put_bins(const struct histogram *h)
{
    static const char bar[] = "########################################";
    int64_t most = 1;
    for (int i = 0; i < h->bins; i++)
        most = h->count[i] > most ? h->count[i] : most;
    plain_print(stdout, "\n  %14s %14s %12s\n", "from", "to", "count");
    for (int i = 0; i < h->bins; i++)
        plain_print(stdout, "  %14.7g %14.7g %12" PRId64 "%s%.*s\n", h->edge[i], h->edge[i + 1],
                    h->count[i], h->count[i] ? "  " : "",
                    (int)((double)h->count[i] / (double)most * BAR + 0.5), bar);
}

static void print_histogram(const struct store *s, const struct store_array *a,
                            const struct histogram *h)
{
    struct facts f;
    char dtype[16];
    store_dtype_name(a->dtype, dtype);
    facts_begin(&f, as_json);
    info_print_file(&f, s->name);
    facts_string(&f, "format", s->format);
    facts_string(&f, "array", a->name);
    facts_shape(&f, "shape", a->dims, a->shape);
    facts_string(&f, "dtype", dtype);
    facts_number(&f, "minimum", h->finite ? h->low : (double)NAN, "");
    facts_number(&f, "maximum", h->finite ? h->high : (double)NAN, "");
    facts_int(&f, "finite", h->finite);
    facts_int(&f, "nan", h->nan);
    facts_int(&f, "minus_infinity", h->minus_infinity);
    facts_int(&f, "plus_infinity", h->plus_infinity);
    facts_int(&f, "bins", h->bins);
    if (as_json)
        put_bins_json(&f, h);
    else
        put_bins(h);
    facts_end(&f);
}

static enum err count_values(char **word)
{
    struct histogram h;
    struct store *s;
    struct store_array *a;
    TRY(store_open(word[0], &s));
    enum err e = histogram_open(&h, bins);
    if (!e)
        e = store_find(s, NULL, &a);
    if (!e)
        e = overview_read(s, a, &h, NULL, 0);
    if (!e)
        print_histogram(s, a, &h);
    histogram_close(&h);
    store_close(s);
    return e;
}

enum err info_histogram(const char *path, int number, int json)
{
    char *word[] = {(char *)path};
    bins = number;
    as_json = json;
    return storage_sandboxed(count_values, word, 1, NULL);
}
