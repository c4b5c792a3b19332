/* Gzip in members of 64 KiB at most that say how long they are (BGZF, section 4.1 of the SAM
 * specification): every gzip reader reads them, and a reader with threads finds the parts. */
#ifndef TP_STORE_FORMAT_BGZF_H
#define TP_STORE_FORMAT_BGZF_H

#include "base/file.h"

/* Writes `data` compressed by all threads, level 1 to 9. Each call ends its last member. */
enum err bgzf_write(struct outfile *f, const void *data, size_t bytes, int level);

/* The empty member that marks the end of a file. */
enum err bgzf_end(struct outfile *f);

#endif
