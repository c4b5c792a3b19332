/* Readers that use libraries which do not check memory: in a child process. */
#ifndef TP_STORE_GUARD_GUARDED_H
#define TP_STORE_GUARD_GUARDED_H

#include "host/store/store.h"

/* Opens the store of `context`, in the child. */
typedef enum err guarded_opener(const void *context, struct store **out);

/* Calls `open` in a child without network, files to write to, and much memory or time. What the child
 * finds is checked; the chunks of an array are asked for when they are wanted. Libraries are opened
 * before. ERR_INPUT: the child crashed, or what it says cannot be. */
enum err guarded_open(const char *path, const char *format, guarded_opener *open,
                      const void *context, struct store **out);

/* 0: readers run in this process, as fuzzers want. */
extern int guarded_readers;

#endif
