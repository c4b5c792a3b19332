/* Tokens of JSON, and decimal numbers to integers without a detour over floating point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/read/json_pull.h"

void pull_start(struct pull *p, const char *data, size_t bytes)
{
    p->at = data;
    p->end = data + bytes;
    p->depth = 0;
    p->length = 0;
    if (bytes > 2 && !memcmp(data, "\xEF\xBB\xBF", 3))
        p->at += 3;
}

void pull_copy(const struct pull *p, char *to, size_t room)
{
    size_t n = p->length < room - 1 ? p->length : room - 1;
    memcpy(to, p->text, n);
    to[n] = 0;
}

static void pull_space(struct pull *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static void pull_keep(struct pull *p, char c)
{
    if (p->length + 1 < PULL_TEXT_BYTES)
        p->text[p->length++] = c;
}

static int pull_hex4(const char *s, const char *end, unsigned *out)
{
    *out = 0;
    if (end - s < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return 0;
        *out = *out * 16 + (unsigned)digit;
    }
    return 1;
}

static void keep_code(struct pull *p, unsigned c)
{
    if (c < 0x80) {
        pull_keep(p, (char)c);
    } else if (c < 0x800) {
        pull_keep(p, (char)(0xC0 | c >> 6));
        pull_keep(p, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        pull_keep(p, (char)(0xE0 | c >> 12));
        pull_keep(p, (char)(0x80 | (c >> 6 & 63)));
        pull_keep(p, (char)(0x80 | (c & 63)));
    } else {
        pull_keep(p, (char)(0xF0 | c >> 18));
        pull_keep(p, (char)(0x80 | (c >> 12 & 63)));
        pull_keep(p, (char)(0x80 | (c >> 6 & 63)));
        pull_keep(p, (char)(0x80 | (c & 63)));
    }
}

/* Reads the code after a backslash and u. */
static int escape_code(struct pull *p)
{
    unsigned c, low;
    if (!pull_hex4(p->at, p->end, &c))
        return 0;
    p->at += 4;
    if (c >= 0xD800 && c < 0xDC00 && p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u' &&
        pull_hex4(p->at + 2, p->end, &low) && low >= 0xDC00 && low < 0xE000) {
        p->at += 6;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    keep_code(p, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    return 1;
}

static int pull_text(struct pull *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    p->length = 0;
    for (p->at++; p->at < p->end; p->at++) {
        if (*p->at == '"') {
            p->at++;
            p->text[p->length] = 0;
            return 1;
        }
        if (*p->at != '\\') {
            pull_keep(p, *p->at);
            continue;
        }
        if (++p->at == p->end)
            return 0;
        const char *known = *p->at ? strchr(from, *p->at) : NULL;
        if (known) {
            pull_keep(p, to[known - from]);
        } else if (*p->at == 'u') {
            p->at++;
            if (!escape_code(p))
                return 0;
            p->at--;
        } else {
            pull_keep(p, '\\'); /* as some writers leave paths of Windows */
            pull_keep(p, *p->at);
        }
    }
    return 0;
}

static enum pull_kind pull_word(struct pull *p)
{
    p->length = 0;
    while (p->at < p->end && *p->at &&
           strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *p->at))
        pull_keep(p, *p->at++);
    p->text[p->length] = 0;
    if (!p->length)
        return PULL_BAD;
    return strchr("-+.0123456789", *p->text) ? PULL_NUMBER : PULL_WORD;
}

/* Nothing is read after damage: every loop over keys or values ends. */
static enum pull_kind pull_bad(struct pull *p)
{
    p->at = p->end;
    return PULL_BAD;
}

enum pull_kind pull_next(struct pull *p)
{
    pull_space(p);
    if (p->at == p->end)
        return PULL_END;
    switch (*p->at) {
    case '{':
    case '[':
        if (p->depth == PULL_DEPTH)
            return pull_bad(p);
        p->nesting[p->depth++] = *p->at;
        return *p->at++ == '{' ? PULL_OBJECT : PULL_ARRAY;
    case '"':
        return pull_text(p) ? PULL_TEXT : pull_bad(p);
    default: {
        enum pull_kind kind = pull_word(p);
        return kind == PULL_BAD ? pull_bad(p) : kind;
    }
    }
}

/* Past a comma; 0 at the end of the object or array, which is left then. */
static int pull_another(struct pull *p, char close)
{
    pull_space(p);
    if (p->at < p->end && *p->at == ',') {
        p->at++;
        pull_space(p);
    }
    if (p->at == p->end || !p->depth)
        return 0;
    if (*p->at == close) {
        p->at++;
        p->depth--;
        return 0;
    }
    return 1;
}

int pull_key(struct pull *p)
{
    if (!pull_another(p, '}'))
        return 0;
    int good = *p->at == '"' && pull_text(p);
    pull_space(p);
    if (!good || p->at == p->end || *p->at != ':')
        return pull_bad(p), 0;
    p->at++;
    return 1;
}

int pull_more(struct pull *p)
{
    return pull_another(p, ']');
}

int pull_skip(struct pull *p, enum pull_kind kind)
{
    if (kind == PULL_BAD || kind == PULL_END)
        return 0;
    if (kind != PULL_OBJECT && kind != PULL_ARRAY)
        return 1;
    int outer = p->depth - 1;
    while (p->depth > outer) {
        int in_object = p->nesting[p->depth - 1] == '{';
        int before = p->depth;
        if (!(in_object ? pull_key(p) : pull_more(p))) {
            if (p->depth == before)
                return 0;
            continue;
        }
        kind = pull_next(p);
        if (kind == PULL_BAD || kind == PULL_END)
            return 0;
    }
    return 1;
}

/* Reads numbers of writers that shorten large or small ones: 1.5e+06. */
static int number_exponential(const char *text, int shift, int64_t *out)
{
    char *end;
    double v = strtod(text, &end);
    for (; shift > 0; shift--)
        v *= 10;
    if (*end || !(v > -4e18 && v < 4e18))
        return 0;
    *out = llround(v);
    return 1;
}

int decimal(const char *text, int shift, int64_t *out)
{
    const char *s = text;
    int negative = *s == '-', seen = 0, up = 0, point = 0, left = shift;
    int64_t v = 0;
    for (s += *s == '-' || *s == '+'; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = 1;
            continue;
        }
        seen = 1;
        if (point && left <= 0) { /* beyond what is kept: its first digit rounds */
            up = left == 0 ? *s >= '5' : up;
            left = -1;
            continue;
        }
        left -= point;
        if (v > (INT64_MAX >> 2) / 10)
            return 0;
        v = v * 10 + (*s - '0');
    }
    if (seen && (*s == 'e' || *s == 'E'))
        return number_exponential(text, shift, out);
    for (; left > 0; left--) {
        if (v > (INT64_MAX >> 2) / 10)
            return 0;
        v *= 10;
    }
    *out = negative ? -(v + up) : v + up;
    return seen && *s == 0;
}
