/* A page about a finished volume: slices along three axes, its histogram, and how near it is to a
 * reference. */
#ifndef TP_CLI_STORAGE_VOLUME_PAGE_H
#define TP_CLI_STORAGE_VOLUME_PAGE_H

#include "host/geom/scan.h"
#include "host/scan/reconstruct.h"
#include "host/store/engine/overview.h"

#define PAGE_SECTIONS 15
#define PAGE_BINS     128

struct page_section {
    struct section plane, reference; /* of volume and reference; the second without values: none */
    int axis;                        /* that it lies across: slices 0, rows 1, columns 2 */
    int middle;                      /* of its axis */
    int64_t rows, cols;
    double pitch_down, pitch_across;
    struct quality quality; /* NAN without a reference */
};

struct volume_page {
    const char *title;      /* the volume's file */
    const char *reference;  /* .npy or NULL */
    const char *about;      /* one line: method and back end */
    const struct volume *v; /* its sizes */
    struct quality quality; /* of the whole volume against the reference */
    double low, high;       /* black and white */
    struct histogram histogram;
    struct page_section section[PAGE_SECTIONS];
    int sections;
};

/* From the finished file `volume` (.npy or .nii) to `path`: one HTML file without scripts. `about`
 * and `quality` are the caller's. */
enum err volume_page_write(const char *path, const char *volume, struct volume_page *p);

/* volume_page_html.c: the file itself. */
enum err volume_page_html(const char *path, const struct volume_page *p);

#endif
