/* Code that a process made at run time, by its own descriptions: perf maps (names) and jitdump
 * (names, lines, times). The bytes are not trusted. */
#ifndef TP_ANALYZE_SYMBOLS_JIT_H
#define TP_ANALYZE_SYMBOLS_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct jit;        /* of one process */
struct jit_place { /* texts live as long as the arena; NULL and 0 unknown */
    const char *function, *file;
    int line, function_line;
};

enum err jit_create(struct arena *texts, struct jit **out);
void jit_free(struct jit *j);
/* From `time_ns` on the map had at least so many bytes. */
struct jit_mark {
    uint64_t bytes, time_ns;
};
/* Lines "START SIZE NAME", in hex; a NAME that ends in " FILE:LINE:COLUMN" (node) says where the
 * function begins. Lines that are not such are skipped. Code is there from the first mark on that
 * has its line, and from the start without marks. */
enum err jit_read_map(struct jit *j, const char *text, size_t n, const struct jit_mark *marks,
                      size_t count);
/* perf's jitdump of process `pid`; what follows a record that does not fit is left out. */
enum err jit_read_dump(struct jit *j, const void *bytes, size_t n, uint32_t pid);
/* The code at an address at a time (ns of CLOCK_MONOTONIC). 0: none is known. */
int jit_find(struct jit *j, uint64_t time_ns, uint64_t address, struct jit_place *out);

/* Files in which a process described the code that it made. They lie where others may write (/tmp):
 * only a regular file of this user, no link, of at most 256 MiB, is read. */

/* Reads `path`, *bytes is malloc'ed. NULL: there is none, or (*why says it) it is not believed.
 * since_ns: written to since then, CLOCK_REALTIME; 0: whenever. */
char *jit_file_read(const char *path, uint64_t since_ns, size_t *bytes, const char **why);
/* `n` bytes at `offset` of a file of this user; NULL: they are not there. */
void *jit_file_part(const char *path, uint64_t offset, size_t n);
/* Makes the path of a perf map: /tmp/perf-PID.map. */
void jit_map_path(int pid, char path[64]);

#endif
