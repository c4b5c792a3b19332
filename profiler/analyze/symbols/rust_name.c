/* Reads letters of Rust's names and prints characters, with every limit checked. */
#include <stdio.h>
#include <string.h>

#include "profiler/analyze/symbols/rust_name.h"

#define LETTERS 128 /* of an identifier in punycode */

void rust_put(struct rust_name *r, const char *text, size_t n)
{
    if (r->quiet || r->failed)
        return;
    if (n >= RUST_TEXT - r->used) {
        r->failed = 1;
        return;
    }
    memcpy(r->out + r->used, text, n);
    r->used += n;
}

void rust_text(struct rust_name *r, const char *text)
{
    rust_put(r, text, strlen(text));
}

void rust_number(struct rust_name *r, uint64_t n)
{
    char text[24];
    rust_put(r, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n));
}

char rust_letter(const struct rust_name *r)
{
    return r->failed || r->at >= r->bytes ? 0 : r->in[r->at];
}

char rust_next(struct rust_name *r)
{
    const char c = rust_letter(r);
    r->at += c != 0;
    r->failed |= !c;
    return c;
}

int rust_takes(struct rust_name *r, char c)
{
    const int is = rust_letter(r) == c;
    r->at += (size_t)is;
    return is;
}

uint64_t rust_base62(struct rust_name *r)
{
    uint64_t n = 0;
    if (rust_takes(r, '_'))
        return 0;
    for (char c = rust_next(r); c != '_' && !r->failed; c = rust_next(r)) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'z' ? c - 'a' + 10
                          : c >= 'A' && c <= 'Z' ? c - 'A' + 36
                                                 : -1;
        r->failed |= digit < 0 || __builtin_mul_overflow(n, 62u, &n) ||
                     __builtin_add_overflow(n, (uint64_t)digit, &n);
    }
    r->failed |= n == UINT64_MAX;
    return n + 1;
}

uint64_t rust_optional(struct rust_name *r, char letter)
{
    return rust_takes(r, letter) ? rust_base62(r) + 1 : 0;
}

void rust_character(struct rust_name *r, uint32_t c)
{
    const unsigned char utf8[] = {(unsigned char)(0xf0 | c >> 18),
                                  (unsigned char)(0x80 | (c >> 12 & 63)),
                                  (unsigned char)(0x80 | (c >> 6 & 63)),
                                  (unsigned char)(0x80 | (c & 63)),
                                  (unsigned char)(0xe0 | c >> 12),
                                  (unsigned char)(0xc0 | c >> 6),
                                  (unsigned char)c};
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        r->failed = 1;
    } else if (c < 0x80) {
        rust_put(r, (const char *)utf8 + 6, 1);
    } else if (c < 0x800) {
        rust_put(r, (const char *)utf8 + 5, 1);
        rust_put(r, (const char *)utf8 + 3, 1);
    } else if (c < 0x10000) {
        rust_put(r, (const char *)utf8 + 4, 1);
        rust_put(r, (const char *)utf8 + 2, 2);
    } else {
        rust_put(r, (const char *)utf8, 4);
    }
}

/* Prints text of RFC 3492, with '_' before the extended part. */
static void put_punycode(struct rust_name *r, const char *text, size_t n)
{
    uint32_t letters[LETTERS], code = 128, bias = 72;
    size_t count = 0, at = n;
    while (at && text[at - 1] != '_')
        at--;
    for (size_t k = 0; k + 1 < at && count < LETTERS; k++)
        letters[count++] = (unsigned char)text[k];
    for (uint64_t i = 0, before = 0; at < n && !r->failed; before = ++i) {
        uint64_t weight = 1;
        for (uint32_t k = 36;; k += 36) {
            const char c = at < n ? text[at++] : 0;
            const uint32_t digit = c >= 'a' && c <= 'z'   ? (uint32_t)(c - 'a')
                                   : c >= '0' && c <= '9' ? (uint32_t)(c - '0') + 26
                                                          : 36;
            const uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
            r->failed |= digit == 36 || weight > UINT32_MAX;
            if (r->failed)
                return;
            i += digit * weight;
            weight *= 36 - least;
            if (digit < least)
                break;
        }
        r->failed |= count == LETTERS || i > UINT32_MAX;
        if (r->failed)
            return;
        uint64_t delta = (i - before) / (before ? 2 : 700);
        delta += delta / ++count;
        for (bias = 0; delta > 455; bias += 36)
            delta /= 35;
        bias += (uint32_t)(36 * delta / (delta + 38));
        code += (uint32_t)(i / count);
        i %= count;
        r->failed |= code > 0x10ffff;
        memmove(letters + i + 1, letters + i, (count - 1 - i) * sizeof *letters);
        letters[i] = code;
    }
    for (size_t k = 0; k < count; k++)
        rust_character(r, letters[k]);
}

struct rust_identifier rust_identifier_next(struct rust_name *r)
{
    struct rust_identifier id = {.punycode = rust_takes(r, 'u')};
    r->failed |= !(rust_letter(r) >= '0' && rust_letter(r) <= '9');
    if (!rust_takes(r, '0'))
        for (char c = rust_letter(r); c >= '0' && c <= '9' && id.bytes < RUST_TEXT;
             c = rust_letter(r))
            id.bytes = id.bytes * 10 + (size_t)(rust_next(r) - '0');
    rust_takes(r, '_');
    r->failed |= id.bytes > r->bytes - r->at;
    if (r->failed)
        return (struct rust_identifier){"", 0, 0};
    id.text = r->in + r->at;
    r->at += id.bytes;
    return id;
}

void rust_put_identifier(struct rust_name *r, const struct rust_identifier *id)
{
    if (id->punycode)
        put_punycode(r, id->text, id->bytes);
    else
        rust_put(r, id->text, id->bytes);
}
