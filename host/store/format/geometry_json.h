/* Geometry files: JSON with MBIRJAX's parameter names. */
#ifndef TP_STORE_FORMAT_GEOMETRY_JSON_H
#define TP_STORE_FORMAT_GEOMETRY_JSON_H

#include "base/err.h"
#include "base/json/jsonw.h"
#include "host/geom/ct_model.h"

/* Reads, fills defaults and automatic values, checks (ct_model_resolve). ERR_INPUT names file and
 * key.
 */
enum err ct_model_read(const char *path, struct ct_model *m);
/* The same from memory; `name` is used in the sentences. Any bytes are safe. */
enum err ct_model_parse(const char *name, const char *text, size_t bytes, struct ct_model *m);
/* Writes every parameter, the automatic ones filled, so that ct_model_read gives the same model. */
enum err ct_model_write(const char *path, const struct ct_model *m);

/* Writes the same object as the next value of `w`. */
void ct_model_write_json(struct jsonw *w, const struct ct_model *m);

#endif
