/* The thread's latest error: sentence, place in the source, code. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

#define TEXT_MAX 1024 /* longer sentences are cut: nobody reads them */

static _Thread_local char text[TEXT_MAX];
static _Thread_local char where[160];

void (*err_speller)(char *sentence);

void err_spell(char *sentence)
{
    if (err_speller)
        err_speller(sentence);
}

enum err err_set(enum err code, const char *file, int line, const char *format, ...)
{
    char raw[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    plain_text(raw, PLAIN_LINE, text, sizeof text);
    err_spell(text);
    snprintf(where, sizeof where, "%s:%d", file, line);
    return code;
}

enum err err_prefix(enum err code, const char *format, ...)
{
    char old[TEXT_MAX], raw[TEXT_MAX];
    memcpy(old, text, sizeof old);
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    size_t length = plain_text(raw, PLAIN_LINE, text, sizeof text);
    if (length + 3 < sizeof text) {
        size_t room = sizeof text - length - 3, rest = strlen(old);
        memcpy(text + length, ": ", 2);
        rest = rest < room ? rest : room;
        memcpy(text + length + 2, old, rest);
        text[length + 2 + rest] = 0;
    }
    err_spell(text);
    return code;
}

const char *err_text(void)
{
    return text;
}

const char *err_where(void)
{
    return where;
}

static const struct {
    const char *name;
    int exit_code;
    const char *meaning;
} rows[ERR_COUNT] = {
#define X(name, exit_code, meaning) {#name, exit_code, meaning},
    ERR_LIST(X)
#undef X
};

static unsigned err_row(enum err code)
{
    return (unsigned)code < ERR_COUNT ? (unsigned)code : (unsigned)ERR_INTERNAL;
}

const char *err_name(enum err code)
{
    return rows[err_row(code)].name;
}

int err_exit_code(enum err code)
{
    return rows[err_row(code)].exit_code;
}
