/* Modes of `record --modes`: the words for them, and what people write instead. */
#ifndef TP_CLI_RUNS_RECORD_MODES_H
#define TP_CLI_RUNS_RECORD_MODES_H

#include "base/err.h"

/* ERR_USAGE names the first word of the list that is not a mode, and the one that it may mean.
 * NULL: all modes. */
enum err record_modes_check(const char *list);

#endif
