/* Objects behind http://, https:// and s3:// names: sizes and ranges of bytes, by libcurl. */
#ifndef TP_STORE_FETCH_HTTP_H
#define TP_STORE_FETCH_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HTTP_CONNECTIONS 16 /* workers of the engine, each with one, unless told otherwise */
#define HTTP_GAP         ((int64_t)64 << 10) /* bytes that cost less than another request */

int http_is_url(const char *name);

/* -1: it is not there. */
enum err http_size(const char *url, int64_t *bytes);

/* Reads exactly bytes [offset, offset + n). */
enum err http_read(const char *url, int64_t offset, void *to, size_t n);

/* A whole object of at most `room` bytes; *got is -1 where it is not there. */
enum err http_read_all(const char *url, void *to, size_t room, int64_t *got);

/* Name and version of the library that fetches. NULL: it cannot be opened, for the reason *why, or
 * this build cannot (*why is NULL). */
const char *http_library(const char **why);

#endif
