/* Dimensions of a stack of pages, by what its writer says in the description of the first page:
 * OME-XML, ImageJ, tifffile. A description that does not fit the pages is left aside. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "host/store/format/xml.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/tiff_page.h"

#define TEXT_MOST     ((int64_t)64 << 20)
#define CHANNELS_MOST 1024

void tiff_axes_free(struct tiff_axes *axes)
{
    free(axes->page);
    axes->page = NULL;
}

void tiff_axes_of_pixels(struct store_array *a, const struct tiff_axes *axes)
{
    for (int d = axes->count; d < a->dims; d++)
        for (int k = 0; k < 2; k++)
            if (a->axis[d] && !strcmp(a->axis[d], k ? "x" : "y")) {
                a->spacing[d] = k ? axes->x : axes->y;
                a->unit[d] = a->spacing[d] > 0 ? axes->xy_unit : NULL;
            }
    a->channels = axes->channels;
    a->channels_count = axes->channels_count;
}

/* Gives one name to what writers call um, micron or by a Greek letter, as other formats have it. */
static const char *unit_of(struct store *s, const char *text)
{
    static const char *const microns[] = {"um",       "\xc2\xb5m", "\xce\xbcm", "micron",
                                          "\\u00B5m", "microns",   NULL};
    for (int i = 0; microns[i]; i++)
        if (!strcmp(microns[i], text))
            return "micrometer";
    return *text ? store_text(s, text) : NULL;
}

static void axis_add(struct tiff_axes *axes, const char *name, int64_t size, double spacing,
                     const char *unit)
{
    if (size < 2 || axes->count == STORE_DIMS - 3)
        return;
    axes->axis[axes->count] = name;
    axes->spacing[axes->count] = spacing;
    axes->unit[axes->count] = spacing > 0 ? unit : NULL;
    axes->size[axes->count++] = size;
}

/* ---- OME-XML ---- */

struct ome_plane_axis {
    const char *name;
    const char *size, *first, *spacing, *unit, *usual; /* attributes, and the unit without one */
    int64_t count;
};
enum { OME_AXES = 3 };

static int64_t ome_integer(const char *element, const char *name, int64_t usual)
{
    char text[32], *end;
    if (!xml_attribute(element, name, text, sizeof text))
        return usual;
    const int64_t v = strtoll(text, &end, 10);
    return end == text || *end ? -1 : v;
}

/* Pages of the planes, in the order of the dimensions; 0: some are missing or in no order. */
static int ome_pages(const char *pixels, const struct ome_plane_axis *order[OME_AXES],
                     int64_t samples, struct tiff_axes *axes)
{
    const char *end = strstr(pixels, "</Pixels>"), *end_of = strstr(pixels, "</ome:Pixels>");
    const char *at = pixels;
    end = end ? end : end_of;
    int found = 0;
    for (int64_t i = 0; i < axes->pages; i++)
        axes->page[i] = -1;
    while (end && (at = xml_element(at + 1, "TiffData")) && at < end) {
        int64_t place = 0, stride = 1;
        const int64_t page = ome_integer(at, "IFD", 0),
                      planes = ome_integer(at, "PlaneCount",
                                           ome_integer(at, "IFD", -2) == -2 ? axes->pages : 1);
        for (int i = 0; i < OME_AXES; i++) {
            int64_t first = ome_integer(at, order[i]->first, 0);
            first = *order[i]->name == 'c' ? first / samples : first;
            if (first < 0 || first >= order[i]->count)
                return 0;
            place += stride * first;
            stride *= order[i]->count;
        }
        if (page < 0 || planes < 0 || planes > axes->pages - place || planes > axes->pages - page)
            return 0;
        for (int64_t i = 0; i < planes; i++)
            axes->page[place + i] = page + i;
        found = 1;
    }
    for (int64_t i = 0; i < axes->pages; i++) {
        axes->page[i] = found ? axes->page[i] : i;
        if (axes->page[i] < 0)
            return 0;
    }
    return 1;
}

