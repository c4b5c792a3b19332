/* DICOM: a file, or a folder whose files are slices of series. GDCM reads them, headers in a child
 * process (guard/) and pixels in another (codec/children.h). */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "host/store/dicom/dicom.h"
#include "host/store/fetch/http.h"
#include "host/store/guard/guarded.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

#define MARK_AT    128 /* of "DICM" */
#define LOOKS_MOST 64  /* files of a folder that are opened to find one */
#define FILES_MOST 65536
#define UNEVEN     0.01 /* of the distance between slices */

static int is_marked(const unsigned char *head, size_t n)
{
    return n >= MARK_AT + 4 && !memcmp(head + MARK_AT, "DICM", 4);
}

/* A file that cannot be read may be a slice: that is an error. */
static enum err file_read_mark(const char *folder, const char *name, int *marked)
{
    char path[8192];
    unsigned char head[MARK_AT + 4];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *marked = 0;
    FILE *f = fopen(path, "rbe");
    int why = f ? 0 : errno;
    if (f) {
        n = fread(head, 1, sizeof head, f);
        why = ferror(f) ? errno : 0;
        fclose(f);
    }
    FAIL_IF(why && why != EISDIR, ERR_INPUT,
            "%s: cannot read: %s. It may be a slice of the series; move it elsewhere where it is "
            "not",
            path, strerror(why));
    *marked = is_marked(head, n);
    return ERR_OK;
}

/* A DICOMDIR lists the files of a medium and has no image. */
static int select_file(const struct dirent *d)
{
    return d->d_name[0] != '.' &&
           (d->d_type == DT_REG || d->d_type == DT_UNKNOWN || d->d_type == DT_LNK) &&
           strcmp(d->d_name, "DICOMDIR") != 0;
}

static int dicom_knows(const struct reader_file *f)
{
    struct dirent **names;
    int found = 0, marked;
    if (!f->is_folder)
        return is_marked(f->head, f->head_bytes);
    const int n = http_is_url(f->path) ? 0 : scandir(f->path, &names, select_file, versionsort);
    for (int i = 0; i < n; i++) {
        found = found ||
                (i < LOOKS_MOST && !file_read_mark(f->path, names[i]->d_name, &marked) && marked);
        free(names[i]);
    }
    if (n > 0)
        free(names);
    return found;
}

/* ---- the child ---- */

struct dicom_source {
    const char *path;      /* without a slash at its end */
    struct dirent **names; /* of a folder; NULL: a file */
    int count;
};

struct dicom_slice {
    struct dicom_file file;
    int32_t object;
    double along; /* its place along the normal */
    int order;    /* by name */
};

struct dicom_slices {
    struct dicom_slice *items;
    size_t count, room;
};

ARRAY_ORDER(by_series, struct dicom_slice,
            COMPARE(strcmp(x->file.series, y->file.series), 0) ?: COMPARE(x->file.rows, y->file.rows)
            ?: COMPARE(x->file.columns, y->file.columns) ?: COMPARE(x->order, y->order));
ARRAY_ORDER(by_place, struct dicom_slice,
            COMPARE(x->along, y->along) ?: COMPARE(x->file.number, y->file.number)
            ?: COMPARE(x->order, y->order));
ARRAY_ORDER(by_instance, struct dicom_slice,
            COMPARE(x->file.number, y->file.number) ?: COMPARE(x->order, y->order));

static enum err slice_add(struct store *s, const char *base, const char *name,
                          struct dicom_slices *all)
{
    char why[256] = "";
    const char *missing;
    const struct dicom_library *l = dicom_open(&missing);
    struct dicom_slice one = {.order = (int)all->count};
    FAIL_IF(!l, ERR_UNSUPPORTED, "%s: is DICOM, and %s", s->name, missing);
    TRY(store_object_add(s, base, name, &one.object));
    const char *path = s->objects[one.object].name;
    const int failed = l->describe(path, &one.file, why, sizeof why);
    if (failed) { /* a series without one of its slices is not the series */
        FAIL_IF(!base, ERR_INPUT, "%s: %s", s->name, why);
        return store_unreadable_add(s, name, failed == DICOM_NO_IMAGE ? 0 : -1, "%s", why);
    }
    for (int i = 0; i < 3; i++)
        one.along += one.file.position[i] * one.file.normal[i];
    TRY(array_room(&all->items, &all->room, all->count + 1, sizeof one));
    all->items[all->count++] = one;
    return ERR_OK;
}

