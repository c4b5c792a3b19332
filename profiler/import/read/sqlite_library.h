/* libsqlite3 in this process, behind sqlite.h. */
#ifndef TP_IMPORT_READ_SQLITE_LIBRARY_H
#define TP_IMPORT_READ_SQLITE_LIBRARY_H

#include <stdint.h>

#include "base/err.h"
#include "profiler/import/read/input.h"

struct sqlite_library;

enum database_kind { DATABASE_NONE, DATABASE_INT, DATABASE_TEXT };
struct database_value { /* of a column */
    enum database_kind kind;
    int64_t number;
    const char *text;
};

int sqlite_library_available(void); /* opens it, where it is opened late */
/* Why it is not, and what to do; "" where it is, or this build lacks it. */
const char *sqlite_library_why(void);
enum err sqlite_library_open(const struct import_input *in, struct sqlite_library **out);
void sqlite_library_close(struct sqlite_library *d);
int sqlite_library_has(struct sqlite_library *d, const char *table);
enum err sqlite_library_select(struct sqlite_library *d, const char *table,
                               const char *const *columns, int count, const char *order);
int sqlite_library_next(struct sqlite_library *d, enum err *e);
void sqlite_library_value(struct sqlite_library *d, int column, struct database_value *v);
int64_t sqlite_library_least(struct sqlite_library *d, const char *table, const char *column,
                             int64_t otherwise);

#endif