static enum err ome_channels(struct store *s, const char *pixels, int64_t count,
                             struct tiff_axes *axes)
{
    char name[120];
    const char *at = pixels;
    if (count < 2 || count > CHANNELS_MOST)
        return ERR_OK;
    axes->channels = arena_take(s->arena, (size_t)count * sizeof *axes->channels);
    FAIL_IF(!axes->channels, ERR_MEMORY, "%s: no memory left", s->name);
    for (int64_t i = 0; i < count && (at = xml_element(at + 1, "Channel")); i++)
        if (xml_attribute(at, "Name", name, sizeof name))
            axes->channels[axes->channels_count++] = (struct store_member){store_text(s, name), i};
    return ERR_OK;
}

/* The unit of an attribute, as PhysicalSizeXUnit. */
static const char *ome_unit(struct store *s, const char *pixels, const char *name,
                            const char *usual)
{
    char text[40];
    return name && xml_attribute(pixels, name, text, sizeof text) ? unit_of(s, text) : usual;
}

/* Files of several images have several stacks, and of several files their planes elsewhere. */
static enum err ome_axes(struct store *s, const char *text, const struct tiff_page *p,
                         struct tiff_axes *axes)
{
    struct ome_plane_axis of[OME_AXES] = {
        {"t", "SizeT", "FirstT", "TimeIncrement", "TimeIncrementUnit", "s", 0},
        {"c", "SizeC", "FirstC", NULL, NULL, NULL, 0},
        {"z", "SizeZ", "FirstZ", "PhysicalSizeZ", "PhysicalSizeZUnit", "micrometer", 0}};
    const struct ome_plane_axis *order[OME_AXES] = {NULL};
    char letters[16];
    int64_t planes = 1;
    const char *pixels = xml_element(text, "Pixels");
    if (!pixels || xml_element(pixels + 1, "Pixels") || strstr(text, "FileName=") ||
        !xml_attribute(pixels, "DimensionOrder", letters, sizeof letters) || strlen(letters) != 5)
        return ERR_OK;
    for (int i = 0; i < OME_AXES; i++) {
        of[i].count = ome_integer(pixels, of[i].size, 1);
        if (i == 1)
            of[i].count = of[i].count % p->samples ? of[i].count : of[i].count / p->samples;
        for (int k = 0; k < OME_AXES; k++)
            if (tolower((unsigned char)letters[2 + k]) == *of[i].name)
                order[k] = &of[i];
        if (of[i].count < 1 || __builtin_mul_overflow(planes, of[i].count, &planes))
            return ERR_OK;
    }
    if (planes != axes->pages || !order[0] || !order[1] || !order[2])
        return ERR_OK;
    axes->page = malloc((size_t)axes->pages * sizeof *axes->page);
    FAIL_IF(!axes->page, ERR_MEMORY, "%s: no memory left", s->name);
    if (!ome_pages(pixels, order, p->samples, axes))
        return ERR_OK;
    for (int i = OME_AXES - 1; i >= 0; i--) {
        const double spacing = order[i]->spacing ? xml_number(pixels, order[i]->spacing) : 0;
        axis_add(axes, order[i]->name, order[i]->count, spacing,
                 ome_unit(s, pixels, order[i]->unit, order[i]->usual));
    }
    axes->x = xml_number(pixels, "PhysicalSizeX");
    axes->y = xml_number(pixels, "PhysicalSizeY");
    axes->xy_unit = ome_unit(s, pixels, "PhysicalSizeXUnit", "micrometer");
    return ome_channels(s, pixels, of[1].count, axes);
}

/* ---- ImageJ ---- */

/* Value of a line "key=value". */
static int imagej_value(const char *text, const char *key, char *out, size_t room)
{
    const size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0 || line[n] != '=')
            continue;
        const size_t length = strcspn(line + n + 1, "\r\n");
        snprintf(out, room, "%.*s", (int)(length < room ? length : room - 1), line + n + 1);
        return 1;
    }
    return 0;
}

static int64_t imagej_count(const char *text, const char *key)
{
    char value[32];
    const int64_t n = imagej_value(text, key, value, sizeof value) ? strtoll(value, NULL, 10) : 1;
    return n < 1 || n > INT32_MAX ? 1 : n;
}

static double imagej_number(const char *text, const char *key)
{
    char value[40];
    const double v = imagej_value(text, key, value, sizeof value) ? strtod(value, NULL) : 0;
    return isfinite(v) && v > 0 ? v : 0;
}

