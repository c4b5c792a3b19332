/* Readable names of Rust functions that are mangled by its scheme v0 (RFC 2603), as rustc-demangle
 * prints them without the hashes of crates. Names come from files of strangers: a place that leads
 * back may be followed often, so that depth, steps and length are limited. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/symbols/demangle.h"
#include "profiler/analyze/symbols/rust_name.h"

#define DEPTH_MOST 200
#define STEPS_MOST 20000

static void rust_path(struct rust_name *r, int in_value);
static void rust_type(struct rust_name *r);
static void rust_const(struct rust_name *r);

/* Prints what lies at a place that was read before; what comes behind it is read on here. */
static void rust_back(struct rust_name *r, void (*print)(struct rust_name *r, int in_value),
                      int in_value)
{
    const size_t here = r->at - 1;
    const uint64_t to = rust_base62(r);
    const size_t behind = r->at;
    r->failed |= to >= here;
    if (r->failed || r->quiet)
        return;
    r->at = (size_t)to;
    print(r, in_value);
    r->at = behind;
}

static void back_type(struct rust_name *r, int in_value)
{
    (void)in_value;
    rust_type(r);
}

static void back_const(struct rust_name *r, int in_value)
{
    (void)in_value;
    rust_const(r);
}

/* 0: this deep, or after so many steps, a name is not meant to be read. */
static int rust_enter(struct rust_name *r)
{
    r->failed |= ++r->depth > DEPTH_MOST || ++r->steps > STEPS_MOST;
    return !r->failed;
}

/* Prints 'a for the outermost binder's first; 0 is "'_". */
static void put_lifetime(struct rust_name *r, uint64_t index)
{
    if (!index) {
        rust_text(r, "'_");
        return;
    }
    r->failed |= index > r->bound;
    const uint64_t depth = r->bound - index;
    rust_text(r, "'");
    if (depth < 26) {
        const char c = (char)('a' + (int)depth);
        rust_put(r, &c, 1);
    } else {
        rust_text(r, "_");
        rust_number(r, depth);
    }
}

/* Returns how many lifetimes are bound here. */
static uint64_t rust_binder(struct rust_name *r)
{
    const uint64_t n = rust_optional(r, 'G');
    r->failed |= n > 1000;
    if (!n || r->failed)
        return 0;
    rust_text(r, "for<");
    for (uint64_t i = 0; i < n; i++) {
        rust_text(r, i ? ", " : "");
        r->bound++;
        put_lifetime(r, 1);
    }
    rust_text(r, "> ");
    return n;
}

static void rust_argument(struct rust_name *r)
{
    if (rust_takes(r, 'L'))
        put_lifetime(r, rust_base62(r));
    else if (rust_takes(r, 'K'))
        rust_const(r);
    else
        rust_type(r);
}

static void rust_arguments(struct rust_name *r)
{
    for (int i = 0; !r->failed && !rust_takes(r, 'E'); i++) {
        rust_text(r, i ? ", " : "");
        rust_argument(r);
    }
}

/* Skips the path of an implementation, which its type and trait name better. */
static void skip_implementation(struct rust_name *r)
{
    rust_optional(r, 's');
    r->quiet++;
    rust_path(r, 0);
    r->quiet--;
}

static void rust_nested(struct rust_name *r, int in_value)
{
    const char space = rust_next(r);
    rust_path(r, in_value);
    const uint64_t number = rust_optional(r, 's');
    const struct rust_identifier id = rust_identifier_next(r);
    if (space >= 'a' && space <= 'z') {
        rust_text(r, id.bytes ? "::" : "");
        rust_put_identifier(r, &id);
        return;
    }
    r->failed |= !(space >= 'A' && space <= 'Z');
    rust_text(r, "::{");
    if (space == 'C')
        rust_text(r, "closure");
    else if (space == 'S')
        rust_text(r, "shim");
    else
        rust_put(r, &space, 1);
    rust_text(r, id.bytes ? ":" : "");
    rust_put_identifier(r, &id);
    rust_text(r, "#");
    rust_number(r, number);
    rust_text(r, "}");
}

