/* A hash table from 64-bit keys to 32-bit indices. */
#ifndef TP_BASE_TABLE_H
#define TP_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TABLE_NONE UINT32_MAX

struct table { /* all zero = empty */
    struct table_slot *slots;
    size_t room, count;
};

void table_free(struct table *t);
uint32_t table_get(const struct table *t, uint64_t key);           /* TABLE_NONE: not there */
enum err table_put(struct table *t, uint64_t key, uint32_t value); /* replaces */
void table_remove(struct table *t, uint64_t key);

/* Mixes; equal inputs give equal keys. */
uint64_t table_hash(const void *bytes, size_t n);
uint64_t table_mix(uint64_t a, uint64_t b);

#endif
