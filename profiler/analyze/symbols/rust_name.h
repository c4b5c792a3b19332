/* A Rust name while it is read and printed: its letters, numbers and identifiers. */
#ifndef TP_ANALYZE_SYMBOLS_RUST_NAME_H
#define TP_ANALYZE_SYMBOLS_RUST_NAME_H

#include <stddef.h>
#include <stdint.h>

#define RUST_TEXT 8192

struct rust_name {
    const char *in; /* behind "_R" */
    size_t bytes, at;
    char *out; /* RUST_TEXT */
    size_t used;
    int quiet; /* what is read is not printed */
    int depth, steps, failed;
    uint64_t bound; /* lifetimes of the binders around this place */
};

struct rust_identifier {
    const char *text;
    size_t bytes;
    int punycode;
};

void rust_put(struct rust_name *r, const char *text, size_t n);
void rust_text(struct rust_name *r, const char *text);
void rust_number(struct rust_name *r, uint64_t n);
void rust_character(struct rust_name *r, uint32_t c); /* in UTF-8 */

/* 0: the name ends, or is not one. */
char rust_letter(const struct rust_name *r);
char rust_next(struct rust_name *r);
int rust_takes(struct rust_name *r, char c);

/* Digits and letters, ended by '_': "_" is 0, "0_" is 1. */
uint64_t rust_base62(struct rust_name *r);
/* A number behind its letter; 0: it is not there. */
uint64_t rust_optional(struct rust_name *r, char letter);

struct rust_identifier rust_identifier_next(struct rust_name *r);
void rust_put_identifier(struct rust_name *r, const struct rust_identifier *id);

#endif
