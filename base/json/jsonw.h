/* A streaming JSON writer: no tree, commas and escapes handled, numbers shortest-exact. Non-finite
 * numbers become null (unknown is null, never 0). */
#ifndef TP_JSON_JSONW_H
#define TP_JSON_JSONW_H

#include <stdint.h>
#include <stdio.h>

struct jsonw {
    FILE *out;
    int indent; /* spaces per level, 0 = one line */
    int depth;
    unsigned char has_items[64];
    int after_key;
};

void jsonw_init(struct jsonw *w, FILE *out, int indent);
void jsonw_key(struct jsonw *w, const char *key);
void jsonw_object(struct jsonw *w); /* "{" */
void jsonw_array(struct jsonw *w);  /* "[" */
void jsonw_end(struct jsonw *w);    /* closes the innermost */
void jsonw_string(struct jsonw *w,
                  const char *s); /* NULL -> null; bytes that are not UTF-8 -> U+FFFD */
void jsonw_number(struct jsonw *w, double v);
void jsonw_int(struct jsonw *w, int64_t v);
void jsonw_bool(struct jsonw *w, int v);
void jsonw_null(struct jsonw *w);

/* key and value in one */
void jsonw_kobject(struct jsonw *w, const char *key);
void jsonw_karray(struct jsonw *w, const char *key);
void jsonw_kstring(struct jsonw *w, const char *key, const char *s);
void jsonw_knumber(struct jsonw *w, const char *key, double v);
void jsonw_kint(struct jsonw *w, const char *key, int64_t v);
void jsonw_kbool(struct jsonw *w, const char *key, int v);
void jsonw_knull(struct jsonw *w, const char *key);

#endif
