/* TIFF and BigTIFF: pages of one layout are one array, the largest comes first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/tiff_page.h"

#define LAYOUTS_MOST 64
#define OME_MOST     ((int64_t)64 << 20)

static int tiff_knows(const struct reader_file *f)
{
    return f->head_bytes >= 8 && (!memcmp(f->head, "II*\0", 4) || !memcmp(f->head, "MM\0*", 4) ||
                                  !memcmp(f->head, "II+\0", 4) || !memcmp(f->head, "MM\0+", 4));
}

/* ImageJ names in its description how many images there are: "images=N". */
static int64_t imagej_images(struct store *s, const struct tiff_pages *pages)
{
    char text[2048];
    const struct tiff_page *p = &pages->items[0];
    tiff_text(s, p, &p->description, text, sizeof text);
    const char *n = strncmp(text, "ImageJ", 6) ? NULL : strstr(text, "images=");
    return n ? strtol(n + 7, NULL, 10) : 1;
}

/* An attribute of an element of XML: SizeZ="6". 1 where it is not there. */
static int64_t ome_size(const char *element, const char *end, const char *name)
{
    const char *at = strstr(element, name);
    const int64_t n = at && at < end ? strtoll(at + strlen(name), NULL, 10) : 1;
    return n < 1 || n > INT32_MAX ? 1 : n;
}

/* OME-XML names the planes of each image; samples of a pixel are channels of one plane. 1: it does
 * not, or some lie in other files. */
static enum err ome_images(struct store *s, const struct tiff_pages *pages, int64_t *out)
{
    const struct tiff_page *p = &pages->items[0];
    const size_t room = p->description.count < OME_MOST ? (size_t)p->description.count + 1 : 1;
    char *text = malloc(room);
    FAIL_IF(!text, ERR_MEMORY, "%s: no memory left for its description", s->name);
    tiff_text(s, p, &p->description, text, room);
    *out = 0;
    const int all_here = strstr(text, "<OME") && !strstr(text, "FileName=");
    for (const char *at = all_here ? strstr(text, "Pixels ") : NULL; at;
         at = strstr(at + 1, "Pixels ")) {
        const char *end = at + strcspn(at, ">");
        const int64_t c = ome_size(at, end, "SizeC=\""), z = ome_size(at, end, "SizeZ=\""),
                      t = ome_size(at, end, "SizeT=\"");
        int64_t planes = c % p->samples ? c : c / p->samples;
        if (__builtin_mul_overflow(planes, z, &planes) ||
            __builtin_mul_overflow(planes, t, &planes) ||
            __builtin_add_overflow(*out, planes, out)) {
            *out = INT64_MAX;
            break;
        }
    }
    *out = *out < 1 ? 1 : *out;
    free(text);
    return ERR_OK;
}

/* Pages of one layout. */
struct tiff_group {
    size_t first;
    int64_t count, elements;
};

ARRAY_ORDER(by_size, struct tiff_group,
            COMPARE(y->elements, x->elements) ?: COMPARE(x->first, y->first));

/* The largest is `data`; a smaller one that is not supported, as a mask of single bits is, becomes
 * a note. With the size of the largest pages and an odd number of bits it may be one of them, whose
 * directory is damaged: then how large `data` is is not known. */
static enum err add_group(struct store *s, const struct tiff_pages *all, const size_t *group_of,
                          const struct tiff_group *groups, size_t k, const struct tiff_axes *axes,
                          size_t *which)
{
    char name[40] = "data";
    const struct tiff_group *g = &groups[k];
    const struct tiff_page *p = &all->items[g->first], *most = &all->items[groups[0].first];
    const int largest = k == 0, is_alike = p->level == most->level && p->width == most->width &&
                                           p->height == most->height && p->bits != 1;
    int64_t n = 0;
    if (!largest && p->level)
        snprintf(name, sizeof name, "page%lld.%d", (long long)p->number - 1, p->level);
    else if (!largest)
        snprintf(name, sizeof name, "page%lld", (long long)p->number - 1);
    for (size_t i = 0; i < all->count; i++)
        if (group_of[i] == g->first)
            which[n++] = i;
    const int described = largest && n == axes->pages && all->items[which[0]].level == 0;
    for (int64_t i = 0; described && axes->page && i < n; i++)
        which[i] = (size_t)axes->page[i];
    if (!largest && is_alike && p->bits % 8)
        return store_unreadable_add(s, name, -1,
                                    "page %lld has %d bits per sample, and the size of the others",
                                    (long long)p->number, p->bits);
    const int before = s->arrays_count;
    const enum err e = tiff_array_add(s, name, all, which, n, described ? axes : NULL);
    if (e != ERR_UNSUPPORTED || largest)
        return e;
    s->arrays_count = before;
    return store_unreadable_add(s, name, is_alike ? -1 : 0, "%s", err_text());
}

