/* Parses options by their rows, prints their part of --help, and checks a command's outputs against
 * what it reads. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"

#define WORD_MAX 64 /* longer words are nobody's typing error */

static int int_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b. */
static int edit_distance(const char *a, const char *b)
{
    int m = (int)strlen(a), n = (int)strlen(b);
    if (m > WORD_MAX || n > WORD_MAX)
        return WORD_MAX;
    int d[WORD_MAX + 1][WORD_MAX + 1];
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            int replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = int_smaller(replace, 1 + int_smaller(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = int_smaller(d[i][j], 1 + d[i - 2][j - 2]);
        }
    return d[m][n];
}

const char *opt_nearest(const char *word, const char *const *names, int n)
{
    int length = (int)strlen(word), best = 1 + int_smaller(length / 3 + 1, 4);
    const char *near = NULL;
    for (int i = 0; i < n; i++) {
        int prefix = length >= 2 && !strncmp(word, names[i], (size_t)length);
        int d = prefix ? 1 : edit_distance(word, names[i]);
        if (d < best) {
            best = d;
            near = names[i];
        }
    }
    return near;
}

static enum err option_unknown(const struct opt *rows, const char *word)
{
    const char *names[64];
    int n = 0;
    for (const struct opt *r = rows; r->name && n < 64; r++)
        if (r->help)
            names[n++] = r->name;
    char bare[WORD_MAX];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *dashes = strlen(bare) > 2 ? "--" : "";
    const char *near =
        opt_nearest(bare + (bare[0] == '-') + (bare[0] == '-' && bare[1] == '-'), names, n);
    if (near && *dashes)
        return FAIL(ERR_USAGE, "unknown option %s: did you mean --%s?", bare, near);
    return FAIL(ERR_USAGE, "unknown option %s: --help lists the options", bare);
}

static enum err out_of_range(const struct opt *row, const char *text)
{
    if (isinf(row->max))
        return FAIL(ERR_USAGE, "--%s %s: must be at least %.15g", row->name, text, row->min);
    return FAIL(ERR_USAGE, "--%s %s: must be between %.15g and %.15g", row->name, text, row->min,
                row->max);
}

static int in_range(const struct opt *row, double v)
{
    return (row->min == 0 && row->max == 0) || (v >= row->min && v <= row->max);
}

static enum err set_int(struct opt *row, const char *text)
{
    char *end;
    errno = 0;
    int64_t v = strtoll(text, &end, 10);
    FAIL_IF(end == text || *end || errno, ERR_USAGE, "--%s %s: not a whole number", row->name,
            text);
    if (!in_range(row, (double)v))
        return out_of_range(row, text);
    if (row->kind == OPT_INT32)
        *(int *)row->value = (int)v;
    else
        *(int64_t *)row->value = v;
    return ERR_OK;
}

static enum err set_number(struct opt *row, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    FAIL_IF(end == text || *end || !isfinite(v), ERR_USAGE, "--%s %s: not a finite number",
            row->name, text);
    if (!in_range(row, v))
        return out_of_range(row, text);
    *(double *)row->value = v;
    return ERR_OK;
}

static enum err set_auto(struct opt *row, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (!strcmp(text, "auto"))
        v = (double)INFINITY;
    else
        FAIL_IF(end == text || *end || !isfinite(v) || !in_range(row, v), ERR_USAGE,
                "--%s %s: must be from %g to %g, or auto", row->name, text, row->min, row->max);
    *(double *)row->value = v;
    return ERR_OK;
}

static enum err set_numbers(struct opt *row, const char *text)
{
    const int least = (int)row->min, most = (int)row->max;
    double *const out = row->value;
    const char *at = text;
    memset(out, 0, (size_t)most * sizeof *out);
    for (int n = 0; n < most; n++) {
        char *end;
        out[n] = strtod(at, &end);
        FAIL_IF(end == at || !isfinite(out[n]) || (*end && *end != ','), ERR_USAGE,
                "--%s %s: finite numbers with commas between them are needed", row->name, text);
        FAIL_IF(!*end && n + 1 < least, ERR_USAGE, "--%s %s: at least %d numbers are needed",
                row->name, text, least);
        if (!*end)
            return ERR_OK;
        at = end + 1;
    }
    return FAIL(ERR_USAGE, "--%s %s: more than %d numbers", row->name, text, most);
}

static enum err set_choice(struct opt *row, const char *text)
{
    size_t length = strlen(text);
    int index = (int)row->min;
    for (const char *s = row->meta; s; index++) {
        const char *bar = strchr(s, '|');
        size_t n = bar ? (size_t)(bar - s) : strlen(s);
        if (n == length && !strncmp(s, text, n)) {
            *(int *)row->value = index;
            return ERR_OK;
        }
        s = bar ? bar + 1 : NULL;
    }
    char choices[512], *rest, *names[32];
    int n = 0;
    snprintf(choices, sizeof choices, "%s", row->meta);
    for (char *name = strtok_r(choices, "|", &rest); name && n < 32;
         name = strtok_r(NULL, "|", &rest))
        names[n++] = name;
    const char *near = opt_nearest(text, (const char *const *)names, n);
    return FAIL(ERR_USAGE, "--%s %s: must be one of %s%s%s%s", row->name, text, row->meta,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static enum err add_value(struct opt *row, const char *text)
{
    char *const room = row->value;
    const size_t used = strlen(room), more = strlen(text);
    FAIL_IF(used + 1 + more >= OPTIONS_LIST, ERR_USAGE, "--%s: %zu bytes; at most %d are accepted",
            row->name, used + 1 + more, OPTIONS_LIST - 1);
    if (used)
        room[used] = ' ';
    memcpy(room + used + (used > 0), text, more + 1);
    return ERR_OK;
}

static enum err set_value(struct opt *row, const char *text)
{
    if (row->seen && row->kind != OPT_FLAG && row->kind != OPT_LIST)
        log_warn("--%s is given more than once: %s replaces what came before", row->name, text);
    row->seen = 1;
    switch (row->kind) {
    case OPT_FLAG:
        *(int *)row->value = 1;
        return ERR_OK;
    case OPT_INT:
    case OPT_INT32:
        return set_int(row, text);
    case OPT_NUMBER:
        return set_number(row, text);
    case OPT_AUTO:
        return set_auto(row, text);
    case OPT_NUMBERS:
        return set_numbers(row, text);
    case OPT_CHOICE:
        return set_choice(row, text);
    case OPT_INPUT:
    case OPT_OUTPUT:
    case OPT_PLACE:
        FAIL_IF(!*text, ERR_USAGE, "--%s: the name is empty", row->name);
        *(const char **)row->value = text;
        return ERR_OK;
    case OPT_TEXT:
        *(const char **)row->value = text;
        return ERR_OK;
    case OPT_LIST:
        return add_value(row, text);
    case OPT_BYTES: {
        size_t bytes;
        enum err e = mem_parse(text, &bytes);
        if (e)
            return err_prefix(e, "--%s", row->name);
        *(uint64_t *)row->value = bytes;
        return ERR_OK;
    }
    }
    return FAIL(ERR_INTERNAL, "--%s: option of an unknown kind", row->name);
}

/* The row that `word` (--name, --name=value, -x or -xvalue) names, NULL when none; *inline_value is
 * what is in the word itself. */
static struct opt *row_for(struct opt *rows, char *word, char **inline_value)
{
    *inline_value = NULL;
    int is_long = word[1] == '-';
    size_t length = is_long ? strcspn(word + 2, "=") : 1;
    for (struct opt *r = rows; r->name; r++) {
        if (is_long ? strlen(r->name) == length && !strncmp(r->name, word + 2, length)
                    : r->letter && r->letter == word[1]) {
            char *rest = word + (is_long ? 2 : 1) + length;
            if (*rest)
                *inline_value = rest + is_long;
            return r;
        }
    }
    return NULL;
}

static enum err options_parse_rows(struct opt *rows, int argc, char **argv, int leading,
                                   int *positional)
{
    int words = 0;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        int plain = word[0] != '-' || !word[1], rest = !strcmp(word, "--");
        if (rest || (plain && leading)) {
            for (i += rest; i < argc; i++)
                argv[words++] = argv[i];
            break;
        }
        if (plain) {
            argv[words++] = word;
            continue;
        }
        char *value;
        struct opt *row = row_for(rows, word, &value);
        if (!row)
            return option_unknown(rows, word);
        if (row->kind == OPT_FLAG) {
            FAIL_IF(value, ERR_USAGE, "--%s takes no value", row->name);
        } else if (!value) {
            FAIL_IF(i + 1 >= argc || !strncmp(argv[i + 1], "--", 2), ERR_USAGE,
                    "--%s needs a value: --%s %s", row->name, row->name, row->meta);
            value = argv[++i];
        }
        TRY(set_value(row, value));
    }
    *positional = words;
    return ERR_OK;
}

int opt_leading(struct opt *rows, int argc, char **argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--")) {
        char *value;
        const struct opt *row = row_for(rows, argv[i], &value);
        i += row && row->kind != OPT_FLAG && !value ? 2 : 1;
    }
    return int_smaller(i, argc);
}

int opt_is_path(const struct opt *row)
{
    return row->kind == OPT_INPUT || row->kind == OPT_OUTPUT || row->kind == OPT_PLACE;
}

enum err opt_parse(struct opt *rows, int argc, char **argv, int *positional)
{
    return options_parse_rows(rows, argc, argv, 0, positional);
}

enum err opt_parse_leading(struct opt *rows, int argc, char **argv, int *positional)
{
    return options_parse_rows(rows, argc, argv, 1, positional);
}

/* Returns the row that `word` names, with _ for -, up to a = or a back quote; NULL when none. */
static const struct opt *row_of_parameter(const struct opt *rows, const char *word)
{
    for (const struct opt *r = rows; r->name; r++) {
        size_t n = 0;
        while (r->name[n] && (r->name[n] == '-' ? '_' : r->name[n]) == word[n])
            n++;
        if (!r->name[n] && (word[n] == '`' || word[n] == '='))
            return r;
    }
    return NULL;
}

void opt_spell(const struct opt *rows, char *text)
{
    for (char *at = strchr(text, '`'); at; at = strchr(at + 1, '`')) {
        const struct opt *row = row_of_parameter(rows, at + 1);
        const char *end = row ? strchr(at + 1, '`') : NULL;
        if (!end)
            continue;
        const size_t name = strlen(row->name), value = (size_t)(end - at) - 1 - name;
        memmove(at + 2 + name, at + 1 + name, value); /* = too, which a blank replaces */
        memcpy(at, "--", 2);
        memcpy(at + 2, row->name, name);
        if (value)
            at[2 + name] = ' ';
    }
}

void opt_help(const struct opt *rows)
{
    for (const struct opt *r = rows; r->name; r++) {
        if (!r->help)
            continue;
        char left[80], letter[8] = "";
        if (r->letter)
            snprintf(letter, sizeof letter, "-%c, ", r->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, r->name, r->meta ? " " : "",
                 r->meta ? r->meta : "");
        const char *gap = strlen(left) > 24 ? "\n" : "";
        fprintf(stdout, "  %-24s%s%*s", left, gap, *gap ? 27 : 1, "");
        for (const char *s = r->help; *s;
             s++) { /* further lines of the text begin in the same column */
            putc(*s, stdout);
            if (*s == '\n')
                fprintf(stdout, "%27s", "");
        }
        putc('\n', stdout);
    }
}

struct input {
    char *name; /* kept for as long as the process lives */
    dev_t device;
    ino_t inode;
};
static VECTOR(struct input) inputs;

static enum err input_note(const char *name, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || inputs_name(st))
        return ERR_OK;
    char *copy = strdup(name);
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the names of inputs");
    return vector_add(&inputs, (struct input){copy, st->st_dev, st->st_ino});
}

