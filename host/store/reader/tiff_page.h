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
    int big, swap; /* BigTIFF; big-endian */
    int64_t width, height, tile_width, tile_height, rows_per_strip;
    int bits, samples, planar, compression, predictor, format, fill_order;
    struct tiff_values offsets, counts, description, jpeg_tables;
};

struct tiff_pages {
    struct tiff_page *items;
    size_t count, room;
};

/* Appends the pages of an object, `most` at most (0: all). */
enum err tiff_pages_read(struct store *s, int32_t object, int64_t most, struct tiff_pages *out);
/* Element `i` of a tag's values. */
enum err tiff_value(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                    int64_t i, int64_t *out);
/* Values [0, v->count), which *out (malloc) gets. */
enum err tiff_all_values(struct store *s, const struct tiff_page *p, const struct tiff_values *v,
                         int64_t **out);
/* Text of a tag, cut to room. */
void tiff_text(struct store *s, const struct tiff_page *p, const struct tiff_values *v, char *out,
               size_t room);
int tiff_same_layout(const struct tiff_page *a, const struct tiff_page *b);

#endif
