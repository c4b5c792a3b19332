/* Runs libsqlite3, which no other file knows. The bytes are opened in memory: no journal, no second file,
 * nothing of the database's own SQL is run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/read/sqlite_library.h"

#ifdef TP_SQLITE
#include <sqlite3.h>

#ifdef TP_SQLITE_LIBRARY
#include "base/jail/late.h"

#define SQLITE_CALLS(X)                                                                            \
    X(sqlite3_bind_text)                                                                           \
    X(sqlite3_close)                                                                               \
    X(sqlite3_column_int64)                                                                        \
    X(sqlite3_column_text)                                                                         \
    X(sqlite3_column_type)                                                                         \
    X(sqlite3_db_config)                                                                           \
    X(sqlite3_deserialize)                                                                         \
    X(sqlite3_errcode)                                                                             \
    X(sqlite3_errmsg)                                                                              \
    X(sqlite3_exec)                                                                                \
    X(sqlite3_finalize)                                                                            \
    X(sqlite3_limit)                                                                               \
    X(sqlite3_open_v2)                                                                             \
    X(sqlite3_prepare_v2)                                                                          \
    X(sqlite3_progress_handler)                                                                    \
    X(sqlite3_step)                                                                                \
    X(sqlite3_table_column_metadata)

static struct {
#define X(name) __typeof__(name) *name;
    SQLITE_CALLS(X)
#undef X
} sqlite_calls;

static const struct late_symbol sqlite_symbols[] = {
#define X(name) LATE_SYMBOL(sqlite_calls, name),
    SQLITE_CALLS(X)
#undef X
};
static struct late_library sqlite_late =
    LATE_LIBRARY(TP_SQLITE_LIBRARY, TP_SQLITE_PATH, sqlite_symbols, "libsqlite3",
                 "libsqlite3-0 (Debian), sqlite-libs (Fedora) or sqlite (Arch)");

int sqlite_library_available(void)
{
    return late_open(&sqlite_late);
}

const char *sqlite_library_why(void)
{
    return late_why(&sqlite_late);
}

static int sqlite_library_is_open(void)
{
    return late_open(&sqlite_late) && sqlite_calls.sqlite3_step;
}

#define sqlite3_bind_text             sqlite_calls.sqlite3_bind_text
#define sqlite3_close                 sqlite_calls.sqlite3_close
#define sqlite3_column_int64          sqlite_calls.sqlite3_column_int64
#define sqlite3_column_text           sqlite_calls.sqlite3_column_text
#define sqlite3_column_type           sqlite_calls.sqlite3_column_type
#define sqlite3_db_config             sqlite_calls.sqlite3_db_config
#define sqlite3_deserialize           sqlite_calls.sqlite3_deserialize
#define sqlite3_errcode               sqlite_calls.sqlite3_errcode
#define sqlite3_errmsg                sqlite_calls.sqlite3_errmsg
#define sqlite3_exec                  sqlite_calls.sqlite3_exec
#define sqlite3_finalize              sqlite_calls.sqlite3_finalize
#define sqlite3_limit                 sqlite_calls.sqlite3_limit
#define sqlite3_open_v2               sqlite_calls.sqlite3_open_v2
#define sqlite3_prepare_v2            sqlite_calls.sqlite3_prepare_v2
#define sqlite3_progress_handler      sqlite_calls.sqlite3_progress_handler
#define sqlite3_step                  sqlite_calls.sqlite3_step
#define sqlite3_table_column_metadata sqlite_calls.sqlite3_table_column_metadata
#else
int sqlite_library_available(void)
{
    return 1;
}

const char *sqlite_library_why(void)
{
    return "";
}

static int sqlite_library_is_open(void)
{
    return 1;
}
#endif

#define STEPS_PER_LOOK 100000
#define LOOKS          200000 /* 2e10 steps of its machine: hours of legal data, not for ever */

struct sqlite_library {
    sqlite3 *db;
    sqlite3_stmt *rows;
    const char *path;
    long looks;
};

static int sqlite_library_progress(void *context)
{
    struct sqlite_library *d = context;
    return ++d->looks > LOOKS;
}

static enum err sqlite_library_failed(const struct sqlite_library *d, const char *what)
{
    FAIL_IF(sqlite3_errcode(d->db) == SQLITE_NOMEM, ERR_MEMORY,
            "%s: %s: SQLite has not enough memory. Import it on a larger machine, or export less.",
            d->path, what);
    return FAIL(ERR_INPUT, "%s: %s: SQLite says \"%s\". The file is damaged: export it again.",
                d->path, what, sqlite3_errmsg(d->db));
}

static enum err sqlite_library_check(struct sqlite_library *d)
{
    int code;
    if (sqlite3_prepare_v2(d->db, "PRAGMA quick_check(1)", -1, &d->rows, NULL) != SQLITE_OK)
        return sqlite_library_failed(d, "cannot be read");
    code = sqlite3_step(d->rows);
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(d->rows, 0) : NULL;
    FAIL_IF(!text || strcmp(text, "ok"), ERR_INPUT,
            "%s: a damaged database (%.100s). Export it again.", d->path,
            text ? text : sqlite3_errmsg(d->db));
    return ERR_OK;
}

