/* Tables for a terminal beside those of lines and functions: files and endpoints, locks, ranks, and
 * what is called most often. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/report/text/text.h"

static double known_or_zero(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

/* Prints a text without control characters. */
static void table_text(FILE *out, const char *text, int columns)
{
    for (int n = 0; *text && n < columns; text++, n++)
        putc((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text, out);
}

static void table_place(FILE *out, const char *file, int64_t line, const char *function)
{
    table_text(out, file ? base_name(file) : function ? function : "unknown", 40);
    if (file && line > 0)
        fprintf(out, ":%lld", (long long)line);
}

static void table_real(FILE *out, int width, int digits, double value)
{
    if (isfinite(value))
        fprintf(out, "%*.*f ", width, digits, value);
    else
        plain_print(out, "%*s ", width, "?");
}

/* "." for what rounds to nothing, "-" for what is unknown. */
static void table_number(FILE *out, int columns, int digits, double v)
{
    if (!isfinite(v) || v * pow(10, digits) < 0.5)
        plain_print(out, "%*s", columns, isfinite(v) ? "." : "-");
    else
        fprintf(out, "%*.*f", columns, digits, v);
}

static void table_count(FILE *out, int columns, int64_t v)
{
    char digits[JSON_DIGITS];
    plain_print(out, "%*s", columns, json_digits(v, "-", digits));
}

static void table_title(FILE *out, int colour, const char *text)
{
    fprintf(out, "\n%s%s%s\n", colour ? PLAIN_BOLD : "", text, colour ? PLAIN_END : "");
}

enum { PLACES = 2, LOCK_INDENT = 12 }; /* places of a file; blanks before who held a lock */

static int file_matters(const struct model *m, const struct model_io_file *f)
{
    return known_or_zero(f->s) >= 0.01 * m->meta.wall_s ||
           known_or_zero(f->read.mb) + known_or_zero(f->write.mb) + known_or_zero(f->touched_mb) >=
               1;
}

/* "-" for what is unknown. */
static const char *amount_text(char out[32], int digits, double v)
{
    if (isfinite(v))
        snprintf(out, 32, "%.*f", digits, v);
    else
        strcpy(out, "-");
    return out;
}

static void io_calls(FILE *out, const char *what, const struct model_io_calls *c, double storage)
{
    char mb[32], n[32];
    plain_print(out, "  %-8s %10s MiB in %s calls, %s s of them", what, amount_text(mb, 2, c->mb),
                amount_text(n, 0, c->calls == MODEL_UNKNOWN ? (double)NAN : (double)c->calls),
                NUMBER(3, known_or_zero(c->s)));
    if (c->waited > 0)
        plain_print(out, ", %s s in %lld calls that waited", NUMBER(3, known_or_zero(c->waited_s)),
                    (long long)c->waited);
    if (isfinite(storage))
        plain_print(out, "; %.2f MiB %s storage", storage, *what == 'r' ? "from" : "to");
    fputs("\n", out);
}

static void io_sums(const struct model *m, FILE *out)
{
    const struct model_io *io = &m->io;
    io_calls(out, "read", &io->read, io->storage_read_mb);
    io_calls(out, "written", &io->write, io->storage_write_mb);
    if (known_or_zero(io->open_s) + known_or_zero(io->sync_s) > 0.01 * m->meta.wall_s)
        plain_print(out, "  open and close %s s, sync %s s\n", NUMBER(3, known_or_zero(io->open_s)),
                    NUMBER(3, known_or_zero(io->sync_s)));
    if (isfinite(io->kernel_read_mb))
        fprintf(out,
                "  The kernel counted %.2f MiB read and %.2f written; %.2f and %.2f of that were "
                "not seen.\n",
                io->kernel_read_mb, known_or_zero(io->kernel_write_mb),
                fmax(0, known_or_zero(io->unseen_read_mb)),
                fmax(0, known_or_zero(io->unseen_write_mb)));
    if (io->major_faults > 0)
        fprintf(out, "  %lld page faults waited for storage\n", (long long)io->major_faults);
}

static void io_places(FILE *out, const struct model_io_file *f)
{
    for (int i = 0; i < f->lines_count && i < PLACES; i++) {
        const struct model_io_place *p = &f->lines[i];
        table_number(out, 9, 3, p->s);
        table_number(out, 8, 3, p->waited_s);
        char n[32], mb[32];
        plain_print(out, "  %-7s %s calls, %s MiB", p->op ? p->op : "-",
                    amount_text(n, 0, p->calls), amount_text(mb, 2, p->mb));
        if (p->file && p->line > 0)
            plain_print(out, "  %s:%lld\n", p->file, (long long)p->line);
        else if (p->file)
            plain_print(out, "  %s\n", p->file);
        else
            plain_print(out, "  %s\n", p->module ? p->module : "no stack");
    }
}

static void io_files(const struct model *m, FILE *out, int colour, int top)
{
    int shown = 0;
    for (int i = 0; i < m->io.files_count && shown < top; i++) {
        const struct model_io_file *f = &m->io.files[i];
        if (!file_matters(m, f))
            continue;
        if (!shown++)
            table_title(
                out, colour,
                "   IO s  waited  read MiB    calls  times  in order  written MiB    calls  file");
        table_number(out, 7, 3, f->s);
        table_number(out, 8, 3, f->waited_s);
        table_number(out, 10, 2, f->read.mb);
        table_count(out, 9, f->read.calls);
        table_number(out, 7, 2, f->reread);
        table_number(out, 8, 0, 100 * f->read.sequential_share);
        fputs(" %", out);
        table_number(out, 13, 2, f->write.mb);
        table_count(out, 9, f->write.calls);
        plain_print(out, "  %s", f->path);
        if (f->file_system || f->direct)
            plain_print(out, " (%s%s)", f->file_system ? f->file_system : "",
                        f->direct ? ", direct" : "");
        if (isfinite(f->touched_mb))
            fprintf(out, ", mapped %.2f MiB, touched %.2f", known_or_zero(f->mapped_mb),
                    f->touched_mb);
        fputs("\n", out);
        io_places(out, f);
    }
}

static void io_endpoints(const struct model *m, FILE *out, int colour, int top)
{
    int shown = 0;
    for (int i = 0; i < m->io.endpoints_count && shown < top; i++) {
        const struct model_io_file *f = &m->io.endpoints[i];
        if (!file_matters(m, f))
            continue;
        if (!shown++)
            table_title(
                out, colour,
                "   IO s  waited  requests  first byte ms  connections  received MiB  sent MiB  "
                "endpoint");
        table_number(out, 7, 3, f->s);
        table_number(out, 8, 3, f->waited_s);
        table_count(out, 10, f->requests);
        table_number(out, 15, 2, f->first_byte_ms);
        table_count(out, 13, f->connects);
        table_number(out, 14, 2, f->read.mb);
        table_number(out, 10, 2, f->write.mb);
        plain_print(out, "  %s\n", f->path);
        io_places(out, f);
    }
}

void text_io(const struct model *m, FILE *out, int colour, int top)
{
    const struct model_io *io = &m->io;
    int any = 0;
    for (int i = 0; i < io->files_count; i++)
        any |= file_matters(m, &io->files[i]);
    for (int i = 0; i < io->endpoints_count; i++)
        any |= file_matters(m, &io->endpoints[i]);
    if (!any)
        return;
    table_title(out, colour, "Input and output");
    io_sums(m, out);
    io_files(m, out, colour, top);
    io_endpoints(m, out, colour, top);
}

/* Locks: lines that wait for one, and the line that held it most of that time. Waits for work stand
 * below, for they are not contention. */
static int lock_is_contention(const struct model_lock *l)
{
    return l->role && !strcmp(l->role, "contention");
}

static void lock_count(FILE *out, int64_t value)
{
    if (value >= 0)
        fprintf(out, "%8lld ", (long long)value);
    else
        plain_print(out, "%8s ", "?");
}

#define LOCK_LEAST_S 5e-4 /* shorter waits would be rows of zeros */

/* Writes who held the lock most of that time. */
static void lock_holder(const struct model_lock *l, FILE *out)
{
    if (!l->holders_count) {
        plain_print(out, "held by: unknown (%s)", l->reason ? l->reason : "no reason is known");
        return;
    }
    const struct model_holder *h = &l->holders[0];
    fputs("held by ", out);
    table_place(out, h->file, h->line, h->function);
    if (h->native && (!h->function || strcmp(h->native, h->function))) {
        fputs(" in ", out);
        table_text(out, name_text(h->native, (char[NAME_TEXT]){0}), 40);
    }
    if (h->locked_file) {
        fputs(", locked in ", out);
        table_place(out, h->locked_file, h->locked_line, NULL);
    }
    if (isfinite(h->share))
        plain_print(out, " (%.0f %%%s)", 100 * h->share, h->asleep ? ", asleep" : "");
}

/* The holder has lines of its own, behind the numbers: with it a row had 140 columns. */
static enum err lock_row(const struct model_lock *l, FILE *out, int width)
{
    char *text = NULL;
    size_t bytes;
    table_real(out, 9, 3, l->wait_s);
    lock_count(out, l->waits);
    table_real(out, 10, 2, 1e3 * l->longest_s);
    lock_count(out, l->threads);
    plain_print(out, " %-11s ", l->kind);
    table_place(out, l->file, l->line, l->function);
    fputs("\n", out);
    FILE *holder = open_memstream(&text, &bytes);
    FAIL_IF(!holder, ERR_MEMORY, "no memory for the table of locks");
    plain_print(holder, "%*s", LOCK_INDENT, "");
    lock_holder(l, holder);
    const int failed = fclose(holder);
    if (!failed)
        text_wrapped(out, text, width, LOCK_INDENT + 2);
    free(text);
    FAIL_IF(failed, ERR_MEMORY, "no memory for the table of locks");
    return ERR_OK;
}

enum err text_locks(const struct model *m, FILE *out, const struct text_view *v)
{
    const int width = v->width > 0 ? v->width : INT_MAX, colour = v->colour;
    double work = 0;
    int shown = 0, n = 0;
    const struct model_lock *most = NULL;
    for (int i = 0; i < m->locks_count; i++) {
        n += lock_is_contention(&m->locks[i]);
        work += lock_is_contention(&m->locks[i]) || !isfinite(m->locks[i].wait_s)
                    ? 0
                    : m->locks[i].wait_s;
        most = !lock_is_contention(&m->locks[i]) && !most ? &m->locks[i] : most;
    }
    if (n)
        fprintf(out, "\n%s   wait s    waits longest ms  threads  lock        waits at%s\n",
                colour ? PLAIN_BOLD : "", colour ? PLAIN_END : "");
    for (int i = 0; i < m->locks_count && shown < v->top; i++)
        if (lock_is_contention(&m->locks[i]) && (!shown || m->locks[i].wait_s >= LOCK_LEAST_S)) {
            TRY(lock_row(&m->locks[i], out, width));
            shown++;
        }
    if (n > shown)
        fprintf(out, "   %d more locks\n", n - shown);
    if (!most)
        return ERR_OK;
    fputs(n ? "" : "\n", out);
    plain_print(out, "   Waiting for work or a signal (not contention): %s s, most at ",
                NUMBER(3, work));
    table_place(out, most->file, most->line, most->function);
    fputs(".\n", out);
    return ERR_OK;
}

#define LEAST_S 1e-5 /* shorter calls are recorded without their line */

static void rank_line(const struct model_mpi_line *l, FILE *out)
{
    const char *name = l->file       ? base_name(l->file)
                       : l->function ? l->function
                       : l->spent_s < LEAST_S * (double)l->calls /* false of NAN */
                           ? "too short for a line"
                           : "no line of the program";
    table_real(out, 9, 3, l->spent_s);
    table_real(out, 8, 3, l->late_s);
    table_count(out, 8, l->calls);
    fputs(" ", out);
    table_real(out, 9, 2, l->given_mb);
    plain_print(out, " %-20.20s ", l->call ? l->call : "?");
    table_text(out, name, 40);
    if (l->file && l->line > 0)
        fprintf(out, ":%lld", (long long)l->line);
    if (l->late_rank != MODEL_UNKNOWN && l->late_s > 0)
        fprintf(out, "  late: rank %lld (%.0f %%)", (long long)l->late_rank,
                100 * l->late_rank_s / l->late_s);
    putc('\n', out);
}

void text_ranks(const struct model *m, FILE *out, int colour, int top)
{
    const struct model_mpi *mpi = &m->mpi;
    const char *bold = colour ? PLAIN_BOLD : "", *end = colour ? PLAIN_END : "";
    if (!mpi->ranks_count)
        return;
    fprintf(out, "\n%s    rank    wall s compute s   late s transfer s delayed s     calls%s\n",
            bold, end);
    for (int i = 0; i < mpi->ranks_count && i < top; i++) {
        const struct model_rank *r = &mpi->ranks[i];
        table_count(out, 8, r->rank);
        fputs(" ", out);
        table_real(out, 9, 3, r->wall_s);
        table_real(out, 9, 3, r->compute_s);
        table_real(out, 8, 3, r->late_s);
        table_real(out, 10, 3, r->transfer_s);
        table_real(out, 9, 3, r->delayed_s);
        table_count(out, 9, r->calls);
        fputs(r->whole ? "\n" : "  did not end\n", out);
    }
    if (mpi->ranks_count > top)
        fprintf(out, "   %d more ranks\n", mpi->ranks_count - top);
    if (isfinite(mpi->parallel_efficiency))
        fprintf(out,
                "   Parallel efficiency %.2f: load balance %.2f times communication efficiency "
                "%.2f.\n",
                mpi->parallel_efficiency, mpi->load_balance, mpi->communication_efficiency);
    fprintf(out, "\n%s   MPI s   late s    calls  given MB  call                 at%s\n", bold,
            end);
    for (int i = 0; i < mpi->lines_count && i < top; i++)
        rank_line(&mpi->lines[i], out);
}

ARRAY_ORDER(longest_first, double, COMPARE(*y, *x));

/* Returns the time of the `top`th longest range; 0: there are not so many, or no memory. */
static double range_least(const struct model_range *rows, int n, int top)
{
    double *times = n > top ? malloc((size_t)n * sizeof *times) : NULL, least = 0;
    for (int i = 0; times && i < n; i++)
        times[i] = rows[i].time.total_s;
    if (times) {
        array_sort(times, (size_t)n, sizeof *times, longest_first);
        least = times[top - 1];
    }
    free(times);
    return least;
}

static void range_times(FILE *out, const struct model_stat *t, double cpu_s)
{
    table_number(out, 8, 3, t->total_s);
    table_count(out, 7, t->n);
    table_number(out, 11, 3, 1e3 * t->total_s / json_real(t->n));
    table_number(out, 11, 3, 1e3 * t->min_s);
    table_number(out, 11, 3, 1e3 * t->max_s);
    table_number(out, 8, 3, cpu_s);
    fputs("  ", out);
}

/* Prints what a range did other than computing, where that is much of its time, and its line where
 * too few samples were taken for an answer. */
static void range_rest(FILE *out, const struct model_range *r)
{
    const double much = 0.25, wait = fmin(1, r->wait_s / r->time.total_s),
                 ready = fmin(1, r->ready_s / r->time.total_s); /* of looks: more than there was */
    if (wait > much)
        fprintf(out, "%.0f %% waiting", 100 * wait);
    if (ready > much)
        plain_print(out, "%s%.0f %% without a CPU", wait > much ? ", " : "", 100 * ready);
    if (r->answer || !r->file || !(r->cpu_s > 0))
        return;
    fputs(wait > much || ready > much ? "; " : "", out);
    table_place(out, r->file, r->line, NULL);
    fprintf(out, " (%.0f %% of its CPU time)", 100 * r->line_cpu_s / r->cpu_s);
}

/* Prints an answer for each range below their table. */
static void range_answer(FILE *out, int colour, const struct model_range *r)
{
    if (!r->answer)
        return;
    fputs(colour ? "  " PLAIN_BOLD : "  ", out);
    table_text(out, r->name, 40);
    fputs(colour ? PLAIN_END ": " : ": ", out);
    table_text(out, r->answer, INT_MAX);
    fputs(r->advice ? " " : "", out);
    table_text(out, r->advice ? r->advice : "", INT_MAX);
    putc('\n', out);
}

enum err text_ranges(const struct model *m, FILE *out, int colour, int top)
{
    struct model_range *rows = calloc((size_t)m->ranges_count + 1, sizeof *rows);
    char digits[JSON_DIGITS];
    int n = 0;
    FAIL_IF(!rows, ERR_MEMORY, "no memory for the regions");
    for (int i = 0; i < m->ranges_count; i++)
        if (m->ranges[i].name && m->ranges[i].time.total_s > 0)
            rows[n++] = m->ranges[i];
    const double least = range_least(rows, n, top);
    if (n)
        table_title(out, colour,
                    "  wall s  times    mean ms     min ms     max ms   CPU s  region");
    for (int i = 0, shown = 0; i < n && shown < top; i++) {
        const struct model_range *r = &rows[i];
        if (r->time.total_s < least)
            continue;
        shown++;
        range_times(out, &r->time, r->cpu_s);
        table_text(out, r->name, 40);
        fputs("  ", out);
        range_rest(out, r);
        putc('\n', out);
        for (int k = 0; k < r->payloads_count && r->payloads_count > 1; k++) {
            range_times(out, &r->payloads[k].time, r->payloads[k].cpu_s);
            plain_print(out, "  at %s\n", json_digits(r->payloads[k].payload, "-", digits));
        }
    }
    for (int i = 0, shown = 0, told = 0; i < n && shown < top; i++) {
        if (rows[i].time.total_s < least)
            continue;
        shown++;
        if (rows[i].answer && !told++)
            putc('\n', out);
        range_answer(out, colour, &rows[i]);
    }
    if (n > top)
        fprintf(out, "   %d more regions\n", n - top);
    free(rows);
    return ERR_OK;
}

struct calls_row {
    const char *kind, *name;
    const struct model_stat *time;
};

ARRAY_ORDER(calls_most_first, struct calls_row, COMPARE(y->time->n, x->time->n));

enum err text_calls(const struct model *m, FILE *out, int colour, int top)
{
    const int most = m->ranges_count + m->kernels_count + m->apis_count;
    struct calls_row *rows = calloc((size_t)most + 1, sizeof *rows);
    int n = 0;
    FAIL_IF(!rows, ERR_MEMORY, "no memory left for the table of calls");
    for (int i = 0; i < m->ranges_count; i++)
        rows[n++] = (struct calls_row){"range", m->ranges[i].name, &m->ranges[i].time};
    for (int i = 0; i < m->kernels_count; i++)
        rows[n++] = (struct calls_row){"kernel", m->kernels[i].name, &m->kernels[i].time};
    for (int i = 0; i < m->apis_count; i++)
        rows[n++] = (struct calls_row){"CUDA", m->apis[i].name, &m->apis[i].time};
    qsort(rows, (size_t)n, sizeof *rows, calls_most_first);
    fprintf(out, "\nMost often; functions are sampled, and their calls not counted\n");
    fprintf(out, "%s     calls    total s  median us  what%s\n", colour ? PLAIN_BOLD : "",
            colour ? PLAIN_END : "");
    for (int i = 0; i < n && i < top; i++) {
        const struct model_stat *t = rows[i].time;
        table_count(out, 10, t->n);
        plain_print(out, " %10.4g %10.4g  %s ", t->total_s, 1e6 * t->median_s, rows[i].kind);
        table_text(out, rows[i].name ? rows[i].name : "", INT_MAX);
        fputc('\n', out);
    }
    free(rows);
    return ERR_OK;
}
