/* The model of timing.json, the times of a run of the suite: what the suite writes and what triage,
 * compare and info read. timing_fields.h names every field with its meaning; here are the structs
 * that come out of it. All memory belongs to the file's arena. */
#ifndef TP_TIMING_TIMING_H
#define TP_TIMING_TIMING_H

#include "base/json/json.h"
#include "base/timing/timing_fields.h"

#define TIMING_SCHEMA "tomoprof-timing/1"

/* clang-format off */
TIMING_STRUCTS(JSON_DEFINE)

struct timing_file {
    TIMING_FILE_FIELDS(JSON_MEMBER)
    struct arena *arena;
};

TIMING_STRUCTS(JSON_DECLARE)
extern const struct json_record record_timing_file;
/* clang-format on */

enum err timing_file_create(struct timing_file **out); /* all unknown */
void timing_file_free(struct timing_file *t);          /* NULL is allowed */

/* Room for `count` items, all unknown: timing_list(t, timing_scaling, scaling, count). */
#define timing_list(t, type, name, count)                                                          \
    json_items((t)->arena, &record_##type, (count), &(t)->name, &(t)->name##_count)

/* Writes the file whole or not at all. */
enum err timing_file_write(const struct timing_file *t, const char *path);
/* Also of older versions and of the format that this one extends: what is missing or of another
 * kind is unknown, a list that is missing is NULL. *out is NULL when the file is not a JSON object.
 */
enum err timing_file_read(const char *path, struct timing_file **out);

/* Writes a time with its unit: "1.59 ms". */
enum { TIMING_SECONDS = 16 };
void timing_seconds(double s, char out[TIMING_SECONDS]);

/* At the largest size, the operation that loses most time to this machine's peak: in a sentence; ""
 * where nothing was measured. Times of different operations are not added up: they are not parts of
 * one whole. */
#define TIMING_HEADLINE 256
void timing_headline(const struct timing_file *t, char out[TIMING_HEADLINE]);

#endif
