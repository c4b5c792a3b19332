/* exchange.h's calls in this process; exchange_sandbox.c decides which process that is. */
#ifndef TP_STORE_EXCHANGE_EXCHANGE_HERE_H
#define TP_STORE_EXCHANGE_EXCHANGE_HERE_H

#include "host/store/exchange/exchange.h"

enum err exchange_info_here(const struct exchange_source *source, struct exchange_info *out);
enum err exchange_read_here(const struct exchange_source *source, int64_t row_first,
                            int64_t row_count, struct exchange_counts *out);

#endif
