/* Files by the names that the program opens them by, without asking the kernel. */
#ifndef TP_CAPTURE_RECORDERS_IO_NAMES_H
#define TP_CAPTURE_RECORDERS_IO_NAMES_H

#include <fcntl.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "profiler/capture/recorders/io/state.h"

/* Set while the kernel has been asked for as many files as it may be: names count now. */
extern int io_storm CAPTURE_OWN;

struct io_name {
    uint64_t path, folder; /* keys: of the whole, of its folder and ending */
};
struct io_name io_name_of(const char *path, int whole); /* whole 0: `path` is not filled */
uint32_t io_name_find(uint64_t key);
extern uint32_t io_names_known; /* of this second, and opens for which one was not known */
extern int io_summed;           /* opens went to the row of a folder */
/* ".tif" of a file's name that ends at `end`, else `end`: one that begins with a digit is a number
 * in a row of files. */
const char *io_ending(const char *name, const char *end);

/* The row of a regular file + 1: its own, else that of its folder and ending; 0: the kernel must
 * be asked. A name holds until the process renames or removes something or changes its folder, and
 * for about a second, for others do that too. */
uint32_t io_name_row(const struct io_name *n);
void io_name_set(uint64_t key, uint32_t row); /* row + 1 */
/* files.c: that of the folder and ending of a file with this row; 0: there is none. Changes errno.
 */
uint32_t io_folder_row(uint32_t row);
/* Opened with these flags, a regular file needs no look at its descriptor. */
int io_name_suffices(const char *path, int flags);
#define IO_NAME_FLAGS                                                                              \
    (O_ACCMODE | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_NOATIME | O_CREAT | O_TRUNC |  \
     O_APPEND | O_SYNC | O_DSYNC)
/* lean.c, for a thread: what it opens now, which the next name is compared with (io_name_again). */
void io_name_keep(struct capture_io_name *last, const char *path, int flags, uint32_t row);
static inline void io_open_by_name(struct io_descriptor *d, int flags)
{
    d->seekable = d->known = 1;
    d->shared = (flags & O_APPEND) != 0;
    d->writes = (flags & O_ACCMODE) == O_WRONLY;
}

/* The kernel was asked, which took this long: sets io_storm. */
void io_asked(uint64_t now, uint64_t ns);
int io_may_ask(uint64_t now); /* sets it, too */

void io_names_forked(void);

enum { IO_NAME_LONGEST = 32 };              /* that is compared */
extern uint32_t io_names_round CAPTURE_OWN; /* names of other rounds are forgotten */

/* Returns where the name ends, or its part of the path; IO_NAME_LONGEST: not so soon. */
static inline size_t io_name_end(const char *name)
{
    size_t i = 0;
#ifdef __SSE2__
    for (; i < IO_NAME_LONGEST; i += sizeof(__m128i)) {
        const __m128i some = _mm_loadu_si128((const __m128i_u *)(name + i));
        const unsigned ends = (unsigned)_mm_movemask_epi8(_mm_or_si128(
            _mm_cmpeq_epi8(some, _mm_setzero_si128()), _mm_cmpeq_epi8(some, _mm_set1_epi8('/'))));
        if (ends)
            return i + (size_t)__builtin_ctz(ends);
    }
#else
    while (i < IO_NAME_LONGEST && name[i] && name[i] != '/')
        i++;
#endif
    return i;
}

/* Returns the row of the folder and ending by which the thread opened a file last; 0: `path` has
 * another. By words, as far as the page reaches in which the name begins: it may end before. */
static inline __attribute__((always_inline)) uint32_t
io_name_again(const struct capture_io_name *last, const char *path)
{
    enum { PAGE = 4096 };
    const uint64_t row = last->row;
    const size_t n = last->folder, ending = last->ending;
    uint64_t a = 0, b;
    size_t i = 0;
    if (!row || row >> 32 != __atomic_load_n(&io_names_round, __ATOMIC_RELAXED) ||
        ((uintptr_t)path & (PAGE - 1)) + n + IO_NAME_LONGEST > PAGE)
        return 0;
    for (; i < n && !a; i += sizeof a) {
        __builtin_memcpy(&a, path + i, sizeof a);
        __builtin_memcpy(&b, last->text + i, sizeof b);
        a ^= b;
    }
    if (i > n ? a << 8 * (i - n) : a) /* the last may reach beyond the folder */
        return 0;
    const char *name = path + n;
    const size_t length = io_name_end(name);
    if (length <= ending || length == IO_NAME_LONGEST || name[length] || n + length < sizeof a)
        return 0;
    __builtin_memcpy(&a, name + length - sizeof a, sizeof a);
    if ((a ^ last->last) & last->mask)
        return 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler may have opened another */
    return last->row == row ? (uint32_t)row : 0;
}

#endif
