/* profile.json as its page has it: what no part of the page shows is left out. */
#ifndef TP_REPORT_PAGE_PAGE_PROFILE_H
#define TP_REPORT_PAGE_PAGE_PROFILE_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "base/err.h"

/* The text of the page's data, malloc'ed: keys that the page does not read are left out, times of
 * lines have 5 digits, and stacks are those of page_merge_stacks, whose parents are distances
 * ("up", 0 at a root). Changes `profile`. */
enum err page_profile(cJSON *profile, char **text, size_t *bytes);

/* Merges the smallest calls, where there are very many: the page then has "merged": {"share": of a
 * run that a call needs at least, "nodes": of before}, and frames of kind "small". */
enum err page_merge_stacks(cJSON *profile);

#endif
