/* Asks a child that runs libsqlite3: it has no network, no file, and a limited memory and time. Rows
 * come in batches, so that no row costs a switch between the processes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/child.h"
#include "base/jail/jail.h"
#include "base/jail/wire.h"
#include "base/memory.h"
#include "profiler/import/read/sqlite.h"
#include "profiler/import/read/sqlite_library.h"

#define COLUMNS_MOST 32
#define ROWS_MOST    4096          /* of a batch */
#define SECONDS_MOST (4 * 60 * 60) /* of CPU time: hours of legal data, not for ever */

int database_child_used = 1;

enum database_call { CALL_HAS, CALL_SELECT, CALL_ROWS, CALL_LEAST };
enum database_row { ROW_NONE, ROW_NEXT, ROW_MORE, ROW_ERROR };

struct database {
    struct sqlite_library *here; /* where no child is used */
    const char *path;
    struct child child;
    struct store_wire in, out;
    int status;  /* of a child that has ended, as waitpid says it */
    int in_rows; /* a batch is not read to its end */
    int columns;
    struct database_value value[COLUMNS_MOST];
    char *text[COLUMNS_MOST]; /* WIRE_TEXT bytes each, for those columns that have texts */
};

int database_available(void)
{
    return sqlite_library_available();
}

const char *database_why(void)
{
    return sqlite_library_why();
}

/* ---- the child ---- */

static void serve_error(struct store_wire *out, enum err e)
{
    const char *text = e ? err_text() : NULL;
    int number = (int)e;
    wire_int(out, &number);
    wire_text(out, &text);
}

static void serve_select(struct sqlite_library *d, struct store_wire *in, struct store_wire *out,
                         int *columns)
{
    const char *table = NULL, *order = NULL, *names[COLUMNS_MOST];
    wire_text(in, &table);
    wire_int(in, columns);
    *columns = *columns < 0 || *columns > COLUMNS_MOST ? 0 : *columns;
    for (int i = 0; i < *columns; i++)
        wire_text(in, &names[i]);
    wire_text(in, &order);
    serve_error(out,
                in->broken ? ERR_INPUT : sqlite_library_select(d, table, names, *columns, order));
}

static void serve_rows(struct sqlite_library *d, struct store_wire *out, int columns)
{
    enum err e = ERR_OK;
    int rows = 0, kind = ROW_NEXT;
    for (; rows < ROWS_MOST && sqlite_library_next(d, &e); rows++) {
        wire_int(out, &kind);
        for (int i = 0; i < columns; i++) {
            struct database_value v;
            sqlite_library_value(d, i, &v);
            int value = (int)v.kind;
            wire_int(out, &value);
            if (v.kind == DATABASE_INT)
                wire_number(out, &v.number);
            else if (v.kind == DATABASE_TEXT)
                wire_text(out, &v.text);
        }
    }
    kind = e ? ROW_ERROR : rows == ROWS_MOST ? ROW_MORE : ROW_NONE;
    wire_int(out, &kind);
    if (e)
        serve_error(out, e);
}

static void serve_call(struct sqlite_library *d, struct store_wire *in, struct store_wire *out,
                       int *columns)
{
    const char *table = NULL, *column = NULL;
    int64_t number = 0;
    int call = -1, has;
    wire_int(in, &call);
    if (in->broken)
        return;
    if (call == CALL_SELECT) {
        serve_select(d, in, out, columns);
    } else if (call == CALL_ROWS) {
        serve_rows(d, out, *columns);
    } else {
        wire_text(in, &table);
        if (call == CALL_HAS) {
            has = !in->broken && sqlite_library_has(d, table);
            wire_int(out, &has);
            return;
        }
        wire_text(in, &column);
        wire_number(in, &number);
        number = in->broken ? 0 : sqlite_library_least(d, table, column, number);
        wire_number(out, &number);
    }
}

