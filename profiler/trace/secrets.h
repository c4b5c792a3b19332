/* Passwords, tokens and keys in command lines are not recorded. */
#ifndef TP_TRACE_SECRETS_H
#define TP_TRACE_SECRETS_H

#include <stddef.h>

#define SECRET_MASK "***"

/* Copies one word of a command line to out[room], NUL-terminated and cut to it, with values of
 * secrets masked: --token=X, password=X, API_KEY=X, "Authorization: X", user:X@host in addresses,
 * ?access_token=X in them, "password": "X" in JSON. `*next`, 0 before the first word, says that the
 * word is the value of an option before it (--password X). Async-signal-safe. Returns the bytes
 * written. */
size_t secrets_mask(const char *word, int *next, char *out, size_t room);

#endif
