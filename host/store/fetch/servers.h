/* Remembers servers' answers when objects were opened, so that parts of two files are never mixed.
 */
#ifndef TP_STORE_FETCH_SERVERS_H
#define TP_STORE_FETCH_SERVERS_H

#include <stdint.h>

#include "base/err.h"

/* total: bytes, -1 unknown. state: of ETag (odd) or Last-Modified (even), 0 unknown. */
enum err seen_remember(const char *url, int64_t total, uint64_t state);
/* 1: an answer with these tells of another object than was opened. */
int seen_changed(const char *url, int64_t total, uint64_t state);

/* The servers that URLs name: a redirect may lead to the same one alone. */

/* 1: the same scheme, host and port, as they are written; http:// means port 80, https:// 443. */
int origin_same(const char *a, const char *b);

#endif
