/* Large arrays: sizes checked for overflow, refused with numbers before they are allocated,
 * counted, and aligned for vectors and huge pages. Small structs use calloc/free. */
#ifndef TP_BASE_MEMORY_H
#define TP_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* a * b * c * item bytes into *bytes; ERR_INPUT naming `what` when a factor is negative or the
 * product does not fit 2^62. */
enum err mem_size(const char *what, int64_t a, int64_t b, int64_t c, size_t item, size_t *bytes);

/* `bytes` (may be 0), 2 MiB-aligned above 4 MiB, else 64, contents undefined. Asks for huge pages
 * above 4 MiB. Fails with ERR_MEMORY and a sentence holding both numbers ("needs 7.2 GiB, 5.1 GiB
 * available") when the machine or container has less, before touching a page. Free with
 * mem_free(p). */
enum err mem_alloc(const char *what, size_t bytes, void **out);
/* The same in pages of its own: what is pinned for a device shares none with other pinned memory.
 */
enum err mem_alloc_pages(const char *what, size_t bytes, void **out);
enum err mem_alloc_zero(const char *what, size_t bytes, void **out);
void mem_free(void *p); /* NULL is fine */

/* From now on what is freed, mem_alloc's or other, stays with the process, up to 16 MiB a thread:
 * for work that comes again soon, whose fresh pages take as long as the work. */
void mem_keep_freed(void);

/* ERR_MEMORY with both numbers and `hint` (may be NULL) when less than `bytes` are available. */
enum err mem_require(const char *what, size_t bytes, const char *hint);

/* Bytes that this process can still take: MemAvailable, the cgroup limit and RLIMIT_AS, the
 * smallest. TOMOPROF_MEMORY (bytes, or 512MiB, 12GiB) lowers it, to simulate a smaller machine. */
size_t mem_available(void);

/* From now on the blocks that this thread takes may hold at most so many bytes together, those it
 * holds already not counted; 0: as many as there are. */
void mem_limit(size_t bytes);

/* From now on the address space of this process grows by at most so many bytes: then an
 * allocation fails, and not the machine. Not under AddressSanitizer. */
void mem_limit_process(size_t bytes);

/* Bytes held through mem_alloc now, and their high-water mark since mem_reset_peak(). */
size_t mem_held(void);
size_t mem_peak(void);
void mem_reset_peak(void);

/* "7.2 GiB", "512 B"; out needs 16 bytes, and is returned. */
char *mem_human(double bytes, char out[16]);
/* "12GiB", "512 MiB", "4096" -> bytes; ERR_USAGE otherwise. */
enum err mem_parse(const char *text, size_t *bytes);

#endif
