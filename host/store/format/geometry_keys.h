/* The keys of geometry files, one table: where each lies, how it is read and written. */
#ifndef TP_STORE_FORMAT_GEOMETRY_KEYS_H
#define TP_STORE_FORMAT_GEOMETRY_KEYS_H

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/json/jsonw.h"
#include "host/geom/ct_model.h"

struct value_list {
    float *values;
    int64_t count;
    int width; /* numbers of an entry */
};

enum kind { PARALLEL = 1, CONE = 2, TRANSLATION = 4, MULTIAXIS = 8, ALWAYS = 15 };
/* A model while its file is read: lists stay beside it until their lengths are known to fit. */
struct draft {
    struct ct_model m;
    enum kind kind;
    struct value_list angles, z_shifts, vectors;
};

/* Tells how many numbers a value has: pairs and vectors are lists of 2 or 3 for each view. */
enum value_form { NUMBER, FLAG, LIST, TEXT };

/* A parameter: where it lies in struct draft, and how it is read and written. */
struct key {
    const char *name;
    enum value_form form;
    size_t at;
    enum err (*read)(const char *name, const cJSON *value, void *field);
    void (*write)(struct jsonw *w, const char *name, const void *field);
    int written;                 /* for which kinds */
    enum { PLAIN, MANUAL } when; /* MANUAL: written when regularisation is not automatic */
};

extern const struct key geometry_keys[];
extern const int geometry_key_count;
#define KEYS_MOST 40 /* at least geometry_key_count */

/* Index of a key; geometry_key_count when there is none. */
int key_find(const char *name);
enum err key_unknown(const char *name); /* ERR_INPUT with the nearest name */

/* The keys of a file or a text as JSON; `name` is used in the sentences. Any bytes are safe. */
enum err geometry_keys_read(const char *path, cJSON **root);
enum err geometry_keys_parse(const char *name, const char *text, size_t bytes, cJSON **root);
/* The model that they describe (ct_model_read). */
enum err ct_model_from_keys(const cJSON *root, struct ct_model *m);
enum kind kind_of(const struct scan *s);

#endif
