/* The JSON writer: commas, escapes, UTF-8, shortest numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"

#define DEPTH_MAX (int)(sizeof((struct jsonw *)0)->has_items)

void jsonw_init(struct jsonw *w, FILE *out, int indent)
{
    memset(w, 0, sizeof *w);
    w->out = out;
    w->indent = indent;
}

static void new_line(struct jsonw *w)
{
    if (w->indent)
        fprintf(w->out, "\n%*s", w->indent * w->depth, "");
}

/* Comma and line break before an item. */
static void jsonw_item(struct jsonw *w)
{
    if (w->after_key) {
        w->after_key = 0;
        return;
    }
    unsigned char *has = &w->has_items[w->depth];
    if (*has & 1)
        putc(',', w->out);
    if (w->depth)
        new_line(w);
    *has |= 1;
}

/* Returns the length of the valid UTF-8 sequence at s (no surrogates, no overlong forms, up to
 * U+10FFFF), or 0.
 */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    int n = s[0] >= 0xC2 && s[0] <= 0xDF   ? 2
            : (s[0] & 0xF0) == 0xE0        ? 3
            : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                           : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) /* the NUL at the end fails here, so no byte beyond it is read */
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

static void jsonw_quoted(FILE *out, const char *text)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const unsigned char *s = (const unsigned char *)text;
    putc('"', out);
    while (*s) {
        int n = utf8_length(s);
        const char *found = strchr(named, *s);
        if (found)
            fprintf(out, "\\%c", letters[found - named]);
        else if (*s < 0x20 || *s == 0x7F)
            fprintf(out, "\\u%04x", *s);
        else if (!n)
            fputs("\xEF\xBF\xBD", out);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
    putc('"', out);
}

void jsonw_key(struct jsonw *w, const char *key)
{
    jsonw_item(w);
    jsonw_quoted(w->out, key);
    fputs(w->indent ? ": " : ":", w->out);
    w->after_key = 1;
}

static void open_level(struct jsonw *w, char bracket, unsigned char kind)
{
    jsonw_item(w);
    if (w->depth + 1 >= DEPTH_MAX)
        abort(); /* a writer's loop that never ends a level: a defect, not an input */
    putc(bracket, w->out);
    w->has_items[++w->depth] = kind;
}

void jsonw_object(struct jsonw *w)
{
    open_level(w, '{', 2);
}

void jsonw_array(struct jsonw *w)
{
    open_level(w, '[', 0);
}

void jsonw_end(struct jsonw *w)
{
    unsigned char state = w->has_items[w->depth--];
    if (state & 1)
        new_line(w);
    putc(state & 2 ? '}' : ']', w->out);
    if (!w->depth && w->indent)
        putc('\n', w->out);
}

void jsonw_string(struct jsonw *w, const char *s)
{
    if (!s) {
        jsonw_null(w);
        return;
    }
    jsonw_item(w);
    jsonw_quoted(w->out, s);
}

void jsonw_number(struct jsonw *w, double v)
{
    if (!isfinite(v)) {
        jsonw_null(w);
        return;
    }
    jsonw_item(w);
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    fputs(text, w->out);
}

void jsonw_int(struct jsonw *w, int64_t v)
{
    jsonw_item(w);
    fprintf(w->out, "%" PRId64, v);
}

void jsonw_bool(struct jsonw *w, int v)
{
    jsonw_item(w);
    fputs(v ? "true" : "false", w->out);
}

void jsonw_null(struct jsonw *w)
{
    jsonw_item(w);
    fputs("null", w->out);
}

void jsonw_kobject(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_object(w);
}

void jsonw_karray(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_array(w);
}

void jsonw_kstring(struct jsonw *w, const char *key, const char *s)
{
    jsonw_key(w, key);
    jsonw_string(w, s);
}

void jsonw_knumber(struct jsonw *w, const char *key, double v)
{
    jsonw_key(w, key);
    jsonw_number(w, v);
}

void jsonw_kint(struct jsonw *w, const char *key, int64_t v)
{
    jsonw_key(w, key);
    jsonw_int(w, v);
}

void jsonw_kbool(struct jsonw *w, const char *key, int v)
{
    jsonw_key(w, key);
    jsonw_bool(w, v);
}

void jsonw_knull(struct jsonw *w, const char *key)
{
    jsonw_key(w, key);
    jsonw_null(w);
}
