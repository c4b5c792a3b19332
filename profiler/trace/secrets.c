/* Finds values of secrets in the words of a command line by the names before them. */
#include <string.h>

#include "profiler/trace/secrets.h"

/* In lower case, without separators. Endings: of a name, as in GITHUB_TOKEN, but not in
 * --max-tokens and --tokenizer. */
#define AUTHORIZATION "authorization"
static const char *const parts[] = {"password", "passwd", "passphrase", "secret"};
static const char *const endings[] = {
    "token", "apikey",     "accesskey", "secretkey",   "authkey",     "signingkey", "privatekey",
    "pwd",   "credential", "passcode",  "credentials", AUTHORIZATION, "cookie",     "signature"};
/* Whole names, whose value may be a mode, a column or a port: a number of up to five digits stays. */
static const char *const names[] = {"pass", "pw", "key", "auth", "sig"};
#define NUMBER_DIGITS  5
#define NAME_MAX_BYTES 64
#define BLANKS         " \t\r\n\"'"
/* How far the value goes; SECRET_UNLESS_NUMBER: a word. */
enum secret { SECRET_NONE, SECRET_WORD, SECRET_LINE, SECRET_UNLESS_NUMBER };

/* Tokens by what they begin with, and how many letters, digits, _ and - follow at least. */
static const struct token_shape {
    const char *begin;
    unsigned char bytes;
} shapes[] = {{"ghp_", 20},        {"gho_", 20},  {"ghs_", 20}, {"ghu_", 20},
              {"github_pat_", 20}, {"sk-", 20},   {"AKIA", 16}, {"ASIA", 16},
              {"xoxb-", 20},       {"xoxp-", 20}, {"hf_", 20},  {"glpat-", 20},
              {"npm_", 30},        {"pypi-", 30}, {"AIza", 30}, {"eyJ", 20}};

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
            return !strcmp(p, "pwd") ? SECRET_NONE /* the working folder */
                   : !strcmp(endings[i], AUTHORIZATION) || !strcmp(endings[i], "cookie")
                       ? SECRET_LINE
                   : !strcmp(endings[i], "signature") ? SECRET_UNLESS_NUMBER
                                                      : SECRET_WORD;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(p, names[i]))
            return SECRET_UNLESS_NUMBER;
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

static int short_number(const char *text, size_t n)
{
    return n && n <= NUMBER_DIGITS && strspn(text, "0123456789") >= n;
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
    if (kind == SECRET_UNLESS_NUMBER && short_number(word + at + blanks, n))
        return 0;
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

/* Masks a token that is known by its shape: a word of its own, with a digit or a capital among what
 * follows, unlike names such as sk-learn-contrib. */
static size_t mask_token(struct masked_text *t, const char *word, size_t at)
{
    if (at && (secret_name_char(word[at - 1]) && word[at - 1] != '.'))
        return 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t k = strlen(shapes[i].begin), n = k, signs = 0;
        if (strncmp(word + at, shapes[i].begin, k))
            continue;
        for (; secret_name_char(word[at + n]); n++)
            signs += (word[at + n] >= '0' && word[at + n] <= '9') ||
                     (word[at + n] >= 'A' && word[at + n] <= 'Z');
        if (n - k < shapes[i].bytes || !signs)
            continue;
        masked_put(t, SECRET_MASK, strlen(SECRET_MASK));
        return n;
    }
    return 0;
}

size_t secrets_mask(const char *word, int *next, char *out, size_t room)
{
    struct masked_text t = {out, room, 0};
    size_t n = strlen(word), done;
    enum secret asked = (enum secret) * next;
    int is_value = asked && !(asked == SECRET_UNLESS_NUMBER && short_number(word, n));
    *next = is_value || *word != '-' || strpbrk(word, "=: ") ? SECRET_NONE
            : !strcmp(word, "-p")                            ? SECRET_UNLESS_NUMBER
                                                             : secret_before(word, n);
    if (!room)
        return 0;
    if (is_value)
        masked_put(&t, SECRET_MASK, strlen(SECRET_MASK));
    for (size_t i = 0; !is_value && i < n; i += done) {
        done = mask_address(&t, word, i);
        if (!done)
            done = mask_value(&t, word, i);
        if (!done)
            done = mask_token(&t, word, i);
        if (!done) {
            masked_put(&t, word + i, 1);
            done = 1;
        }
    }
    out[t.used] = 0;
    return t.used;
}

size_t secrets_mask_words(const char *words, size_t bytes, char *out, size_t room)
{
    size_t used = 0;
    int next = 0;
    for (size_t at = 0; at < bytes && used + 1 < room; at += strlen(words + at) + 1) {
        if (at)
            out[used++] = '\n';
        used += secrets_mask(words + at, &next, out + used, room - used);
    }
    if (room)
        out[used] = 0;
    return used;
}

size_t secrets_mask_addresses(const char *text, char *out, size_t room)
{
    struct masked_text t = {out, room, 0};
    size_t end = 0; /* of the word that is being copied */
    int is_address = 0;
    if (!room)
        return 0;
    for (size_t i = 0, done; text[i]; i += done) {
        if (i >= end) {
            const char *mark = strstr(text + i, "://");
            end = i + strcspn(text + i, BLANKS) + 1;
            is_address = mark && mark < text + end;
        }
        done = is_address ? mask_address(&t, text, i) : 0;
        if (!done && is_address)
            done = mask_value(&t, text, i);
        if (done && text[i + done - 1] == ':') /* the sentence's own */
            done--;
        if (!done && is_address)
            done = mask_token(&t, text, i);
        if (!done) {
            masked_put(&t, text + i, 1);
            done = 1;
        }
    }
    out[t.used] = 0;
    return t.used;
}