static void rust_as(struct rust_name *r, int has_trait)
{
    rust_text(r, "<");
    rust_type(r);
    if (has_trait) {
        rust_text(r, " as ");
        rust_path(r, 0);
    }
    rust_text(r, ">");
}

/* Prints a path. `in_value`: generic arguments follow "::". */
static void rust_path(struct rust_name *r, int in_value)
{
    struct rust_identifier id;
    const char c = rust_enter(r) ? rust_next(r) : 0;
    switch (c) {
    case 'C':
        rust_optional(r, 's');
        id = rust_identifier_next(r);
        rust_put_identifier(r, &id);
        break;
    case 'N':
        rust_nested(r, in_value);
        break;
    case 'M':
    case 'X':
        skip_implementation(r);
        rust_as(r, c == 'X');
        break;
    case 'Y':
        rust_as(r, 1);
        break;
    case 'I':
        rust_path(r, in_value);
        rust_text(r, in_value ? "::<" : "<");
        rust_arguments(r);
        rust_text(r, ">");
        break;
    case 'B':
        rust_back(r, rust_path, in_value);
        break;
    default:
        r->failed = 1;
    }
    r->depth--;
}

/* Returns a type of one letter; NULL: another. */
static const char *plain_type(char c)
{
    static const char *const names[26] = {"i8",   "bool",  "char",  "f64", "str", "f32", NULL,
                                          "u8",   "isize", "usize", NULL,  "i32", "u32", "i128",
                                          "u128", "_",     NULL,    NULL,  "i16", "u16", "()",
                                          "...",  NULL,    "i64",   "u64", "!"};
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void rust_function_type(struct rust_name *r)
{
    const uint64_t bound = rust_binder(r);
    rust_text(r, rust_takes(r, 'U') ? "unsafe " : "");
    if (rust_takes(r, 'K')) {
        rust_text(r, "extern \"");
        if (rust_takes(r, 'C')) {
            rust_text(r, "C");
        } else {
            const struct rust_identifier id = rust_identifier_next(r);
            for (size_t i = 0; i < id.bytes; i++)
                rust_put(r, id.text[i] == '_' ? "-" : id.text + i, 1);
        }
        rust_text(r, "\" ");
    }
    rust_text(r, "fn(");
    rust_arguments(r);
    rust_text(r, ")");
    if (!rust_takes(r, 'u')) {
        rust_text(r, " -> ");
        rust_type(r);
    }
    r->bound -= bound;
}

/* Prints a trait of `dyn`, whose associated types stand among its arguments. */
static void rust_dyn_trait(struct rust_name *r)
{
    int open = 0;
    if (rust_letter(r) == 'I') {
        r->at++;
        rust_path(r, 0);
        rust_text(r, "<");
        rust_arguments(r);
        open = 1;
    } else {
        rust_path(r, 0);
    }
    while (rust_takes(r, 'p')) {
        rust_text(r, open ? ", " : "<");
        open = 1;
        const struct rust_identifier id = rust_identifier_next(r);
        rust_put_identifier(r, &id);
        rust_text(r, " = ");
        rust_type(r);
    }
    rust_text(r, open ? ">" : "");
}

static void rust_dyn(struct rust_name *r)
{
    rust_text(r, "dyn ");
    const uint64_t bound = rust_binder(r);
    for (int i = 0; !r->failed && !rust_takes(r, 'E'); i++) {
        rust_text(r, i ? " + " : "");
        rust_dyn_trait(r);
    }
    r->bound -= bound;
    r->failed |= !rust_takes(r, 'L');
    const uint64_t lifetime = rust_base62(r);
    if (lifetime) {
        rust_text(r, " + ");
        put_lifetime(r, lifetime);
    }
}

static void rust_reference(struct rust_name *r, const char *text)
{
    rust_text(r, "&");
    if (rust_takes(r, 'L')) {
        const uint64_t lifetime = rust_base62(r);
        if (lifetime) {
            put_lifetime(r, lifetime);
            rust_text(r, " ");
        }
    }
    rust_text(r, text);
    rust_type(r);
}

static void rust_tuple(struct rust_name *r)
{
    int n = 0;
    rust_text(r, "(");
    for (; !r->failed && !rust_takes(r, 'E'); n++) {
        rust_text(r, n ? ", " : "");
        rust_type(r);
    }
    rust_text(r, n == 1 ? ",)" : ")");
}

static void rust_array(struct rust_name *r, int has_size)
{
    rust_text(r, "[");
    rust_type(r);
    if (has_size) {
        rust_text(r, "; ");
        rust_const(r);
    }
    rust_text(r, "]");
}

static void rust_type(struct rust_name *r)
{
    const char c = rust_enter(r) ? rust_next(r) : 0;
    const char *plain = plain_type(c);
    if (plain)
        rust_text(r, plain);
    else if (c == 'R' || c == 'Q')
        rust_reference(r, c == 'Q' ? "mut " : "");
    else if (c == 'P' || c == 'O') {
        rust_text(r, c == 'P' ? "*const " : "*mut ");
        rust_type(r);
    } else if (c == 'A' || c == 'S')
        rust_array(r, c == 'A');
    else if (c == 'T')
        rust_tuple(r);
    else if (c == 'F')
        rust_function_type(r);
    else if (c == 'D')
        rust_dyn(r);
    else if (c == 'B')
        rust_back(r, back_type, 0);
    else if (c) {
        r->at--;
        rust_path(r, 0);
    }
    r->depth--;
}

/* Reads hexadecimal digits up to '_'. *n: how many there are, without zeros before them. */
static uint64_t const_digits(struct rust_name *r, const char **text, size_t *n)
{
    uint64_t value = 0;
    while (rust_takes(r, '0'))
        ;
    *text = r->in + r->at;
    *n = 0;
    for (char c = rust_next(r); c != '_' && !r->failed; c = rust_next(r), ++*n) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        r->failed |= digit < 0;
        value = value << 4 | (uint64_t)(digit & 15);
    }
    return value;
}

