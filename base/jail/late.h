/* Libraries that are opened when they are first needed: loading them is most of a start, and few commands
 * need any of them. */
#ifndef TP_BASE_JAIL_LATE_H
#define TP_BASE_JAIL_LATE_H

#include <pthread.h>
#include <stddef.h>

struct late_symbol {
    const char *name;
    void *to; /* a pointer to a function or a variable */
};

struct late_library {
    const char *name, *path; /* for the loader; then where the build found it */
    const char *title;       /* for people: "libblosc" */
    const char *packages;    /* that have it: "libblosc1 (Debian), blosc (Fedora, Arch)" */
    const struct late_symbol *symbols;
    int count;
    pthread_mutex_t lock;
    int tried;
    char why[768];
};
#define LATE_LIBRARY(library, file, rows, people, install)                                         \
    {                                                                                              \
        .name = (library), .path = (file), .title = (people), .packages = (install),               \
        .symbols = (rows), .count = (int)(sizeof(rows) / sizeof *(rows)),                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }
#define LATE_SYMBOL(calls, function)                                                               \
    {                                                                                              \
#function, &(calls).function                                                               \
    }

/* 1: it is open. In a jail (jail.h) nothing can be opened: 1 too, for what is there is for the process
 * outside to say, which asks before it uses the library. */
int late_open(struct late_library *l);
/* Why it cannot be opened, and what to do: "libblosc is not installed (...): install ...". "" where it was
 * opened, or nobody asked. */
const char *late_why(const struct late_library *l);

#endif
