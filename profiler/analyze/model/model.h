/* The model of a recorded run: what report, triage, compare and the exporters walk, and what
 * profile.json holds, one to one. model_fields.h names every field with its meaning; here are the
 * structs that come out of it, e.g.
 *     struct model_line { int64_t line; const char *text; int32_t function; struct model_cpu cpu;
 *                         ... };
 *     struct model_file { ...; struct model_line *lines; int lines_count; ... };
 * All memory belongs to the model. */
#ifndef TP_ANALYZE_MODEL_MODEL_H
#define TP_ANALYZE_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "host/base/err.h"
#include "profiler/analyze/common/arena.h"
#include "profiler/analyze/model/model_fields.h"

#define MODEL_SCHEMA  "tomoprof-profile/1"
#define MODEL_UNKNOWN INT64_MIN /* of INT; REAL: NaN, TEXT: NULL, INDEX: -1; all null in JSON */

enum model_kind {
    MODEL_TEXT,    /* const char * */
    MODEL_REAL,    /* double */
    MODEL_INT,     /* int64_t, within 2^53 */
    MODEL_INDEX,   /* int32_t */
    MODEL_FLAG,    /* int; true, false */
    MODEL_ONE,     /* a struct: an object */
    MODEL_LIST,    /* struct *, int: an array of objects */
    MODEL_TABLE,   /* the same as an object of arrays, one per field: compact */
    MODEL_MAP,     /* the same as an object of objects, keyed by the first field */
    MODEL_WORDS,   /* const char **, int */
    MODEL_NUMBERS, /* double *, int */
    MODEL_COUNTS,  /* int64_t *, int */
};

/* clang-format off */
#define MODEL_MEMBER_TEXT(type, name)    const char *name;
#define MODEL_MEMBER_REAL(type, name)    double name;
#define MODEL_MEMBER_INT(type, name)     int64_t name;
#define MODEL_MEMBER_INDEX(type, name)   int32_t name;
#define MODEL_MEMBER_FLAG(type, name)    int name;
#define MODEL_MEMBER_ONE(type, name)     struct type name;
#define MODEL_MEMBER_LIST(type, name)    struct type *name; int name##_count;
#define MODEL_MEMBER_TABLE(type, name)   MODEL_MEMBER_LIST(type, name)
#define MODEL_MEMBER_MAP(type, name)     MODEL_MEMBER_LIST(type, name)
#define MODEL_MEMBER_WORDS(type, name)   const char **name; int name##_count;
#define MODEL_MEMBER_NUMBERS(type, name) double *name; int name##_count;
#define MODEL_MEMBER_COUNTS(type, name)  int64_t *name; int name##_count;

#define MODEL_MEMBER(kind, type, name, meaning) MODEL_MEMBER_##kind(type, name)
#define MODEL_DEFINE(name, fields) struct name { fields(MODEL_MEMBER) };
MODEL_STRUCTS(MODEL_DEFINE)

struct model {
    MODEL_FIELDS(MODEL_MEMBER)
    struct arena *arena;
};
/* clang-format on */

/* The fields of a struct, for writer, reader and schema. */
struct model_field {
    const char *key, *meaning;
    enum model_kind kind;
    const struct model_record *type; /* of the kinds with structs */
    size_t offset;
};
struct model_record {
    const char *name;
    size_t size;
    const struct model_field *(*fields)(void);
    int count;
};
extern const struct model_record record_model;
void *model_at(const struct model_field *f, const void *item);
int *model_count_at(const struct model_field *f, const void *item); /* of the kinds with counts */

enum err model_create(struct model **out);
void model_destroy(struct model *m);
void model_blank(const struct model_record *type, void *item); /* all unknown, FLAG 0 */

/* Room for `count` items, all unknown, in the model's memory: model_list(m, model_line, file,
 * lines, count) sets file->lines and file->lines_count. */
enum err model_items(struct model *m, const struct model_record *type, size_t count, void *items,
                     int *items_count);
#define model_list(m, type, owner, name, count)                                                    \
    model_items((m), &record_##type, (count), &(owner)->name, &(owner)->name##_count)
#define MODEL_DECLARE(name, fields) extern const struct model_record record_##name;
/* clang-format off */
MODEL_STRUCTS(MODEL_DECLARE)
/* clang-format on */

/* profile.json, written whole or not at all; read with its schema's version checked, every value
 * too. */
enum err profile_write(const struct model *m, const char *path);
enum err profile_read(const char *path, struct model **out);
enum err profile_schema_write(const char *path); /* profile.schema.json */

#endif
