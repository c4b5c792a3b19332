/* What the files of the builder share. */
#ifndef TP_IMPORT_BUILD_INTERNAL_H
#define TP_IMPORT_BUILD_INTERNAL_H

#include "profiler/import/build/builder.h"

enum index_kind {
    INDEX_PROCESS = 1,
    INDEX_THREAD,
    INDEX_ROOT,
    INDEX_FRAME,
    INDEX_NODE,
    INDEX_KERNEL,
    INDEX_TRANSFER,
    INDEX_SET,
    INDEX_API,
    INDEX_RANGE,
    INDEX_TRACK,
    INDEX_LINE,
    INDEX_MODULE,
};

/* Row of a key, TABLE_NONE where it is new; texts are kept once, so their addresses are keys. */
uint64_t index_key(enum index_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* Stretches of a time line that are covered, in ns; `spans` are sorted by device and start. */
int64_t spans_covered(const struct import_span *spans, size_t n, int64_t *first, int64_t *last);

enum err attribute_costs(struct builder *b); /* nodes to lines, functions and modules */
enum err rows_of_files(struct builder *b);
enum err rows_of_devices(struct builder *b);
enum err rows_of_quality(struct builder *b);

#endif
