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

/* A descriptor: where it is in its file, and calls that are not in the file's row yet (lean.h). */
enum { IO_STREAMS = 8 }; /* places in a file that are read on from, of one descriptor */

struct io_pending {
    union {
        struct {
            uint8_t lock;
            uint8_t op; /* READ or WRITE, + 1; 0: no call may go on from the one before */
        };
        uint16_t lock_and_op;
    };
    uint8_t jumps; /* in io_jumps of the descriptor: calls before those below */
    uint8_t ready; /* bits of READ and WRITE: its row has begun, is not a socket */
    uint32_t calls, opens, seeks;
    uint32_t low, sizes; /* of a call: at least, and below low + sizes */
    uint64_t end, bytes; /* of calls that go on from each other */
};

/* Calls that jump about in a file: they wait, as one is placed in half the time beside others. */
enum { IO_JUMPS = 8 };
struct io_jumps {
    struct io_jump {
        uint64_t offset;
        uint32_t bytes, op; /* READ or WRITE */
    } call[IO_JUMPS];
};

/* Files of one row of many, each opened under this number, read from its start on and closed. */
struct io_whole {
    uint32_t row; /* + 1; 0: none */
    uint32_t files, opens, op, low, calls;
    uint64_t bytes;
};

struct io_descriptor {
    uint32_t file;           /* its place in `files`, + 1; 0 unknown */
    uint8_t shared;          /* others move its offset too: the kernel is asked for it */
    uint8_t stream;          /* of stdio */
    uint8_t seekable, known; /* known: the offset is */
    uint64_t offset;
    struct io_pending run;
    uint8_t streams;          /* of `end` in use */
    uint8_t accepted, writes; /* writes: opened for nothing else */
    uint8_t many;             /* its row is known to be one of many files; the line ends here */
    struct io_whole whole;    /* of what lay under this number before */
    uint64_t wrote_ns;        /* of a socket: its last write, since which it was not read */
    uint64_t end[IO_STREAMS]; /* the last used first */
} __attribute__((aligned(64)));

#endif
