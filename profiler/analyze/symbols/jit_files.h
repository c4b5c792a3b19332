/* Files in which a process described the code that it made. They lie where others may write (/tmp):
 * only a regular file of this user, no link, of at most 256 MiB, is read. */
#ifndef TP_ANALYZE_SYMBOLS_JIT_FILES_H
#define TP_ANALYZE_SYMBOLS_JIT_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Reads `path`, *bytes is malloc'ed. NULL: there is none, or (*why says it) it is not believed.
 * since_ns: written to since then, CLOCK_REALTIME; 0: whenever. */
char *jit_file_read(const char *path, uint64_t since_ns, size_t *bytes, const char **why);
/* `n` bytes at `offset` of a file of this user; NULL: they are not there. */
void *jit_file_part(const char *path, uint64_t offset, size_t n);
/* Makes the path of a perf map: /tmp/perf-PID.map. */
void jit_map_path(int pid, char path[64]);

#endif
