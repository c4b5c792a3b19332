/* The model of loading.json: where the time of loading an array goes, and which way of loading it
 * is fastest. loading_fields.h names every field. */
#ifndef TP_LOAD_LOADING_H
#define TP_LOAD_LOADING_H

#include "base/json/json.h"
#include "host/load/loading_fields.h"

#define LOADING_SCHEMA "tomoprof-loading/1"

/* clang-format off */
LOADING_STRUCTS(JSON_DEFINE)

struct loading {
    LOADING_FIELDS(JSON_MEMBER)
    struct arena *arena;
};

LOADING_STRUCTS(JSON_DECLARE)
extern const struct json_record record_loading;
/* clang-format on */

enum err loading_create(struct loading **out); /* all unknown */
void loading_free(struct loading *l);          /* NULL is fine */
void loading_json(const struct loading *l, struct jsonw *w);
enum err loading_write(const struct loading *l, const char *path);
enum err loading_schema_write(const char *path);

#endif
