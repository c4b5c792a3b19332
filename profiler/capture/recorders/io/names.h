/* Files by the names that the program opens them by, without asking the kernel. */
#ifndef TP_CAPTURE_RECORDERS_IO_NAMES_H
#define TP_CAPTURE_RECORDERS_IO_NAMES_H

#include <fcntl.h>

#include "profiler/capture/recorders/io/state.h"

/* Set while the kernel has been asked for as many files as it may be: names count now. */
extern int io_storm;

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
/* lean.c, for a thread: the row of the folder and ending by which it opened a file last, 0 where
 * `path` has another; and what it opens now. */
uint32_t io_name_again(const struct capture_io_name *last, const char *path);
void io_name_keep(struct capture_io_name *last, const char *path, uint32_t row);
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

#endif
