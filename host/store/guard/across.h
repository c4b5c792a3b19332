/* A store across a wire: a child that reads a file's headers hands over what they say, and nothing
 * of it is believed before it was checked here. */
#ifndef TP_STORE_GUARD_ACROSS_H
#define TP_STORE_GUARD_ACROSS_H

#include "base/jail/wire.h"
#include "host/store/manifest/manifest.h"

/* Writes what a child found. */
void across_send(struct store_wire *w, struct store *s);
void across_send_chunks(struct store_wire *w, struct store *s, struct store_array *a);

/* Fills an empty store. Objects are `s->name`, what lies below its folder (unless
 * store_follow_links), or bytes in memory. Arrays without chunks get `index` as their function, and
 * their number as a->reader. ERR_INPUT: a count, a size, a name, a type or a codec that no reader
 * makes. */
enum err across_take(struct store_wire *w, struct store *s,
                     enum err (*index)(struct store *s, struct store_array *a));
enum err across_take_chunks(struct store_wire *w, struct store *s, struct store_array *a);

/* 1: a name of the store itself, or below its folder. */
int across_names(const struct store *s, const char *name);

#endif
