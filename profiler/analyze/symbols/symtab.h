/* ELF function symbols by address. Names are borrowed. */
#ifndef TP_ANALYZE_SYMBOLS_SYMTAB_H
#define TP_ANALYZE_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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

#endif