static int is_alike(const struct dicom_file *a, const struct dicom_file *b)
{
    return !strcmp(a->series, b->series) && a->rows == b->rows && a->columns == b->columns &&
           a->samples == b->samples && a->bytes == b->bytes && a->is_signed == b->is_signed;
}

/* The distance of slices that are sorted by place; 0: unknown, or not the same. */
static double slices_distance(const struct dicom_slice *slices, size_t n)
{
    const double first = n > 1 ? slices[1].along - slices[0].along : 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(slices[i].along - slices[i - 1].along - first) > UNEVEN * first)
            return 0;
    return first;
}

/* Sorts slices by their place, those of one place (times, echoes) by their number. */
static double slices_sort(struct store *s, struct dicom_slice *slices, size_t n)
{
    array_sort(slices, n, sizeof *slices, by_place);
    const double step = slices_distance(slices, n);
    int same = 0;
    for (size_t i = 1; i < n; i++)
        same |= slices[i].along <= slices[i - 1].along;
    if (same)
        array_sort(slices, n, sizeof *slices, by_instance);
    else if (n > 1 && step <= 0)
        (void)store_note_add(s, "slices", "not evenly spaced");
    return same ? 0 : step;
}

static void slices_shape(struct store_array *a, const struct dicom_file *f, int64_t slices,
                         int scaled)
{
    const struct {
        int there;
        const char *axis;
        int64_t shape, chunk;
        double spacing;
    } rows[] = {{slices > 1, "z", slices, f->frames > 1 ? slices : 1, f->spacing[2]},
                {1, "y", f->rows, f->rows, f->spacing[1]},
                {1, "x", f->columns, f->columns, f->spacing[0]},
                {f->samples > 1, "c", f->samples, f->samples, 0}};
    a->dtype = (struct store_dtype){scaled         ? 'f'
                                    : f->is_signed ? 'i'
                                                   : 'u',
                                    scaled ? 4 : (unsigned char)f->bytes, 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there) {
            a->axis[a->dims] = rows[i].axis;
            a->spacing[a->dims] = rows[i].spacing;
            a->unit[a->dims] = rows[i].spacing > 0 ? "mm" : NULL;
            a->shape[a->dims] = rows[i].shape;
            a->chunk[a->dims++] = rows[i].chunk;
        }
}

/* Adds an array of slices of one layout, each in a file, or of the frames of one file. */
static enum err series_add(struct store *s, const char *name, struct dicom_slice *slices, size_t n)
{
    struct store_array *a;
    struct dicom_file *f = &slices[0].file;
    int scaled = 0;
    const double step = slices_sort(s, slices, n);
    for (size_t i = 1; i < n; i++)
        scaled |= slices[i].file.slope != f->slope || slices[i].file.intercept != f->intercept;
    if (n > 1)
        f->spacing[2] = step;
    TRY(store_array_add(s, name, &a));
    slices_shape(a, f, n > 1 ? (int64_t)n : f->frames, scaled);
    a->slope = scaled ? 1 : f->slope;
    a->intercept = scaled ? 0 : f->intercept;
    a->pipelines_count = 1;
    a->pipelines[0] = (struct codec_pipeline){1, {{.codec = CODEC_DICOM, .level = scaled}}};
    TRY(store_array_check(s, a));
    TRY(store_chunks_room(s, a));
    for (size_t i = 0; i < n; i++) {
        struct store_chunk c = {.object = slices[i].object};
        TRY(store_object_bytes(s, c.object, &c.stored));
        TRY(store_chunk_set(s, a, (int64_t)i, c));
    }
    return store_note_add(s, "transfer syntax", "%s", f->syntax);
}

