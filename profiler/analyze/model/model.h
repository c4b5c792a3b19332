/* The model of a recorded run: what report, triage, compare and the exporters read, and what
 * profile.json holds, one to one. model_fields.h names every field with its meaning; here are the
 * structs that come out of it, e.g.
 *     struct model_line { int64_t line; const char *text; int32_t function; struct model_cpu cpu;
 *                         ... };
 *     struct model_file { ...; struct model_line *lines; int lines_count; ... };
 * All memory belongs to the model. */
#ifndef TP_ANALYZE_MODEL_MODEL_H
#define TP_ANALYZE_MODEL_MODEL_H

#include "base/json/json.h"
#include "profiler/analyze/model/model_fields.h"

#define MODEL_SCHEMA  "tomoprof-profile/1"
#define MODEL_UNKNOWN JSON_UNKNOWN

/* clang-format off */
MODEL_STRUCTS(JSON_DEFINE)

struct model {
    MODEL_FIELDS(JSON_MEMBER)
    int earlier; /* read from a file that lacks keys of this version: those are unknown */
    struct arena *arena;
};

MODEL_STRUCTS(JSON_DECLARE)
extern const struct json_record record_model;
/* clang-format on */

enum err model_create(struct model **out);
void model_destroy(struct model *m);

/* Room for `count` items, all unknown, in the model's memory: model_list(m, model_line, file,
 * lines, count) sets file->lines and file->lines_count. */
enum err model_items(struct model *m, const struct json_record *type, size_t count, void *items,
                     int *items_count);
#define model_list(m, type, owner, name, count)                                                    \
    model_items((m), &record_##type, (count), &(owner)->name, &(owner)->name##_count)

/* 1: a capture that counts samples of unknown length. Each is 1 ns in the model. */
int model_counts_samples(const struct model *m);

/* Writes CPU time as a part of all: "2.1 of 3.2 s", or "44 of 57 samples". */
enum { MODEL_PART = 100 };
const char *model_cpu_part(const struct model *m, double part_s, double all_s,
                           char out[MODEL_PART]);
/* Writes one amount: "3.2 s", or "57 samples". */
const char *model_cpu_text(const struct model *m, double s, char out[MODEL_PART]);

/* The kernel's ticks a second in the recording, NaN unknown: its timers of CPU time come no oftener.
 */
double model_tick_hz(const struct model *m);
/* Advice for too few samples: a higher rate only where the kernel has one. */
const char *model_more_samples(const struct model *m);

/* profile.json, written whole or not at all; read with its schema's version checked, every value
 * too. Keys are added within a version of the schema: a file of an earlier tomoprof is read. */
enum err profile_write(const struct model *m, const char *path);
enum err profile_read(const char *path, struct model **out);
enum err profile_schema_write(const char *path); /* profile.schema.json */

#endif
