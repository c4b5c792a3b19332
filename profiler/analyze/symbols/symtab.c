/* A sorted table of ELF symbols: the function that covers an address. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/symbols/symtab.h"

enum {
    LAST_BYTES = 4096, /* of a last symbol without a size */
    NESTING = 8        /* symbols within a longer one that are skipped */
};

struct symtab_entry {
    uint64_t start, end;
    const char *name;
    int rank, guessed; /* end is only where the next one starts */
};

enum err symtab_add(struct symtab *t, uint64_t address, uint64_t bytes, int rank, const char *name)
{
    uint64_t end = address + bytes;
    if (!*name || *name == '$' || end < address) /* $x, $d: Arm's marks of code and data */
        return ERR_OK;
    TRY(array_room(&t->entries, &t->room, t->count + 1, sizeof *t->entries));
    t->entries[t->count++] = (struct symtab_entry){address, end, name, rank, !bytes};
    return ERR_OK;
}

static int symbol_by_address(const void *a, const void *b)
{
    const struct symtab_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->guessed != y->guessed)
        return x->guessed ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    size_t n = strlen(x->name), m = strlen(y->name);
    return n != m ? (n < m ? -1 : 1) : strcmp(x->name, y->name); /* memcpy, not __GI_memcpy */
}

void symtab_sort(struct symtab *t)
{
    size_t n = 0;
    if (t->count)
        qsort(t->entries, t->count, sizeof *t->entries, symbol_by_address);
    for (size_t i = 0; i < t->count; i++)
        if (!n || t->entries[i].start != t->entries[n - 1].start)
            t->entries[n++] = t->entries[i];
    t->count = n;
    for (size_t i = 0; i < n; i++) {
        struct symtab_entry *e = &t->entries[i];
        if (e->guessed)
            e->end = i + 1 < n ? t->entries[i + 1].start : e->start + LAST_BYTES;
    }
}

const char *symtab_at(const struct symtab *t, uint64_t address)
{
    size_t low = ARRAY_BOUND(0, t->count, i, t->entries[i].start <= address);
    const char *label = NULL; /* within a function perhaps, which is the better name */
    for (int i = 0; i < NESTING && low; i++, low--) {
        const struct symtab_entry *e = &t->entries[low - 1];
        if (address < e->end && !e->guessed)
            return e->name;
        if (address < e->end && !label)
            label = e->name;
    }
    return label;
}

void symtab_free(struct symtab *t)
{
    free(t->entries);
    *t = (struct symtab){0};
}
