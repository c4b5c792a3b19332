/* The bytes of a capture, inflated where they are gzip. */
#ifndef TP_IMPORT_READ_INPUT_H
#define TP_IMPORT_READ_INPUT_H

#include <stddef.h>

#include "base/err.h"

struct import_input {
    const char *path;
    char *data; /* ends with a NUL that is not counted */
    size_t bytes;
};

/* Refuses more than 4 GiB, and what inflates to more than that or to 1,000 times its size. */
enum err input_open(struct import_input *in, const char *path);
void input_close(struct import_input *in);

#endif
