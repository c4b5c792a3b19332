/* Addresses of a recorded process to functions, files and lines, by the files on disk (elfutils
 * libdw; build ids, .gnu_debuglink, separate debug files in /usr/lib/debug and $TOMOPROF_DEBUG_DIR;
 * inlined frames; C++ names in readable form). Without elfutils: module names and ELF symbols only.
 * The network only where DEBUGINFOD_URLS is set. */
#ifndef TP_ANALYZE_SYMBOLS_SYMBOLS_H
#define TP_ANALYZE_SYMBOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbols; /* the modules of all processes of a run, opened when first asked for, each once per
                   build id */

struct symbol_frame {     /* texts live as long as the struct symbols */
    const char *function; /* readable; NULL unknown */
    const char *file;     /* source file; NULL unknown */
    const char
        *module; /* path of the ELF file, "[jit]" (code outside of all files) or "[unknown]" */
    int line;    /* 0 unknown */
    int function_line; /* where the function begins; 0 unknown */
    int inlined;       /* 1: inlined into the next frame */
};

enum err symbols_create(struct symbols **out);
void symbols_free(struct symbols *s);

/* A MODULE record of process `pid`, valid from time_ns on; an overlapping older one ends there. It
 * ends with the first MODULE_GONE of the same place after it. Both may come in any order. */
enum err symbols_module(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                        uint64_t end, uint64_t bias, const char *path, const void *build_id,
                        int build_id_bytes);
enum err symbols_module_gone(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                             uint64_t end);

/* Descriptions of code that the process made (jit.h); real_pid: as the process knew itself. */
struct jit_mark;
enum err symbols_jit_map(struct symbols *s, int32_t pid, const char *text, size_t bytes,
                         const struct jit_mark *marks, size_t count);
enum err symbols_jit_dump(struct symbols *s, int32_t pid, const void *bytes, size_t n,
                          uint32_t real_pid);

/* An announced image of `n` bytes at `offset` of a file (code_image.h), there from `from_ns` to
 * before `until_ns` (UINT64_MAX: to the end). One that cannot be read knows no addresses. */
enum err symbols_jit_code(struct symbols *s, int32_t pid, uint64_t from_ns, uint64_t until_ns,
                          const char *file, uint64_t offset, uint64_t n);

/* Frames at `address` (exact = 0: a return address, looked up at address - 1), innermost first, at
 * most `max`; at least 1. */
int symbols_at(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t address, int exact,
               struct symbol_frame *out, int max);

/* Counts for data quality what was not available. Counts modules that symbols_at was asked
 * about. */
struct symbols_quality {
    int modules;
    int no_symbols, no_lines;         /* of those whose file was found */
    int missing_files, changed_files; /* by now gone; of another build id than recorded: not used */
    int unverified; /* no build id was recorded: the file is taken as it is, changed or not */
};
struct symbols_quality symbols_quality(const struct symbols *s); /* NULL: nothing was asked */

#endif