static int array_by_length(const void *x, const void *y)
{
    const struct store_array *a = *(struct store_array *const *)x,
                             *b = *(struct store_array *const *)y;
    const int64_t m = store_elements(a), n = store_elements(b);
    return m != n ? (m > n ? -1 : 1) : strcmp(a->name, b->name);
}

/* Files of one series and layout are an array, a file of several frames is one by itself. */
static enum err slices_group(struct store *s, struct dicom_slices *all)
{
    array_sort(all->items, all->count, sizeof *all->items, by_series);
    for (size_t i = 0, end; i < all->count; i = end) {
        char name[128] = "data";
        const struct dicom_file *f = &all->items[i].file;
        for (end = i + 1; end < all->count && f->frames == 1 && all->items[end].file.frames == 1 &&
                          is_alike(f, &all->items[end].file);)
            end++;
        if (i || end < all->count)
            snprintf(name, sizeof name, "%.60s%s%d", f->description,
                     *f->description ? "-" : "series", s->arrays_count + 1);
        TRY(series_add(s, name, all->items + i, end - i));
    }
    array_sort(s->arrays, (size_t)s->arrays_count, sizeof *s->arrays, array_by_length);
    return ERR_OK;
}

static enum err dicom_fill(struct store *s, const struct dicom_source *from)
{
    struct dicom_slices all = {0};
    enum err e = ERR_OK;
    if (!from->names)
        e = slice_add(s, NULL, from->path, &all);
    for (int i = 0; i < from->count && !e; i++)
        e = slice_add(s, from->path, from->names[i]->d_name, &all);
    if (!e)
        e = slices_group(s, &all);
    free(all.items);
    return e;
}

static enum err dicom_open_here(const void *context, struct store **out)
{
    const struct dicom_source *from = context;
    TRY(store_make(from->path, "DICOM", out));
    const enum err e = dicom_fill(*out, from);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

/* ---- this process ---- */

/* Keeps the marked files of a folder. */
static enum err source_list(struct dicom_source *from)
{
    const int n = scandir(from->path, &from->names, select_file, versionsort);
    enum err e = ERR_OK;
    FAIL_IF(n < 0, ERR_IO, "%s: cannot be listed: %s", from->path, strerror(errno));
    for (int i = 0, marked = 0; i < n; i++) {
        e = e ? e : file_read_mark(from->path, from->names[i]->d_name, &marked);
        if (!e && marked)
            from->names[from->count++] = from->names[i];
        else
            free(from->names[i]);
    }
    TRY(e);
    FAIL_IF(from->count > FILES_MOST, ERR_UNSUPPORTED,
            "%s: has %d files; at most %d are one folder of DICOM", from->path, from->count,
            FILES_MOST);
    return ERR_OK;
}

static enum err dicom_open_store(const struct reader_file *f, struct store **out)
{
    char path[4096];
    const char *why;
    struct dicom_source from = {.path = path};
    FAIL_IF(!dicom_open(&why), ERR_UNSUPPORTED, "%s: is %s DICOM, and %s", f->path,
            f->is_folder ? "a folder of" : "a file of", why);
    FAIL_IF(http_is_url(f->path), ERR_UNSUPPORTED,
            "%s: DICOM files are read from a disk; copy it first", f->path);
    size_t n = strlen(f->path);
    while (f->is_folder && n > 1 && f->path[n - 1] == '/')
        n--;
    FAIL_IF(n >= sizeof path, ERR_INPUT, "%s: the name is too long", f->path);
    snprintf(path, sizeof path, "%.*s", (int)n, f->path);
    enum err e = f->is_folder ? source_list(&from) : ERR_OK;
    if (!e)
        e = guarded_open(path, "DICOM", dicom_open_here, &from, out);
    for (int i = 0; i < from.count; i++)
        free(from.names[i]);
    free(from.names);
    return e;
}

const struct reader reader_dicom = {"DICOM", "DICOM", dicom_knows, dicom_open_store};
