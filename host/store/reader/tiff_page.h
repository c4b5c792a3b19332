/* Pages of TIFF and BigTIFF files: the tags that say where pixels lie. */
#ifndef TP_STORE_READER_TIFF_PAGE_H
#define TP_STORE_READER_TIFF_PAGE_H

#include "host/store/store.h"

struct tiff_values { /* of a tag, in the file or in its entry */
    int type;
    int64_t count, offset;
};

struct tiff_page {
    int32_t object;
    int64_t number; /* in the file, from 1 */
    int level;      /* 0: of the chain; from 1: the place among its page's SubIFDs */
    int big, swap;  /* BigTIFF; big-endian */
    int64_t width, height, tile_width, tile_height, rows_per_strip;
    int bits, samples, planar, compression, predictor, format, fill_order, photometric,
        resolution_unit;
    int mixed;         /* its samples have several types */
    int whole_colours; /* YCbCr without subsampling */
    uint32_t seen;     /* bit per tag that a page needs */
    int fax[2];        /* tags 292 and 293 */
    struct tiff_values offsets, counts, description, jpeg_tables, sub, lerc,
        resolution[2]; /* x, y */
};

struct tiff_pages {
    struct tiff_page *items;
    size_t count, room;
    int64_t main; /* of the chain, without SubIFDs */
};

/* Appends the pages of an object, those of the chain first. A page that cannot be read is an error
 * with its number. */
enum err tiff_pages_read(struct store *s, int32_t object, struct tiff_pages *out);
/* ERR_UNSUPPORTED: its bits are not read. */
enum err tiff_page_judge(struct store *s, const struct tiff_page *p);
/* Puts the page's number before the error's text; e. */
enum err tiff_page_failed(struct store *s, const struct tiff_page *p, enum err e);
int64_t tiff_page_pixels(const struct tiff_page *p); /* with its samples */
/* Reads element `i` of a tag's values. */
enum err tiff_value(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                    int64_t i, int64_t *out);
/* Values [0, v->count), which *out (malloc) gets. */
enum err tiff_all_values(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                         int64_t **out);
/* A rational number; 0: it is not there. */
double tiff_rational(struct store *s, const struct tiff_page *p, const struct tiff_values *v);
/* Text of a tag, cut to room. */
void tiff_text(struct store *s, const struct tiff_page *p, const struct tiff_values *v, char *out,
               size_t room);
int tiff_same_layout(const struct tiff_page *a, const struct tiff_page *b);
/* The property in which pages of one size differ; NULL: of other sizes or types, or the same. */
const char *tiff_other_layout(const struct tiff_page *a, const struct tiff_page *b);

/* Dimensions that a description gives the pages, the slowest first; those of one page are left out. */
struct tiff_axes {
    int count; /* 0: the description names none, and pages are one dimension */
    const char *axis[STORE_DIMS], *unit[STORE_DIMS], *xy_unit; /* NULL: unknown */
    int64_t size[STORE_DIMS], pages;
    double spacing[STORE_DIMS], x, y; /* 0: unknown */
    int64_t *page;                    /* of each place in C order, from 0; NULL: in their order */
    struct store_member *channels;
    int channels_count;
};
/* Reads them from OME-XML, or the descriptions of ImageJ and tifffile, of `pages` pages. */
enum err tiff_axes_read(struct store *s, const struct tiff_page *p, int64_t pages,
                        struct tiff_axes *out);
void tiff_axes_free(struct tiff_axes *axes);
/* Spacing of y and x, and names of channels. */
void tiff_axes_of_pixels(struct store_array *a, const struct tiff_axes *axes);

/* Appends an array of pages of one layout; axes NULL: the pages are one dimension. */
enum err tiff_array_add(struct store *s, const char *name, const struct tiff_pages *all,
                        const size_t *which, int64_t count, const struct tiff_axes *axes);
/* Adds a page, whose pixels `images` images follow in one piece. */
enum err tiff_array_imagej(struct store *s, const struct tiff_page *p, int64_t images,
                           const struct tiff_axes *axes);

#endif