const char *inputs_name(const struct stat *st)
{
    for (size_t i = 0; S_ISREG(st->st_mode) && i < inputs.count; i++)
        if (inputs.items[i].inode == st->st_ino && inputs.items[i].device == st->st_dev)
            return inputs.items[i].name;
    return NULL;
}

/* All files of the folder `trace` of a run. */
static enum err input_note_traces(const char *run)
{
    char path[PATH_MAX];
    struct dirent *entry;
    struct stat st;
    enum err e = ERR_OK;
    snprintf(path, sizeof path, "%s/trace", run);
    DIR *folder = opendir(path);
    while (folder && !e && (entry = readdir(folder)))
        if (!fstatat(dirfd(folder), entry->d_name, &st, 0))
            e = input_note(run, &st);
    if (folder)
        closedir(folder);
    return e;
}

enum err inputs_note(const char *name, int remade)
{
    static const char *const of_run[] = {"record.json", "timing.json", "sass.json", "profile.json"};
    const int n = sizeof of_run / sizeof *of_run - (remade != 0);
    char path[PATH_MAX];
    struct stat st;
    if (stat(name, &st))
        return ERR_OK;
    if (!S_ISDIR(st.st_mode))
        return input_note(name, &st);
    for (int i = 0; i < n; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", name, of_run[i]);
        if (length < (int)sizeof path && !stat(path, &st))
            TRY(input_note(name, &st));
    }
    return input_note_traces(name);
}

