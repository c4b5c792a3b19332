/* Typed option rows: one table per command feeds the parser, --help, shell completion and the docs.
 * Files that a command reads are never its outputs, by device and inode. */
#ifndef TP_BASE_OPTIONS_H
#define TP_BASE_OPTIONS_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

enum opt_kind {
    OPT_FLAG,    /* int *, set to 1 */
    OPT_INT,     /* int64_t * or uint64_t * with [min, max] */
    OPT_INT32,   /* int *, the same */
    OPT_NUMBER,  /* double * with [min, max]; finite */
    OPT_AUTO,    /* double *, the same, or "auto": INFINITY */
    OPT_NUMBERS, /* double [max], finite numbers with commas between them, `min` at least */
    OPT_TEXT,    /* const char ** */
    OPT_LIST,    /* char [OPTIONS_LIST]: the values of all that were given, with blanks */
    OPT_INPUT,   /* const char **, a file that is read */
    OPT_OUTPUT,  /* const char **, a file that is written; inputs_check compares the two */
    OPT_PLACE,   /* const char **, folder or beginning of names where files go */
    OPT_CHOICE,  /* int * or enum *, `min` (if given) + index into "a|b|c" given as `meta` */
    OPT_BYTES,   /* uint64_t *, "12GiB" */
};

#define OPTIONS_LIST 4096

struct opt {
    const char *name; /* without dashes; "in" is --in X or --in=X */
    char letter;      /* 0 = none */
    enum opt_kind kind;
    void *value;
    const char *meta; /* what --help shows after it: FILE, N, a|b|c */
    const char *help; /* NULL: an older or expected name of another row, which nothing lists */
    double min, max;  /* of numbers: both 0 = any */
    int seen;         /* set by the parser when given */
};

/* Returns 1 for a kind whose value names a file or folder. */
int opt_is_path(const struct opt *row);

/* Rows write straight into `variable`, a static or a member of one; another type than the kind's
 * does not compile. `short_name` is the letter, 0 for none; `text` is the help. */
/* clang-format off */
#define OPTION_ROW(option, short_name, row_kind, address, shown, text, ...)                        \
    {.name = option, .letter = short_name, .kind = row_kind, .value = address, .meta = shown,      \
     .help = text, ##__VA_ARGS__}
#define OPTION_OF(variable, type) _Generic((variable), type: &(variable))
#define OPTION_NAME_OF(variable) OPTION_OF(variable, const char *)
#define OPTION_FLAG(option, short_name, variable, text)                                            \
    OPTION_ROW(option, short_name, OPT_FLAG, OPTION_OF(variable, int), NULL, text)
#define OPTION_INT(option, short_name, variable, shown, text, least, most)                         \
    OPTION_ROW(option, short_name, _Generic((variable), int: OPT_INT32, default: OPT_INT),         \
               _Generic((variable), int: &(variable), int64_t: &(variable), uint64_t: &(variable)), \
               shown, text, .min = least, .max = most)
#define OPTION_NUMBER(option, short_name, variable, shown, text, least, most)                      \
    OPTION_ROW(option, short_name, OPT_NUMBER, OPTION_OF(variable, double), shown, text,           \
               .min = least, .max = most)
#define OPTION_AUTO(option, short_name, variable, shown, text, least, most)                        \
    OPTION_ROW(option, short_name, OPT_AUTO, OPTION_OF(variable, double), shown, text,             \
               .min = least, .max = most)
#define OPTION_NUMBERS(option, short_name, variable, shown, text, least)                           \
    OPTION_ROW(option, short_name, OPT_NUMBERS, OPTION_OF((variable)[0], double), shown, text,     \
               .min = least, .max = sizeof(variable) / sizeof(double))
#define OPTION_TEXT(option, short_name, variable, shown, text)                                     \
    OPTION_ROW(option, short_name, OPT_TEXT, OPTION_NAME_OF(variable), shown, text)
#define OPTION_INPUT(option, short_name, variable, shown, text)                                    \
    OPTION_ROW(option, short_name, OPT_INPUT, OPTION_NAME_OF(variable), shown, text)
#define OPTION_OUTPUT(option, short_name, variable, shown, text)                                   \
    OPTION_ROW(option, short_name, OPT_OUTPUT, OPTION_NAME_OF(variable), shown, text)
#define OPTION_PLACE(option, short_name, variable, shown, text)                                    \
    OPTION_ROW(option, short_name, OPT_PLACE, OPTION_NAME_OF(variable), shown, text)
#define OPTION_CHOICE(option, short_name, variable, shown, text, ...)                              \
    OPTION_ROW(option, short_name, OPT_CHOICE,                                                     \
               _Generic((variable), int: &(variable), unsigned: &(variable)), shown, text,         \
               ##__VA_ARGS__)
#define OPTION_LIST(option, short_name, variable, shown, text)                                     \
    OPTION_ROW(option, short_name, OPT_LIST, OPTION_OF((variable)[0], char), shown, text)
/* Another name for the row of `variable`, which is taken and not listed. */
#define OPTION_TWIN(option, row_kind, variable, shown)                                             \
    OPTION_ROW(option, 0, row_kind, &(variable), shown, NULL)
/* clang-format on */

/* Parses argv[0..argc) (no program or command name) into `rows` (ended by name NULL). Positional
 * words are moved to the front of argv, their number into *positional. "--" ends options. Unknown
 * options get ERR_USAGE with the nearest known name; so do missing, malformed and out-of-range
 * values. Of a value that is given twice the last one holds, with a warning; a row of OPT_LIST
 * keeps both. A word after an option that takes a value is its value unless it begins with "--"
 * (--in=--odd names such a value). */
enum err opt_parse(struct opt *rows, int argc, char **argv, int *positional);

/* The same where options end at the first positional word, another command, which stays as it is. */
enum err opt_parse_leading(struct opt *rows, int argc, char **argv, int *positional);
int opt_leading(struct opt *rows, int argc, char **argv); /* words before that, with values */

/* The name nearest to `word` in names[0..n) by edit distance, NULL when none is near enough to be
 * meant. */
const char *opt_nearest(const char *word, const char *const *names, int n);

/* Spells the parameters of a sentence, `bin` and `center_png=FILE`, as options, --bin and
 * --center-png FILE, of the same length, where one of `rows` (ended by name NULL) has that name. */
void opt_spell(const struct opt *rows, char *text);

/* The option part of --help, on `stdout`. */
void opt_help(const struct opt *rows);

/* Notes the rows' inputs, follows symbolic links that the user names as outputs, and refuses an
 * output that is an input or another output. Call it once, after the command's words were noted. */
enum err inputs_check(struct opt *rows);

/* Notes a file that the command reads, or, of a run's folder, what commands read of a run;
 * `remade`: its profile.json may be written all the same. Missing files and other words are fine.
 * A copy of `name` is kept, for sentences. */
enum err inputs_note(const char *name, int remade);

/* The name under which a regular file was noted; NULL: it was not. */
const char *inputs_name(const struct stat *st);

#endif
