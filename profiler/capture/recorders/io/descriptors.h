/* Descriptors in the table of the io recorder: part of state.h, in line for short calls. */
#ifndef TP_CAPTURE_RECORDERS_IO_DESCRIPTORS_H
#define TP_CAPTURE_RECORDERS_IO_DESCRIPTORS_H

#include "profiler/capture/recorders/io/state.h"

static inline uint64_t io_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return x ^ x >> 32;
}

static inline struct io_descriptor *io_descriptor_known(int fd) /* NULL: not known */
{
    struct io_descriptor *d = (unsigned)fd < IO_DESCRIPTORS ? &io->descriptors[fd] : NULL;
    return d && d->file ? d : NULL;
}

/* Reads and writes at once what lies together, on processors whose words begin with their least
 * byte. The first word: `file` and four flags; others follow `run`. */
#define IO_HEAD_SEEKABLE (1ull << 48)
#define IO_HEAD_KNOWN    (1ull << 56)
#define IO_HAS_STREAMS   0xffu
#define IO_HAS_MANY      0xff000000u
#define IO_HAS_MANY_ONE  0x01000000u
_Static_assert(offsetof(struct io_descriptor, file) == 0 &&
                   offsetof(struct io_descriptor, shared) == 4 &&
                   offsetof(struct io_descriptor, seekable) == 6 &&
                   offsetof(struct io_descriptor, known) == 7 &&
                   offsetof(struct io_descriptor, many) ==
                       offsetof(struct io_descriptor, streams) + 3 &&
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "as these words have them");
static inline void io_head_set(struct io_descriptor *d, uint64_t head)
{
    __atomic_store_n((uint64_t *)(void *)d, head, __ATOMIC_RELEASE);
}

static inline void io_set_row(int fd, uint32_t row) /* place + 1 */
{
    if (fd >= __atomic_load_n(&io_descriptor_count, __ATOMIC_RELAXED))
        io_raise_count(fd);
    __atomic_store_n(&io->descriptors[fd].file, row, __ATOMIC_RELEASE);
}

/* lean.c: into the row of its file, what waits for that. */
void io_run_end(struct io_descriptor *d);
static inline int io_run_waits(const struct io_descriptor *d)
{
    return (d->run.calls | d->run.opens | d->run.seeks | d->run.jumps) != 0;
}

static inline void io_forget(int fd)
{
    struct io_descriptor *d = io_descriptor_known(fd);
    if (!d) {
        if ((unsigned)fd < IO_DESCRIPTORS && io->descriptors[fd].run.op) /* of a file of many */
            io->descriptors[fd].run = (struct io_pending){0};
        return;
    }
    struct io_file *f = &io->files[d->file - 1];
    if (io_run_waits(d))
        io_run_end(d);
    if (d->wrote_ns && f->waiting) /* closed before its answer came */
        __atomic_fetch_sub(&f->waiting, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&d->file, 0, __ATOMIC_RELEASE);
    d->shared = d->stream = d->seekable = d->known = d->streams = d->accepted = d->writes = 0;
    d->many = 0;
    d->offset = d->wrote_ns = 0;
    d->run = (struct io_pending){0};
}

#endif
