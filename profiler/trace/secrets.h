/* Passwords, tokens and keys in command lines are not recorded. */
#ifndef TP_TRACE_SECRETS_H
#define TP_TRACE_SECRETS_H

#include <stddef.h>

#define SECRET_MASK "***"

/* Copies one word of a command line to out[room], NUL-terminated and cut to it, with values of
 * secrets masked: --token=X, password=X, API_KEY=X, "Authorization: X", user:X@host in addresses,
 * ?access_token=X and ?sig=X in them, "password": "X" in JSON, --key X, and tokens by their shape
 * (ghp_, sk-, AKIA, JWT). `*next`, 0 before the first word, says that the
 * word is the value of an option before it (--password X). Async-signal-safe. Returns the bytes
 * written. */
size_t secrets_mask(const char *word, int *next, char *out, size_t room);

/* The same for `bytes` bytes of words, each ended by a NUL, as in /proc/PID/cmdline: a line for each. The last one must be ended. */
size_t secrets_mask_words(const char *words, size_t bytes, char *out, size_t room);

/* Copies a sentence to out[room], NUL-terminated and cut to it, with secrets masked in the addresses
 * in it: passwords, tokens, signatures. Returns the bytes written. */
size_t secrets_mask_addresses(const char *text, char *out, size_t room);

#endif
