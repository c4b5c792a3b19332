/* Small reads of objects behind URLs: headers and indices lie in few places, and each request costs
 * a round trip, so that blocks are read and kept. For one thread, while a store is opened. */
#ifndef TP_STORE_MANIFEST_REMOTE_H
#define TP_STORE_MANIFEST_REMOTE_H

#include "host/store/store.h"

/* Exactly n bytes; the caller knows that the object has them. */
enum err remote_read(struct store *s, int32_t object, int64_t offset, void *to, size_t n);
void remote_free(struct store *s);

/* All of an object, malloc'ed and ended by a NUL; *out is NULL where it is not there. ERR_INPUT
 * above `most` bytes. */
enum err remote_text(const char *url, size_t most, char **out);

#endif
