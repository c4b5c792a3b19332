/* A pull reader of JSON: one token at a time, no tree, exact decimal times. */
#ifndef TP_IMPORT_READ_JSON_PULL_H
#define TP_IMPORT_READ_JSON_PULL_H

#include <stddef.h>
#include <stdint.h>

enum pull_kind {
    PULL_END,
    PULL_BAD,
    PULL_OBJECT,
    PULL_ARRAY,
    PULL_CLOSE,
    PULL_TEXT,
    PULL_NUMBER,
    PULL_WORD
};

#define PULL_DEPTH      64
#define PULL_TEXT_BYTES 65536 /* longer texts are truncated */

struct pull {
    const char *at, *end;
    int depth;
    char text[PULL_TEXT_BYTES]; /* of a text, unescaped; of a number or word, as it stands */
    size_t length;
    char nesting[PULL_DEPTH];
};

void pull_start(struct pull *p, const char *data, size_t bytes);
/* The next value or the end of an object or array. */
enum pull_kind pull_next(struct pull *p);
/* In an object: its next key into `text`; 0: the object ended, or is damaged. */
int pull_key(struct pull *p);
/* In an array: 1 where another value follows; 0: the array ended, or is damaged. */
int pull_more(struct pull *p);
/* Reads over the value that begins with `kind`, which pull_next just gave. */
int pull_skip(struct pull *p, enum pull_kind kind);
/* The start of `text`, as much as there is room for. */
void pull_copy(const struct pull *p, char *to, size_t room);

/* A decimal number times 10^shift, rounded to nearest; 0: not one, or beyond 2^62. */
int decimal(const char *text, int shift, int64_t *out);

#endif
