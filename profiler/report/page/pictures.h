/* The pictures of a run as data of its page. */
#ifndef TP_REPORT_PAGE_PICTURES_H
#define TP_REPORT_PAGE_PICTURES_H

#include <stddef.h>

#include "base/err.h"

/* The files of folder/previews with their -slice.png, -row.png, -column.png and -difference.png as
 * one JSON list of
 * {"operation", "size", "what", "image" (data: address), "note"}, malloc'ed; NULL where the run has
 * none. Other files are left out. */
enum err report_pictures(const char *folder, char **json, size_t *bytes);

/* Base64 of n bytes into out, which holds 4 * ((n + 2) / 3) characters; returns that number. */
size_t base64(const unsigned char *in, size_t n, char *out);

#endif
