/* How many bytes of a file were touched at least once, in bounded memory: a set of pages with a bit
 * for each 64 bytes. When it is full only one page in two is kept, and so on: in each block of
 * 2^level pages one is looked at, which a hash chooses, so that the sum stays unbiased for any
 * pattern and is nearly exact for contiguous ones. Level 0 is exact. */
#ifndef TP_CAPTURE_RECORDERS_IO_PAGES_H
#define TP_CAPTURE_RECORDERS_IO_PAGES_H

#include <stddef.h>
#include <stdint.h>

enum { PAGES_SHIFT = 12, PAGES_FIRST = 8, PAGES_MOST = 2048 };

struct io_page {
    uint64_t number; /* + 1; 0 free */
    uint64_t bits;
};
struct io_pages { /* all zero: empty */
    struct io_page *page, *spare;
    uint32_t room, used, level;
};

/* `take` gives zeroed memory that stays, or NULL: then the set gets coarser sooner. */
void io_pages_add(struct io_pages *s, uint64_t offset, uint64_t bytes, void *(*take)(size_t));
/* Bytes; *error: standard error, 0 where it is exact; UINT64_MAX where no memory was left. */
uint64_t io_pages_bytes(const struct io_pages *s, double *error);

#endif