/* A page that has the size of the largest ones and another layout would be missing in the stack. */
static enum err check_group(struct store *s, const struct tiff_pages *all,
                            const struct tiff_group *most, const struct tiff_group *g)
{
    const struct tiff_page *a = &all->items[most->first], *b = &all->items[g->first];
    const char *how = tiff_other_layout(a, b);
    FAIL_IF(a->level == b->level && how, ERR_INPUT,
            "%s: page %lld has another %s than page %lld, and the same size; pages of a stack have "
            "one layout. Rewrite it with tiffcp -c zip",
            s->name, (long long)b->number, how, (long long)a->number);
    return ERR_OK;
}

static size_t find_groups(const struct tiff_pages *all, size_t *group_of, struct tiff_group *groups)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        size_t k = 0;
        while (k < count && !tiff_same_layout(&all->items[groups[k].first], &all->items[i]))
            k++;
        if (k == LAYOUTS_MOST)
            return k + 1;
        if (k == count)
            groups[count++] = (struct tiff_group){.first = i};
        group_of[i] = groups[k].first;
        groups[k].count++;
        if (__builtin_add_overflow(groups[k].elements, tiff_page_pixels(&all->items[i]),
                                   &groups[k].elements))
            groups[k].elements = INT64_MAX;
    }
    return count;
}

static enum err tiff_add_arrays(struct store *s, const struct tiff_pages *all,
                                const struct tiff_axes *axes)
{
    struct tiff_group groups[LAYOUTS_MOST];
    size_t *which = malloc(2 * all->count * sizeof *which), *group_of = which + all->count;
    FAIL_IF(!which, ERR_MEMORY, "%s: no memory left", s->name);
    const size_t count = find_groups(all, group_of, groups);
    enum err e = count <= LAYOUTS_MOST ? ERR_OK
                                       : FAIL(ERR_UNSUPPORTED,
                                              "%s: its pages have more than %d layouts; at most "
                                              "%d are read. Split it with tiffsplit",
                                              s->name, LAYOUTS_MOST, LAYOUTS_MOST);
    if (!e)
        qsort(groups, count, sizeof *groups, by_size);
    for (size_t i = 1; i < count && !e; i++)
        e = check_group(s, all, &groups[0], &groups[i]);
    for (size_t i = 0; i < count && !e; i++)
        e = add_group(s, all, group_of, groups, i, axes, which);
    free(which);
    return e;
}

/* Texts and sizes of pixels belong to no array. */
static enum err add_notes(struct store *s, const struct tiff_page *p)
{
    char text[400];
    tiff_text(s, p, &p->description, text, sizeof text);
    if (text[0])
        TRY(store_note_add(s,
                           strstr(text, "<OME")          ? "OME-XML"
                           : !strncmp(text, "ImageJ", 6) ? "ImageJ metadata"
                                                         : "description",
                           "%lld bytes of text", (long long)p->description.count));
    if (p->resolution_unit == 2 || p->resolution_unit == 3)
        TRY(store_note_add(s, "resolution", "in pixels per %s",
                           p->resolution_unit == 2 ? "inch" : "centimetre"));
    return ERR_OK;
}

static enum err add_all(struct store *s, const struct tiff_pages *pages)
{
    const int64_t images = imagej_images(s, pages);
    const struct tiff_page *p = &pages->items[0];
    int64_t planes = 1;
    TRY(add_notes(s, p));
    TRY(ome_images(s, pages, &planes));
    FAIL_IF(
        planes > pages->main, ERR_INPUT,
        "%s: its OME-XML names %lld planes, and %lld pages are found: a directory is damaged, or "
        "the file is incomplete. If the others were never made, remove the text: tiffset -u 270",
        s->name, (long long)planes, (long long)pages->main);
    /* Stacks above 4 GiB have one directory, and images one after the other. */
    const int in_one = images > 1 && pages->main == 1 && p->compression == 1;
    FAIL_IF(!in_one && images > pages->main, ERR_INPUT,
            "%s: its description names %lld images, and %lld pages are found: a directory is "
            "damaged, or the file is incomplete",
            s->name, (long long)images, (long long)pages->main);
    struct tiff_axes axes;
    enum err e = tiff_axes_read(s, p, in_one ? images : pages->main, &axes);
    if (!e)
        e = in_one ? tiff_array_imagej(s, p, images, &axes) : tiff_add_arrays(s, pages, &axes);
    tiff_axes_free(&axes);
    return e;
}

static enum err tiff_fill(struct store *s, const struct reader_file *f)
{
    struct tiff_pages pages = {0};
    int32_t object;
    TRY(store_object_add(s, NULL, f->path, &object));
    enum err e = tiff_pages_read(s, object, &pages);
    if (!e && pages.count == 0)
        e = FAIL(ERR_INPUT, "%s: has no pages", f->path);
    if (!e)
        e = add_all(s, &pages);
    free(pages.items);
    return e;
}

static enum err tiff_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, f->head[2] == 43 || f->head[3] == 43 ? "BigTIFF" : "TIFF", out));
    const enum err e = tiff_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_tiff = {"TIFF", "TIFF", tiff_knows, tiff_open};
