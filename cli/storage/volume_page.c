/* Data of the page, read from the volume's file and the reference's. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/storage/volume_page.h"
#include "host/store/format/png.h"

#define EACH       5 /* sections of an axis */
#define THIN       8 /* fewer slices than this are not cut across */
#define DIMENSIONS 3

/* Finds the dimensions of slices, rows and columns in a file. */
static void dimensions_of(const char *path, int dimension[DIMENSIONS])
{
    const int npy = text_has_suffix(path, ".npy");
    dimension[0] = 2;
    dimension[1] = npy ? 0 : 1;
    dimension[2] = npy ? 1 : 0;
}

/* Evenly spread over the axis; the third is its middle. */
static void choose_sections(struct volume_page *p, const char *volume, int reference)
{
    static const int down[] = {1, 0, 0}, across[] = {2, 2, 1};
    const struct volume *v = p->v;
    const int64_t size[] = {v->slices, v->rows, v->cols};
    const double pitch[] = {volume_delta_slice(v), volume_delta_row(v), v->delta};
    int file[DIMENSIONS];
    dimensions_of(volume, file);
    for (int axis = 0; axis < DIMENSIONS; axis++) {
        int64_t before = -1;
        for (int64_t k = 0; k < EACH && (!axis || v->slices >= THIN); k++) {
            const int64_t index = (2 * k + 1) * size[axis] / (2 * EACH);
            const int d = down[axis], a = across[axis];
            if (index == before)
                continue;
            before = index;
            struct page_section *s = &p->section[p->sections++];
            *s = (struct page_section){.axis = axis,
                                       .middle = index == size[axis] / 2,
                                       .rows = size[d],
                                       .cols = size[a],
                                       .pitch_down = pitch[d],
                                       .pitch_across = pitch[a],
                                       .quality = {(double)NAN, (double)NAN}};
            s->plane = (struct section){.down = file[d], .across = file[a], .index = index};
            if (reference) /* .npy: rows, columns, slices */
                s->reference = (struct section){
                    .down = (d + 2) % DIMENSIONS, .across = (a + 2) % DIMENSIONS, .index = index};
        }
    }
}

static enum err read_sections(const char *path, struct volume_page *p, int reference,
                              struct histogram *h)
{
    struct section planes[PAGE_SECTIONS];
    struct store *s;
    struct store_array *a;
    for (int i = 0; i < p->sections; i++)
        planes[i] = reference ? p->section[i].reference : p->section[i].plane;
    TRY(store_open(path, &s));
    enum err e = store_find(s, NULL, &a);
    if (!e)
        e = overview_read(s, a, h, planes, p->sections);
    store_close(s);
    return e;
}

static enum err sections_room(struct volume_page *p, void **block)
{
    int64_t total = 0;
    const int files = p->reference ? 2 : 1;
    for (int i = 0; i < p->sections; i++)
        total += p->section[i].rows * p->section[i].cols;
    TRY(mem_alloc("sections of the volume", (size_t)(files * total) * sizeof(float), block));
    float *at = *block;
    for (int i = 0; i < p->sections; i++) {
        struct page_section *s = &p->section[i];
        s->plane.values = at;
        at += s->rows * s->cols;
        if (files == 2) {
            s->reference.values = at;
            at += s->rows * s->cols;
        }
    }
    return ERR_OK;
}

static enum err judge_sections(struct volume_page *p)
{
    struct histogram h;
    TRY(histogram_open(&h, 1));
    const enum err e = read_sections(p->reference, p, 1, &h);
    for (int i = 0; i < p->sections && !e; i++) {
        struct page_section *s = &p->section[i];
        s->quality = quality_of_image(s->rows, s->cols, s->plane.values, s->reference.values,
                                      h.high - h.low);
    }
    histogram_close(&h);
    return e;
}

/* Black and white are those of the middle slice. */
static void find_window(struct volume_page *p)
{
    for (int i = 0; i < p->sections; i++) {
        const struct page_section *s = &p->section[i];
        if (!s->axis && s->middle)
            image_window(s->rows, s->cols, s->plane.values, s->cols, 1, &p->low, &p->high);
    }
}

enum err volume_page_write(const char *path, const char *volume, struct volume_page *p)
{
    void *block = NULL;
    p->title = volume;
    choose_sections(p, volume, p->reference != NULL);
    TRY(histogram_open(&p->histogram, PAGE_BINS));
    enum err e = sections_room(p, &block);
    if (!e)
        e = read_sections(volume, p, 0, &p->histogram);
    if (!e && p->reference)
        e = judge_sections(p);
    if (!e) {
        find_window(p);
        e = volume_page_html(path, p);
    }
    histogram_close(&p->histogram);
    mem_free(block);
    return e;
}
