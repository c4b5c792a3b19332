/* Takes from a child process what reading a file does not need. A file that is made to take over the
 * library that reads it then gets nothing but an error sentence. */
#ifndef TP_BASE_JAIL_JAIL_H
#define TP_BASE_JAIL_JAIL_H

#include <stddef.h>

struct jail {
    int fd;           /* the only one that is written to */
    const char *file; /* is read, with all files below `folder`; NULL: any file is */
    const char *folder;
    size_t bytes;     /* of address space beyond what it has */
    unsigned seconds; /* of CPU time; 0: no limit here, its parent watches it */
};

/* Limits the memory of the whole process, which ends with its parent and leaves no core. */
void jail_limit(size_t bytes);

/* For good, and for this thread: no network, no process, no thread, no file that is created, changed
 * or written to, no code that is mapped. Libraries are opened before. By seccomp and Landlock, where
 * the kernel has them; limits of memory and CPU time hold everywhere. */
void jail_enter(const struct jail *j);
int jail_entered(void);

#endif
