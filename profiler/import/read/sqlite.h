/* A database of SQLite from strangers, read only: rows of a table by the columns that it has. */
#ifndef TP_IMPORT_READ_SQLITE_H
#define TP_IMPORT_READ_SQLITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profiler/import/read/input.h"

struct database;

extern int database_child_used; /* 0: the library runs in this process, as fuzzers want */
int database_available(void);   /* 0: built without libsqlite3, or it can't be opened here */
const char *
database_why(void); /* why it can't, and what to do; "" where it can, or the build has none */
enum err database_open(const struct import_input *in, struct database **out);
/* Returns e, or why the child that reads it has ended before. */
enum err database_close(struct database *d, enum err e);
int database_has(struct database *d, const char *table); /* a table, not a view in its place */

/* Selects rows in `order` (columns of the table). A column that the table lacks reads as
 * missing. */
enum err database_select(struct database *d, const char *table, const char *const *columns,
                         int count, const char *order);
int database_next(struct database *d, enum err *e); /* 0: no further row, or *e */
int64_t database_int(struct database *d, int column, int64_t otherwise);
const char *database_text(struct database *d, int column); /* NULL: missing, or not a text */
/* The least number of a column; `otherwise` where there is none. */
int64_t database_least(struct database *d, const char *table, const char *column,
                       int64_t otherwise);

#endif
