/* JSON files by tables of fields: one X-macro list per struct makes the struct, its writer, its
 * reader and its part of a JSON Schema. A list is
 *     #define PLACE_FIELDS(X) X(TEXT, _, file, "key of files") X(INT, _, line, "")
 * with kind, type (of the kinds with structs, else _), name and meaning. JSON_DEFINE(place,
 * PLACE_FIELDS) is struct place, JSON_RECORD its table record_place. */
#ifndef TP_JSON_JSON_H
#define TP_JSON_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json/jsonw.h"

#define JSON_UNKNOWN INT64_MIN /* of INT; REAL: NaN, TEXT: NULL, INDEX: -1; all null in JSON */

enum json_kind {
    JSON_TEXT,    /* const char * */
    JSON_REAL,    /* double */
    JSON_EXTRA,   /* double; the key is there only where it is known */
    JSON_INT,     /* int64_t, within 2^53 */
    JSON_INDEX,   /* int32_t */
    JSON_FLAG,    /* int; true, false */
    JSON_ONE,     /* a struct: an object */
    JSON_MAYBE,   /* struct *: an object, or null */
    JSON_LIST,    /* struct *, int: an array of objects */
    JSON_TABLE,   /* the same as an object of arrays, one per field: compact */
    JSON_MAP,     /* the same as an object of objects, keyed by the first field */
    JSON_WORDS,   /* const char **, int */
    JSON_NUMBERS, /* double *, int */
    JSON_COUNTS,  /* int64_t *, int */
};

/* clang-format off */
#define JSON_MEMBER_TEXT(type, name)    const char *name;
#define JSON_MEMBER_REAL(type, name)    double name;
#define JSON_MEMBER_EXTRA(type, name)   double name;
#define JSON_MEMBER_INT(type, name)     int64_t name;
#define JSON_MEMBER_INDEX(type, name)   int32_t name;
#define JSON_MEMBER_FLAG(type, name)    int name;
#define JSON_MEMBER_ONE(type, name)     struct type name;
#define JSON_MEMBER_MAYBE(type, name)   struct type *name;
#define JSON_MEMBER_LIST(type, name)    struct type *name; int name##_count;
#define JSON_MEMBER_TABLE(type, name)   JSON_MEMBER_LIST(type, name)
#define JSON_MEMBER_MAP(type, name)     JSON_MEMBER_LIST(type, name)
#define JSON_MEMBER_WORDS(type, name)   const char **name; int name##_count;
#define JSON_MEMBER_NUMBERS(type, name) double *name; int name##_count;
#define JSON_MEMBER_COUNTS(type, name)  int64_t *name; int name##_count;

#define JSON_MEMBER(kind, type, name, meaning) JSON_MEMBER_##kind(type, name)
#define JSON_DEFINE(name, fields) struct name { fields(JSON_MEMBER) };
#define JSON_DECLARE(name, fields) extern const struct json_record record_##name;
/* clang-format on */

/* The fields of a struct. */
struct json_field {
    const char *key, *meaning;
    enum json_kind kind;
    const struct json_record *type; /* of the kinds with structs */
    size_t offset;
};
struct json_record {
    const char *name;
    size_t size;
    const struct json_field *(*fields)(void);
    int count;
};
void *json_at(const struct json_field *f, const void *item);
int *json_count_at(const struct json_field *f, const void *item); /* of the kinds with counts */

double json_real(int64_t v); /* of INT: NaN where it is unknown */
#define JSON_DIGITS 24
/* Returns the digits of an INT, or `unknown`. */
const char *json_digits(int64_t v, const char *unknown, char out[JSON_DIGITS]);

void json_blank(const struct json_record *type, void *item); /* all unknown, FLAG 0 */
/* Room for `count` items, all unknown; `items` points to the pointer that gets them. */
enum err json_items(struct arena *a, const struct json_record *type, size_t count, void *items,
                    int *items_count);

/* All fields, as the next keys of an object that is open, or as an object of their own. */
void json_write_fields(struct jsonw *w, const struct json_record *type, const void *item);
void json_write(struct jsonw *w, const struct json_record *type, const void *item);

/* The value of `key` alone, NULL values as null; 0, and nothing written, where it is unknown or the
 * table has no such key. */
int json_write_value(struct jsonw *w, const struct json_record *type, const void *item,
                     const char *key);

/* The root of a file, NULL when it is not JSON; to be freed with cJSON_Delete. */
struct cJSON;
enum err json_parse_file(const char *path, size_t limit, struct cJSON **root);

/* Strict: a missing key or a value of another kind is ERR_INPUT and names the key. Lenient: it
 * stays unknown, for files that others wrote too; a list that is missing has no items (NULL).
 * Earlier: a missing key or column stays unknown, other values are as in strict files. Keys that
 * the table does not have are passed over. Memory of `a`. */
enum json_rule { JSON_STRICT, JSON_LENIENT, JSON_EARLIER };
enum err json_read(struct arena *a, const struct json_record *type, const struct cJSON *j,
                   void *item, enum json_rule rule);

/* The JSON Schema of a file: "schema" is `version`, then the fields of `root`; `types` [count] are
 * its $defs. The first field of a MAP's struct is a key, not a property. */
struct json_schema {
    const char *title, *description, *version;
    const struct json_record *root, *const *types;
    int count;
};
enum err json_schema_write(const struct json_schema *s, const char *path);

#endif
