/* report.html: one file that opens offline. The data of the run (profile.json, timing.json,
 * triage.json, compare.json, pictures) are in it, gzip in base64, and the page draws itself from
 * them: the report never computes what they do not hold. Of profile.json page_profile.h tells what
 * is left out. assets/ has the page's parts
 * as files. */
#ifndef TP_REPORT_PAGE_HTML_H
#define TP_REPORT_PAGE_HTML_H

#include <stddef.h>

#include "base/err.h"

/* Writes `path` from what the run folder holds; any part may be missing. ERR_INPUT when there is
 * neither a profile.json nor a timing.json, or one of them is not JSON of a run; the old report
 * then stays. `bytes` (optional): size written. */
enum err report_html(const char *folder, const char *path, long long *bytes);

/* The page of a comparison from the JSON of compare_json(). */
enum err report_html_compare(const char *json, size_t bytes, const char *path);

/* The pictures of a run as data of its page. */

/* The files of folder/previews with their -slice.png, -row.png, -column.png and -difference.png as
 * one JSON list of
 * {"operation", "size", "what", "image" (data: address), "note"}, malloc'ed; NULL where the run has
 * none. Other files are left out. */
enum err report_pictures(const char *folder, char **json, size_t *bytes);

/* Base64 of n bytes into out, which holds 4 * ((n + 2) / 3) characters; returns that number. */
size_t base64(const unsigned char *in, size_t n, char *out);

#endif
