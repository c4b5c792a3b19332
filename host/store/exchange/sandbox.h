/* Files of other users are read in a child process: a file made to crash a library, or to exhaust
 * memory, then costs an error sentence. */
#ifndef TP_STORE_EXCHANGE_SANDBOX_H
#define TP_STORE_EXCHANGE_SANDBOX_H

#include "host/store/exchange/exchange.h"

/* 1: of this user or of root, or nothing is there. */
int file_is_own(const char *path);

/* exchange.h's calls in this process; exchange_sandbox.c decides which process that is. */

enum err exchange_info_here(const struct exchange_source *source, struct exchange_info *out);
enum err exchange_read_here(const struct exchange_source *source, int64_t row_first,
                            int64_t row_count, struct exchange_counts *out);

#endif