static void put_quoted(struct rust_name *r, uint64_t c)
{
    char text[16];
    r->failed |= c > 0x10ffff;
    rust_text(r, "'");
    if (c == '\n' || c == '\t' || c == '\r')
        rust_text(r, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    else if (c == '\'' || c == '\\') {
        rust_text(r, "\\");
        rust_character(r, (uint32_t)c);
    } else if (c < ' ' || c == 0x7f) {
        snprintf(text, sizeof text, "\\u{%x}", (unsigned)c);
        rust_text(r, text);
    } else
        rust_character(r, (uint32_t)c);
    rust_text(r, "'");
}

/* Prints numbers, truth values and characters; others are rare, and fail. */
static void rust_const(struct rust_name *r)
{
    const char c = rust_enter(r) ? rust_next(r) : 0;
    const char *digits;
    size_t n;
    if (c == 'p') {
        rust_text(r, "_");
    } else if (c == 'B') {
        rust_back(r, back_const, 0);
    } else if (c == 'b') {
        const uint64_t value = const_digits(r, &digits, &n);
        r->failed |= value > 1;
        rust_text(r, value ? "true" : "false");
    } else if (c == 'c') {
        put_quoted(r, const_digits(r, &digits, &n));
    } else if (c && strchr("aslxnihtmyoj", c)) {
        rust_text(r, rust_takes(r, 'n') ? "-" : "");
        const uint64_t value = const_digits(r, &digits, &n);
        if (n > 16) {
            rust_text(r, "0x");
            rust_put(r, digits, n);
        } else {
            rust_number(r, value);
        }
    } else {
        r->failed = 1;
    }
    r->depth--;
}

char *demangle_rust(const char *mangled)
{
    struct rust_name r = {.in = mangled + 2};
    if (strncmp(mangled, "_R", 2) || !(mangled[2] >= 'A' && mangled[2] <= 'Z'))
        return NULL;
    r.bytes = strcspn(r.in, ".");
    r.out = malloc(RUST_TEXT);
    if (!r.out)
        return NULL;
    rust_path(&r, 1);
    if (rust_letter(&r) >= 'A' && rust_letter(&r) <= 'Z') { /* the crate that made this instance */
        r.quiet = 1;
        rust_path(&r, 0);
    }
    if (r.failed || r.at != r.bytes || !r.used) {
        free(r.out);
        return NULL;
    }
    r.out[r.used] = 0;
    return r.out;
}