static void serve_jail(int fd)
{
    signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    jail_enter(&(struct jail){
        .fd = fd, .file = "", .folder = "", .bytes = mem_available(), .seconds = SECONDS_MOST});
}

static int database_serve(void *context, int fd)
{
    const struct import_input *input = context;
    struct store_wire *in = calloc(1, sizeof *in), *out = calloc(1, sizeof *out);
    struct sqlite_library *d = NULL;
    int columns = 0;
    if (!in || !out || arena_create(&in->arena))
        return 1;
    in->fd = out->fd = fd;
    out->writes = out->jailed = 1;
    serve_jail(fd);
    const enum err e = sqlite_library_open(input, &d);
    serve_error(out, e);
    while (wire_flush(out) && !e && !in->broken)
        serve_call(d, in, out, &columns);
    return 0;
}

/* ---- this process ---- */

static void database_end(struct database *d)
{
    if (d->child.pid <= 0)
        return;
    shutdown(d->child.fd, SHUT_RDWR);
    close(d->child.life); /* ends it, whatever it does */
    while (waitpid(d->child.pid, &d->status, 0) < 0 && errno == EINTR)
        ;
    close(d->child.fd);
    d->child.pid = 0;
}

static enum err database_lost(struct database *d)
{
    database_end(d);
    const int number = WIFSIGNALED(d->status) ? WTERMSIG(d->status) : 0;
    FAIL_IF(number == SIGXCPU, ERR_INPUT,
            "%s: reading this database took more than %d hours. Export less.", d->path,
            SECONDS_MOST / 3600);
    FAIL_IF(number && number != SIGIO, ERR_INPUT,
            "%s: reading this database ended with signal %d (%s): it is damaged. Export it again.",
            d->path, number, strsignal(number));
    return FAIL(ERR_INPUT, "%s: this database cannot be read: it is damaged. Export it again.",
                d->path);
}

static enum err database_error(struct database *d)
{
    int e = 0, n = -1;
    char text[WIRE_TEXT];
    wire_int(&d->in, &e);
    wire_int(&d->in, &n); /* of a text, as wire_text sends it */
    if (d->in.broken || n >= WIRE_TEXT || e < 0 || e >= ERR_COUNT || (e && n < 1))
        return database_lost(d);
    wire_bytes(&d->in, text, n > 0 ? (size_t)n : 0);
    text[n > 0 ? n : 0] = 0;
    return e ? FAIL((enum err)e, "%s", text) : ERR_OK;
}

/* Reads a batch that nobody wants any more to its end. */
static void database_skip(struct database *d)
{
    enum err e = ERR_OK;
    while (d->in_rows && database_next(d, &e))
        ;
}

static void call_begin(struct database *d, enum database_call call)
{
    int number = (int)call;
    database_skip(d);
    wire_int(&d->out, &number);
}

static void call_text(struct database *d, const char *text)
{
    wire_text(&d->out, &text);
}

enum err database_open(const struct import_input *in, struct database **out)
{
    struct database *d = calloc(1, sizeof *d);
    FAIL_IF(!d, ERR_MEMORY, "no memory for the import");
    *out = d;
    d->path = in->path;
    if (!database_child_used || !database_available())
        return sqlite_library_open(in, &d->here);
    TRY(child_fork_both(&d->child, database_serve, (void *)(uintptr_t)in));
    d->in.fd = d->out.fd = d->child.fd;
    d->out.writes = 1;
    return database_error(d);
}

enum err database_close(struct database *d, enum err e)
{
    if (!d)
        return e;
    sqlite_library_close(d->here);
    if (d->in.broken)
        e = database_lost(d);
    database_end(d);
    for (int i = 0; i < COLUMNS_MOST; i++)
        free(d->text[i]);
    free(d);
    return e;
}

