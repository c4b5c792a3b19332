/* Shared by commands on arrays of files, which may be those of other users. */
#ifndef TP_CLI_STORAGE_SANDBOX_H
#define TP_CLI_STORAGE_SANDBOX_H

#include "base/err.h"
#include "host/store/store.h"

/* work(word) here, or, where one of the first `inputs` words belongs to another user, in a child
 * process with the memory that is free now (host/store/exchange/sandbox.h). Its error and exit code are this process's. What
 * it had begun to write beside `out` (NULL: nothing) goes where it crashes. */
enum err storage_sandboxed(enum err (*work)(char **word), char **word, int inputs, const char *out);

/* Reads whole numbers within [least, most], as "64,64,64"; NULL: none. 0: the text is something
 * else. */
int storage_numbers(const char *text, long long least, long long most, int64_t out[STORE_DIMS],
                    int *count);

#endif
