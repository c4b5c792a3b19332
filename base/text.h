/* Text: beginnings and ends, names in paths, formatted text in buffers; text of others on a
 * terminal, which is shown and not obeyed. */
#ifndef TP_BASE_TEXT_H
#define TP_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static inline int text_begins(const char *s, const char *beginning)
{
    return !strncmp(s, beginning, strlen(beginning));
}

static inline int text_ends(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && !memcmp(s + n - k, end, k);
}

/* Tells whether a file's name ends so, with something before it: ".npy" alone has no suffix. */
static inline int text_has_suffix(const char *name, const char *suffix)
{
    return text_ends(name, suffix) && name[strlen(suffix)];
}

/* The part of a path behind its last slash; NULL stays NULL. */
static inline const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* Writes the folder of a path: "." without a slash, "/" for what lies in the root. Truncates. */
void path_folder(const char *path, char *out, size_t room);

/* Appends to the text in out[room]. Returns 0 when it did not fit; what fitted is there. */
int text_append(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Does the same to an empty text. */
int text_print(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a number with that many significant digits, and all digits before its point: 1234, where
 * %.3g has 1.23e+03. */
enum { NUMBER_TEXT = 40 };
const char *number_text(double v, int digits, char out[NUMBER_TEXT]);
#define NUMBER(digits, v) number_text(v, digits, (char[NUMBER_TEXT]){0})

/* A name of C++ that fits a sentence: where it is long, <...> stands for its templates, then (...) for
 * its parameters: "Histogram<...>::add(...)". Other names, and those whose brackets do not match, stay.
 * Cut to out[]. */
enum { NAME_TEXT = 81 };
const char *name_text(const char *name, char out[NAME_TEXT]);

enum plain_keep {
    PLAIN_LINE = 0,  /* one line: line ends and tabs are escaped too */
    PLAIN_LINES = 1, /* line ends and tabs pass */
    PLAIN_STYLED = 2 /* so do the styles below */
};

/* The styles that tomoprof prints itself. */
#define PLAIN_BOLD   "\033[1m"
#define PLAIN_DIM    "\033[2m"
#define PLAIN_RED    "\033[31m"
#define PLAIN_YELLOW "\033[33m"
#define PLAIN_END    "\033[0m"

/* Copies `in` to out[room], NUL-terminated and cut at a whole character: control characters, those
 * that turn the direction of text, and bytes that are not UTF-8 become \n, \x1b, \u202e. Returns
 * the bytes written. */
size_t plain_text(const char *in, enum plain_keep keep, char *out, size_t room);

/* Takes the character at the beginning of *in, which is not empty: its form as by PLAIN_LINE in out[],
 * NUL-terminated. Returns the form's bytes. For writers of other formats, whose files are read on
 * terminals too. */
enum { PLAIN_FORM = 17 };
size_t plain_take(const char **in, char out[PLAIN_FORM]);

/* Prints as fprintf and vsnprintf do, but each text among the arguments is one line, escaped as by
 * PLAIN_LINE but for tabs; the format's own line ends and styles pass. For texts of files and programs: a name
 * begins no line that looks like one of tomoprof's. Knows no %m, %n and long double. */
void plain_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plain_vprint(FILE *out, const char *format, va_list args);
void plain_vformat(char *out, size_t room, const char *format, va_list args);

/* From here on all that is printed to stdout passes plain_text where stdout is a terminal: a file's
 * texts bring no styles. */
void plain_stdout(void);
/* For who prints styles: from here on they pass. */
void plain_stdout_styles(void);

#endif
