/* profile.json as its page has it: what no part of the page shows is left out. */
#ifndef TP_REPORT_PAGE_PAGE_PROFILE_H
#define TP_REPORT_PAGE_PAGE_PROFILE_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "base/err.h"

/* The text of the page's data, malloc'ed: keys that the page does not read are left out, times of
 * lines have 5 digits, stacks are those of page_merge_stacks, whose parents are distances ("up", 0
 * at a root), events those of page_events, and lines, threads and files are columns. Changes
 * `profile`. */
enum err page_profile(cJSON *profile, char **text, size_t *bytes);

/* Merges the smallest calls, where there are very many: the page then has "merged": {"share": of a
 * run that a call needs at least, "nodes": of before}, and frames of kind "small". */
enum err page_merge_stacks(cJSON *profile);

/* Leaves out columns of events that say nothing. Times of samples and waits become steps of
 * "step_ns" nanoseconds, at most a ten-millionth of the run. */
void page_events(cJSON *profile);

/* Makes {"rows": how many, "of": {key: column}} of the array of objects at `key`. A column of
 * objects has the same form, one of lists of objects is {"counts": of each list, "all": columns}. A
 * key that a row lacks is null. Other arrays stay. */
void page_columns(cJSON *holder, const char *key);

/* Makes profile["lines"], {"counts", "all"} as above, of the "lines" of all files in order. */
void page_lines_join(cJSON *profile);

#endif
