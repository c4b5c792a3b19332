/* ELF images of code that a process made and announced by GDB's JIT interface: relocatable objects
 * whose sections carry the addresses at which the process has them. The bytes are not trusted. */
#ifndef TP_ANALYZE_SYMBOLS_CODE_IMAGE_H
#define TP_ANALYZE_SYMBOLS_CODE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* ELF function symbols by address. Names are borrowed. */

struct symtab { /* all zero = empty */
    struct symtab_entry *entries;
    size_t count, room;
};

/* rank: of several names of one address the highest stays. */
enum err symtab_add(struct symtab *t, uint64_t address, uint64_t bytes, int rank, const char *name);
void symtab_sort(struct symtab *t);
/* The symbol that covers `address`, NULL: none. One without a size covers all up to the next. */
const char *symtab_at(const struct symtab *t, uint64_t address);
void symtab_free(struct symtab *t);

struct code_range {
    uint64_t start, end;
};

/* In place: symbols and debug information get the addresses of the process. 0: it is not a 64-bit
 * little-endian ELF image whose section table lies within `n` bytes. Once per copy of the bytes. */
int code_image_place(void *bytes, size_t n);
/* Finds the ranges of its code; how many, at most `max`. Of a settled image, as all below. */
size_t code_image_ranges(const void *bytes, size_t n, struct code_range *out, size_t max);
/* Adds its functions; their names are borrowed from `bytes`. */
enum err code_image_symbols(const void *bytes, size_t n, struct symtab *t);

#endif