enum err sqlite_library_open(const struct import_input *in, struct sqlite_library **out)
{
    *out = NULL;
    FAIL_IF(!sqlite_library_is_open(), ERR_UNSUPPORTED, "%s: a database of Nsight Systems, and %s",
            in->path,
            *sqlite_library_why() ? sqlite_library_why()
                                  : "libsqlite3 was not opened before its child began");
    struct sqlite_library *d = calloc(1, sizeof *d);
    FAIL_IF(!d, ERR_MEMORY, "no memory for the import");
    *out = d;
    d->path = in->path;
    if (sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return sqlite_library_failed(d, "cannot be opened");
    /* Views, triggers and functions in the schema are not trusted. */
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_limit(d->db, SQLITE_LIMIT_SQL_LENGTH, 100000);
    sqlite3_progress_handler(d->db, STEPS_PER_LOOK, sqlite_library_progress, d);
    if (sqlite3_deserialize(d->db, "main", (unsigned char *)in->data, (sqlite3_int64)in->bytes,
                            (sqlite3_int64)in->bytes, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return sqlite_library_failed(d, "cannot be opened");
    sqlite3_exec(d->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
    sqlite3_exec(d->db, "PRAGMA temp_store=MEMORY", NULL, NULL,
                 NULL); /* its process has no files */
    return sqlite_library_check(d);
}

void sqlite_library_close(struct sqlite_library *d)
{
    if (!d)
        return;
    sqlite3_finalize(d->rows);
    sqlite3_close(d->db);
    free(d);
}

static int sqlite_library_prepare(struct sqlite_library *d, const char *sql)
{
    sqlite3_finalize(d->rows);
    d->rows = NULL;
    return sqlite3_prepare_v2(d->db, sql, -1, &d->rows, NULL) == SQLITE_OK;
}

int sqlite_library_has(struct sqlite_library *d, const char *table)
{
    if (!sqlite_library_prepare(d, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"))
        return 0;
    sqlite3_bind_text(d->rows, 1, table, -1, SQLITE_STATIC);
    return sqlite3_step(d->rows) == SQLITE_ROW;
}

static int sqlite_library_has_column(struct sqlite_library *d, const char *table,
                                     const char *column)
{
    return sqlite3_table_column_metadata(d->db, "main", table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

enum err sqlite_library_select(struct sqlite_library *d, const char *table,
                               const char *const *columns, int count, const char *order)
{
    char sql[2048] = "SELECT ";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(sql);
        int there = sqlite_library_has_column(d, table, columns[i]);
        snprintf(sql + used, sizeof sql - used, "%s%s%s%s", i ? ", " : "", there ? "\"" : "",
                 there ? columns[i] : "NULL", there ? "\"" : "");
    }
    size_t used = strlen(sql);
    snprintf(sql + used, sizeof sql - used, " FROM main.\"%s\"%s%s", table,
             order ? " ORDER BY " : "", order ? order : "");
    return sqlite_library_prepare(d, sql) ? ERR_OK : sqlite_library_failed(d, table);
}

int sqlite_library_next(struct sqlite_library *d, enum err *e)
{
    int code = sqlite3_step(d->rows);
    if (code == SQLITE_ROW)
        return 1;
    *e = code == SQLITE_DONE ? ERR_OK : sqlite_library_failed(d, "cannot be read further");
    return 0;
}

void sqlite_library_value(struct sqlite_library *d, int column, struct database_value *v)
{
    const int type = sqlite3_column_type(d->rows, column);
    *v = (struct database_value){0};
    if (type == SQLITE_INTEGER) {
        v->kind = DATABASE_INT;
        v->number = sqlite3_column_int64(d->rows, column);
    } else if (type == SQLITE_TEXT) {
        v->text = (const char *)sqlite3_column_text(d->rows, column);
        v->kind = v->text ? DATABASE_TEXT : DATABASE_NONE;
    }
}

int64_t sqlite_library_least(struct sqlite_library *d, const char *table, const char *column,
                             int64_t otherwise)
{
    char sql[256];
    if (!sqlite_library_has(d, table) || !sqlite_library_has_column(d, table, column))
        return otherwise;
    snprintf(sql, sizeof sql,
             "SELECT min(\"%s\") FROM main.\"%s\" WHERE typeof(\"%s\") = 'integer'", column, table,
             column);
    return sqlite_library_prepare(d, sql) && sqlite3_step(d->rows) == SQLITE_ROW &&
                   sqlite3_column_type(d->rows, 0) == SQLITE_INTEGER
               ? sqlite3_column_int64(d->rows, 0)
               : otherwise;
}

#else

int sqlite_library_available(void)
{
    return 0;
}

const char *sqlite_library_why(void)
{
    return "";
}

enum err sqlite_library_open(const struct import_input *in, struct sqlite_library **out)
{
    *out = NULL;
    return FAIL(ERR_UNSUPPORTED,
                "%s: a database of Nsight Systems, and this build has no libsqlite3. Install it "
                "(Debian: libsqlite3-dev) and build again.",
                in->path);
}

void sqlite_library_close(struct sqlite_library *d)
{
    (void)d;
}

int sqlite_library_has(struct sqlite_library *d, const char *table)
{
    return (void)d, (void)table, 0;
}

enum err sqlite_library_select(struct sqlite_library *d, const char *table,
                               const char *const *columns, int count, const char *order)
{
    (void)d, (void)columns, (void)count, (void)order;
    return FAIL(ERR_UNSUPPORTED, "%s: this build has no libsqlite3", table);
}

int sqlite_library_next(struct sqlite_library *d, enum err *e)
{
    return (void)d, (void)e, 0;
}

void sqlite_library_value(struct sqlite_library *d, int column, struct database_value *v)
{
    (void)d, (void)column;
    *v = (struct database_value){0};
}

int64_t sqlite_library_least(struct sqlite_library *d, const char *table, const char *column,
                             int64_t otherwise)
{
    return (void)d, (void)table, (void)column, otherwise;
}
#endif
