/* Finds values of secrets in the words of a command line by the names before them. */
#include <string.h>

#include "profiler/trace/secrets.h"

/* In lower case, without separators. Endings: of a name, as in GITHUB_TOKEN, but not in
 * --max-tokens and --tokenizer. */
#define AUTHORIZATION "authorization"
static const char *const parts[] = {"password", "passwd", "passphrase", "secret"};
static const char *const endings[] = {"token",      "apikey",     "accesskey",   "secretkey",
                                      "authkey",    "signingkey", "privatekey",  "pwd",
                                      "credential", "passcode",   "credentials", AUTHORIZATION};
#define NAME_MAX_BYTES 64
enum secret { SECRET_NONE, SECRET_WORD, SECRET_LINE }; /* how far the value goes */

static int secret_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/* The name that ends before text[end], for one that is longer its last letters. */
static enum secret secret_before(const char *text, size_t end)
{
    char name[NAME_MAX_BYTES + 1], *p = name + sizeof name - 1;
    *p = 0;
    if (end && (text[end - 1] == '"' || text[end - 1] == '\''))
        end--;
    while (end && secret_name_char(text[end - 1]) && p > name) {
        char c = text[--end];
        if (c != '_' && c != '-' && c != '.')
            *--p = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    size_t n = strlen(p);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(p, parts[i]))
            return SECRET_WORD;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = strlen(endings[i]);
        if (n >= k && !memcmp(p + n - k, endings[i], k))
            return !strcmp(p, "pwd")                    ? SECRET_NONE /* the working folder */
                   : !strcmp(endings[i], AUTHORIZATION) ? SECRET_LINE
                                                        : SECRET_WORD;
    }
    return SECRET_NONE;
}

struct masked_text {
    char *out;
    size_t room, used;
};

static void masked_put(struct masked_text *t, const char *text, size_t n)
{
    size_t left = t->room - 1 - t->used;
    n = n < left ? n : left;
    memcpy(t->out + t->used, text, n);
    t->used += n;
}

/* Bytes of the value that begins at `text`: to its closing quote, or to what separates values. A
 * header's is all of the line. */
static size_t value_bytes(const char *text, enum secret kind)
{
    return strcspn(text, kind == SECRET_LINE ? "\r\n\"'" : "&;, \t\r\n\"'");
}

/* Bytes of `text`, behind "://", that are a password or a token before "@"; *begin: where they
 * begin. */
static size_t in_address(const char *text, int is_http, size_t *begin)
{
    size_t end = strcspn(text, "/?# \t\r\n\"'"), at = end;
    while (at && text[at - 1] != '@') /* the last one: passwords may hold it */
        at--;
    const char *colon = at ? memchr(text, ':', at) : NULL;
    if (!at || (!colon && !is_http))
        return 0;
    *begin = colon ? (size_t)(colon - text) + 1 : 0;
    return at - 1 - *begin;
}

/* Masks the value that follows the name that ends before word[at]; bytes of `word` done, 0: no
 * secret. */
static size_t mask_value(struct masked_text *t, const char *word, size_t at)
{
    enum secret kind = word[at] == '=' || word[at] == ':' ? secret_before(word, at) : SECRET_NONE;
    if (!kind)
        return 0;
    size_t blanks = 1 + strspn(word + at + 1, " \t\"'");
    size_t n = value_bytes(word + at + blanks, kind);
    masked_put(t, word + at, blanks);
    if (n)
        masked_put(t, SECRET_MASK, strlen(SECRET_MASK));
    return blanks + n;
}

static size_t mask_address(struct masked_text *t, const char *word, size_t at)
{
    size_t begin = 0;
    if (strncmp(word + at, "://", 3))
        return 0;
    int is_http = at >= 4 && (!memcmp(word + at - 4, "http", 4) ||
                              (at >= 5 && !memcmp(word + at - 5, "https", 5)));
    size_t n = in_address(word + at + 3, is_http, &begin);
    if (!n)
        return 0;
    masked_put(t, word + at, 3 + begin);
    masked_put(t, SECRET_MASK, strlen(SECRET_MASK));
    return 3 + begin + n;
}

size_t secrets_mask(const char *word, int *next, char *out, size_t room)
{
    struct masked_text t = {out, room, 0};
    size_t n = strlen(word), done;
    int is_value = *next;
    *next = !is_value && *word == '-' && !strpbrk(word, "=: ") && secret_before(word, n);
    if (!room)
        return 0;
    if (is_value)
        masked_put(&t, SECRET_MASK, strlen(SECRET_MASK));
    for (size_t i = 0; !is_value && i < n; i += done) {
        done = mask_address(&t, word, i);
        if (!done)
            done = mask_value(&t, word, i);
        if (!done) {
            masked_put(&t, word + i, 1);
            done = 1;
        }
    }
    out[t.used] = 0;
    return t.used;
}