/* Channels follow each other first, then slices, then frames. A stack that names neither is one of
 * slices. */
static void imagej_axes(struct store *s, const char *text, const struct tiff_page *p,
                        struct tiff_axes *axes)
{
    char unit[40] = "";
    int64_t planes;
    const int64_t t = imagej_count(text, "frames"), z = imagej_count(text, "slices"),
                  c = imagej_count(text, "channels") / p->samples ?: 1;
    const int named = !__builtin_mul_overflow(t * z, c, &planes) && planes == axes->pages;
    imagej_value(text, "unit", unit, sizeof unit);
    const char *length = unit_of(s, unit);
    axis_add(axes, "t", named ? t : 1, imagej_number(text, "finterval"), "s");
    axis_add(axes, "z", named ? z : axes->pages, imagej_number(text, "spacing"), length);
    axis_add(axes, "c", named ? c : 1, 0, NULL);
    for (int k = 0; k < 2 && length; k++) {
        const double per_unit = tiff_rational(s, p, &p->resolution[k]);
        *(k ? &axes->y : &axes->x) = per_unit > 0 ? 1 / per_unit : 0;
    }
    axes->xy_unit = length;
}

/* ---- tifffile: {"shape": [2, 3, 40, 50], "axes": "TZYX"} ---- */

static void tifffile_axes(struct store *s, const char *text, const struct tiff_page *p,
                          struct tiff_axes *axes)
{
    cJSON *j = cJSON_Parse(text);
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(j, "shape"),
                *names = cJSON_GetObjectItemCaseSensitive(j, "axes");
    const int n = cJSON_IsArray(shape) ? cJSON_GetArraySize(shape) : 0;
    const int outer = n - 2 - (p->samples > 1);
    const char *letters =
        cJSON_IsString(names) && (int)strlen(names->valuestring) == n ? names->valuestring : NULL;
    int64_t planes = 1;
    for (int i = 0; i < outer; i++) {
        const cJSON *v = cJSON_GetArrayItem(shape, i);
        const double size = cJSON_IsNumber(v) ? v->valuedouble : 0;
        planes *= size >= 1 && size <= (double)axes->pages ? (int64_t)size : 0;
        planes = planes > axes->pages ? 0 : planes;
    }
    for (int i = 0; i < outer && outer <= STORE_DIMS - 3 && planes == axes->pages; i++) {
        char name[2] = {letters ? (char)tolower((unsigned char)letters[i]) : 0, 0};
        axis_add(axes, *name && *name != 'q' && *name != 'i' ? store_text(s, name) : NULL,
                 (int64_t)cJSON_GetArrayItem(shape, i)->valuedouble, 0, NULL);
    }
    cJSON_Delete(j);
}

static enum err axes_of_text(struct store *s, const struct tiff_page *p, struct tiff_axes *out)
{
    const int64_t n = p->description.count;
    if (n < 1 || n > TEXT_MOST)
        return ERR_OK;
    char *text = malloc((size_t)n + 1);
    FAIL_IF(!text, ERR_MEMORY, "%s: no memory left for its description", s->name);
    tiff_text(s, p, &p->description, text, (size_t)n + 1);
    enum err e = ERR_OK;
    if (strstr(text, "<OME") || strstr(text, "<ome:OME"))
        e = ome_axes(s, text, p, out);
    else if (!strncmp(text, "ImageJ", 6))
        imagej_axes(s, text, p, out);
    else if (*text == '{')
        tifffile_axes(s, text, p, out);
    free(text);
    return e;
}

enum err tiff_axes_read(struct store *s, const struct tiff_page *p, int64_t pages,
                        struct tiff_axes *out)
{
    int64_t planes = 1;
    *out = (struct tiff_axes){.pages = pages};
    const enum err e = axes_of_text(s, p, out);
    for (int i = 0; i < out->count; i++)
        planes *= out->size[i];
    if (planes != pages) { /* as one dimension, in the order of the file */
        const struct tiff_axes found = *out;
        tiff_axes_free(out);
        *out = (struct tiff_axes){.count = pages > 1,
                                  .size = {pages},
                                  .pages = pages,
                                  .x = found.x,
                                  .y = found.y,
                                  .xy_unit = found.xy_unit};
    }
    return e;
}