static const char *row_path(const struct opt *row)
{
    return *(const char **)row->value;
}

/* The row's output: its link followed, and compared with the inputs. */
static enum err output_check(struct opt *row)
{
    struct stat st;
    if (lstat(row_path(row), &st))
        return ERR_OK;
    int link = S_ISLNK(st.st_mode);
    if (stat(row_path(row), &st) || !S_ISREG(st.st_mode))
        return ERR_OK;
    const char *input = inputs_name(&st);
    FAIL_IF(input, ERR_USAGE,
            "--%s %s: is the same file as the input %s; give the output a name of its own",
            row->name, row_path(row), input);
    char *target = link ? realpath(row_path(row), NULL) : NULL;
    if (target) /* for as long as the process lives */
        *(const char **)row->value = target;
    return ERR_OK;
}

/* Returns 1 where two names mean the same file, there or not yet. */
static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    int there = !stat(a, &x), too = !stat(b, &y);
    if (there != too)
        return 0;
    if (there)
        return S_ISREG(x.st_mode) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
    const char *names[] = {a, b};
    struct stat folder[2];
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        path_folder(names[i], path, sizeof path);
        if (stat(path, &folder[i]))
            return 0; /* writing there fails */
    }
    return !strcmp(base_name(a), base_name(b)) && folder[0].st_ino == folder[1].st_ino &&
           folder[0].st_dev == folder[1].st_dev;
}

enum err inputs_check(struct opt *rows)
{
    for (struct opt *r = rows; r->name; r++)
        if (r->kind == OPT_INPUT && r->seen)
            TRY(inputs_note(row_path(r), 0));
    for (struct opt *r = rows; r->name; r++) {
        if (r->kind != OPT_OUTPUT || !r->seen)
            continue;
        TRY(output_check(r));
        for (const struct opt *other = rows; other != r; other++)
            FAIL_IF(other->kind == OPT_OUTPUT && other->seen &&
                        is_same_file(row_path(other), row_path(r)),
                    ERR_USAGE, "--%s %s: is the same file as --%s; give each a name of its own",
                    r->name, row_path(r), other->name);
    }
    return ERR_OK;
}
