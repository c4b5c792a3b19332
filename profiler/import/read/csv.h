/* Splits a line of comma-separated values, its fields unquoted. */
#ifndef TP_IMPORT_READ_CSV_H
#define TP_IMPORT_READ_CSV_H

#include <stddef.h>

#define CSV_FIELDS 8192

struct csv {
    const char *field[CSV_FIELDS]; /* into `text` */
    int count;
    char text[1 << 18];
};

/* 0: more fields or longer ones than there is room for. */
int csv_line(struct csv *c, const char *line, size_t n);

#endif
