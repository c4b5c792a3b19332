/* Makes the tables of json.h, in the one .c file of a format: JSON_RECORD(name, fields). */
#ifndef TP_JSON_TABLES_H
#define TP_JSON_TABLES_H

#include "base/json/json.h"

#define JSON_TYPE_TEXT(type)    NULL
#define JSON_TYPE_REAL(type)    NULL
#define JSON_TYPE_EXTRA(type)   NULL
#define JSON_TYPE_INT(type)     NULL
#define JSON_TYPE_INDEX(type)   NULL
#define JSON_TYPE_FLAG(type)    NULL
#define JSON_TYPE_ONE(type)     &record_##type
#define JSON_TYPE_MAYBE(type)   &record_##type
#define JSON_TYPE_LIST(type)    &record_##type
#define JSON_TYPE_TABLE(type)   &record_##type
#define JSON_TYPE_MAP(type)     &record_##type
#define JSON_TYPE_WORDS(type)   NULL
#define JSON_TYPE_NUMBERS(type) NULL
#define JSON_TYPE_COUNTS(type)  NULL

#define JSON_ROW(kind_, type_, name_, meaning_)                                                    \
    {.key = #name_,                                                                                \
     .meaning = meaning_,                                                                          \
     .kind = JSON_##kind_,                                                                         \
     .type = JSON_TYPE_##kind_(type_),                                                             \
     .offset = offsetof(owner, name_)},
#define JSON_ONE_MORE(kind, type, name, meaning) +1
#define JSON_RECORD(name_, fields_)                                                                \
    static const struct json_field *rows_##name_(void)                                             \
    {                                                                                              \
        typedef struct name_ owner __attribute__((unused)); /* by a list without fields */         \
        static const struct json_field rows[] = {fields_(JSON_ROW)};                               \
        return rows;                                                                               \
    }                                                                                              \
    const struct json_record record_##name_ = {#name_, sizeof(struct name_), rows_##name_,         \
                                               0 fields_(JSON_ONE_MORE)};

#endif