int database_has(struct database *d, const char *table)
{
    int has = 0;
    if (d->here)
        return sqlite_library_has(d->here, table);
    call_begin(d, CALL_HAS);
    call_text(d, table);
    wire_flush(&d->out);
    wire_int(&d->in, &has);
    return has == 1;
}

enum err database_select(struct database *d, const char *table, const char *const *columns,
                         int count, const char *order)
{
    FAIL_IF(count > COLUMNS_MOST, ERR_INTERNAL, "%s: %d columns", table, count);
    d->columns = count;
    if (d->here)
        return sqlite_library_select(d->here, table, columns, count, order);
    call_begin(d, CALL_SELECT);
    call_text(d, table);
    wire_int(&d->out, &count);
    for (int i = 0; i < count; i++)
        call_text(d, columns[i]);
    call_text(d, order);
    wire_flush(&d->out);
    TRY(database_error(d));
    call_begin(d, CALL_ROWS);
    d->in_rows = wire_flush(&d->out);
    return ERR_OK;
}

static enum err value_take(struct database *d, int column)
{
    struct database_value *v = &d->value[column];
    int kind = 0, n = -1;
    *v = (struct database_value){0};
    wire_int(&d->in, &kind);
    if (kind == DATABASE_INT)
        wire_number(&d->in, &v->number);
    if (kind == DATABASE_TEXT)
        wire_int(&d->in, &n);
    if (d->in.broken || kind < DATABASE_NONE || kind > DATABASE_TEXT || n >= WIRE_TEXT ||
        (kind == DATABASE_TEXT && n < 0))
        return database_lost(d);
    if (n >= 0) {
        if (!d->text[column])
            d->text[column] = malloc(WIRE_TEXT);
        FAIL_IF(!d->text[column], ERR_MEMORY, "no memory for the import");
        wire_bytes(&d->in, d->text[column], (size_t)n);
        d->text[column][n] = 0;
        v->text = d->text[column];
    }
    v->kind = (enum database_kind)kind;
    return ERR_OK;
}

/* Takes a row from the child; 0: none, or *e. */
static int row_take(struct database *d, enum err *e)
{
    int kind = ROW_MORE;
    while (kind == ROW_MORE) {
        if (!d->in_rows)
            return 0;
        wire_int(&d->in, &kind);
        if (d->in.broken)
            kind = -1;
        d->in_rows = kind == ROW_NEXT;
        if (kind == ROW_MORE) {
            call_begin(d, CALL_ROWS);
            d->in_rows = wire_flush(&d->out);
        }
    }
    if (kind == ROW_ERROR)
        *e = database_error(d);
    else if (kind != ROW_NEXT && kind != ROW_NONE)
        *e = database_lost(d);
    for (int i = 0; kind == ROW_NEXT && i < d->columns && !*e; i++)
        *e = value_take(d, i);
    d->in_rows &= !*e;
    return kind == ROW_NEXT && !*e;
}

int database_next(struct database *d, enum err *e)
{
    if (!d->here)
        return row_take(d, e);
    if (!sqlite_library_next(d->here, e))
        return 0;
    for (int i = 0; i < d->columns; i++)
        sqlite_library_value(d->here, i, &d->value[i]);
    return 1;
}

int64_t database_int(struct database *d, int column, int64_t otherwise)
{
    return d->value[column].kind == DATABASE_INT ? d->value[column].number : otherwise;
}

const char *database_text(struct database *d, int column)
{
    return d->value[column].kind == DATABASE_TEXT ? d->value[column].text : NULL;
}

int64_t database_least(struct database *d, const char *table, const char *column, int64_t otherwise)
{
    int64_t least = otherwise;
    if (d->here)
        return sqlite_library_least(d->here, table, column, otherwise);
    call_begin(d, CALL_LEAST);
    call_text(d, table);
    call_text(d, column);
    wire_number(&d->out, &least);
    wire_flush(&d->out);
    wire_number(&d->in, &least);
    return d->in.broken ? otherwise : least;
}
