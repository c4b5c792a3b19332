/* Prints the facts of `info` and `doctor` in one pass: aligned lines for people or one JSON object,
 * on stdout. */
#ifndef TP_CLI_DOCTOR_FACTS_H
#define TP_CLI_DOCTOR_FACTS_H

#include <stdint.h>

#include "base/json/jsonw.h"

struct facts {
    int json;
    int level;    /* of groups, for people */
    int verbatim; /* keys are names of the file: people see them as they are */
    struct jsonw w;
};

void facts_begin(struct facts *f, int json);
void facts_end(struct facts *f);

/* A key is the JSON name; people see it with spaces for underscores unless f->verbatim is set. */
void facts_group(struct facts *f, const char *key);
void facts_group_end(struct facts *f);
void facts_string(struct facts *f, const char *key, const char *value);
void facts_int(struct facts *f, const char *key, int64_t value);
void facts_number(struct facts *f, const char *key, double value,
                  const char *unit); /* not finite: unknown */
void facts_bytes(struct facts *f, const char *key, double bytes);
void facts_shape(struct facts *f, const char *key, int dims, const int64_t *shape);
void facts_bool(struct facts *f, const char *key, int value);

#endif
