/* Rows of .debug_line programs, DWARF 2 to 5, with NVIDIA's inlined calls. For cubin.c alone. */
#ifndef TP_ANALYZE_SYMBOLS_CUBIN_LINES_H
#define TP_ANALYZE_SYMBOLS_CUBIN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bytes {
    const unsigned char *at;
    size_t n;
};

/* The text at `offset`, "" when none ends there within 64 KiB. */
const char *bytes_text(struct bytes b, uint64_t offset);

struct line_row {
    uint64_t address;
    uint32_t file, line; /* file: index into line_table.files, UINT32_MAX unknown */
    uint32_t
        call; /* 1-based row of this sequence that calls the function this row was inlined from */
    uint32_t function; /* its name in .debug_str */
};
struct line_sequence { /* rows of one stretch of code, by address as far as the program says so */
    uint64_t low, high, place; /* place: offset in .debug_line of the address operand */
    size_t first, count;
    uint32_t section; /* of its code; 0 unknown. Filled by cubin.c */
    int sorted;
};
struct line_table {
    struct line_row *rows;
    struct line_sequence *sequences;
    char **files;
    size_t row_count, sequence_count, file_count, row_room, sequence_room, file_room, path_bytes;
};

/* Reads all programs of the section. A program that makes no sense ends there; those before it and
 * after it count. ERR_MEMORY only. */
enum err line_table_read(struct bytes line, struct bytes str, struct bytes line_str,
                         struct line_table *out);
void line_table_free(struct line_table *t);

#endif
