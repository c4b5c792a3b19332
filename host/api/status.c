/* Statuses, the sentence of failures without a context, and structs that begin with their size. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/api/call.h"

static _Thread_local char own_sentence[API_SENTENCE]; /* of failures without a context */

tomoprof_status status_of(enum err e, const struct backend *be)
{
    static const tomoprof_status statuses[ERR_COUNT] = {
        [ERR_USAGE] = TOMOPROF_BAD_ARGUMENT,      [ERR_INPUT] = TOMOPROF_BAD_ARGUMENT,
        [ERR_UNSUPPORTED] = TOMOPROF_UNSUPPORTED, [ERR_IO] = TOMOPROF_BAD_ARGUMENT,
        [ERR_MEMORY] = TOMOPROF_NO_MEMORY,        [ERR_FAILED] = TOMOPROF_INTERNAL,
        [ERR_INTERRUPTED] = TOMOPROF_CANCELLED,   [ERR_INTERNAL] = TOMOPROF_INTERNAL,
    };
    return e == ERR_FAILED && be && be->ops->streams ? TOMOPROF_DEVICE : statuses[e];
}

tomoprof_status fail_without_context(const char *sentence)
{
    snprintf(own_sentence, sizeof own_sentence, "%s", sentence);
    return TOMOPROF_BAD_ARGUMENT;
}

const char *tomoprof_error(const tomoprof_context *c)
{
    return c ? c->sentence : own_sentence;
}

enum err sized_copy(const char *name, const void *given, size_t given_size, void *out, size_t size)
{
    const unsigned char *bytes = given;
    FAIL_IF(given_size < sizeof(size_t), ERR_USAGE,
            "%s: size is %zu; set it to sizeof(the struct), as its initialiser in tomoprof.h does",
            name, given_size);
    for (size_t i = size; i < given_size; i++)
        FAIL_IF(bytes[i], ERR_UNSUPPORTED,
                "%s: has members that this library (" TOMOPROF_VERSION
                ") does not know; load the library that belongs to your tomoprof.h",
                name);
    memcpy(out, given, given_size < size ? given_size : size);
    return ERR_OK;
}

enum err choice_check(const char *parameter, const char *given, const char *names, int *out)
{
    char list[200] = "";
    const char *at = names;
    for (int i = 0; *at; i++) {
        const int n = (int)strcspn(at, "|"), last = !at[n];
        if (given && strlen(given) == (size_t)n && !strncmp(given, at, (size_t)n)) {
            *out = i;
            return ERR_OK;
        }
        text_append(list, sizeof list, "%s%.*s", !i ? "" : last ? " or " : ", ", n, at);
        at += n + !last;
    }
    return FAIL(ERR_USAGE, "%s=%.60s; expected %s", parameter, given ? given : "NULL", list);
}

enum err seed_check(int64_t seed)
{
    FAIL_IF(seed < 0 || seed > UINT32_MAX, ERR_USAGE, "seed=%lld; expected 0 to 4294967295",
            (long long)seed);
    return ERR_OK;
}
