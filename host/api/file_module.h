/* The seam between libtomoprof and libtomoprof_files.so, which reads files. It needs the libraries of
 * a dozen codecs, so libtomoprof opens it with the first file. The module has its own copy of base:
 * log, limit of memory and sentences pass through here. */
#ifndef TP_API_FILE_MODULE_H
#define TP_API_FILE_MODULE_H

#include <stddef.h>
#include <stdint.h>
#include <tomoprof.h>

#include "base/err.h"
#include "base/log.h"

/* Holds what a call knows of its context. */
struct file_call {
    log_sink *log;
    size_t memory; /* bytes; 0: no limit */
    int threads;
    volatile int *stop;
};

struct file_module {
    size_t bytes; /* sizeof of this struct: both sides were built from the same source */
    enum err (*open)(const struct file_call *k, const char *path, const char *name,
                     tomoprof_file **out);
    void (*close)(tomoprof_file *f);
    /* Writes what the file is to *text, malloc'ed. */
    enum err (*json)(const tomoprof_file *f, char **text, size_t *bytes);
    enum err (*read)(const struct file_call *k, tomoprof_file *f, const int64_t *start,
                     const int64_t *count, const int64_t *strides, void *to, size_t bytes);
    const char *(*sentence)(void); /* of this thread's latest failure */
};

#define FILE_ENTRY_NAME "tomoprof_files"
typedef const struct file_module *file_entry(void);
file_entry tomoprof_files; /* exported by libtomoprof_files.so alone */

#endif
