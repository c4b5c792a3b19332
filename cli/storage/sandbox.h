/* Commands on files of other users. */
#ifndef TP_CLI_STORAGE_SANDBOX_H
#define TP_CLI_STORAGE_SANDBOX_H

#include "base/err.h"

/* work(word) here, or, where word[0] belongs to another user, in a child process with the memory
 * that is free now (host/store/exchange/sandbox.h). Its error and exit code are this process's. What
 * it had begun to write beside `out` (NULL: nothing) goes where it crashes. */
enum err storage_sandboxed(enum err (*work)(char **word), char **word, const char *out);

#endif
