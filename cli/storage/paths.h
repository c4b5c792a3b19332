/* Words of the command line that name files, patterns among them. */
#ifndef TP_CLI_STORAGE_PATHS_H
#define TP_CLI_STORAGE_PATHS_H

#include "base/err.h"

struct paths {
    char **items; /* ended by NULL */
    int count;
};

/* Replaces each pattern (*, ?, [) that is not the name of a file by the names that it fits, in their
 * order. ERR_INPUT: it fits none. */
enum err paths_expand(char **word, int words, struct paths *out);
void paths_free(struct paths *p);

#endif
