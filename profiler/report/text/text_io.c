/* Tables of files and endpoints for a terminal. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/text/text_parts.h"

enum { PLACES = 2 };

static double known_or_zero(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

static int file_matters(const struct model *m, const struct model_io_file *f)
{
    return known_or_zero(f->s) >= 0.01 * m->meta.wall_s ||
           known_or_zero(f->read.mb) + known_or_zero(f->write.mb) + known_or_zero(f->touched_mb) >=
               1;
}

static void io_title(FILE *out, int colour, const char *text)
{
    fprintf(out, "\n%s%s%s\n", colour ? PLAIN_BOLD : "", text, colour ? PLAIN_END : "");
}

static void io_number(FILE *out, int columns, int digits, double v)
{
    if (!isfinite(v) || v * pow(10, digits) < 0.5)
        fprintf(out, "%*s", columns, isfinite(v) ? "." : "-");
    else
        fprintf(out, "%*.*f", columns, digits, v);
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
    fprintf(out, "  %-8s %10s MiB in %s calls, %.3g s of them", what, amount_text(mb, 2, c->mb),
            amount_text(n, 0, c->calls == MODEL_UNKNOWN ? (double)NAN : (double)c->calls),
            known_or_zero(c->s));
    if (c->waited > 0)
        fprintf(out, ", %.3g s in %lld calls that waited", known_or_zero(c->waited_s),
                (long long)c->waited);
    if (isfinite(storage))
        fprintf(out, "; %.2f MiB %s storage", storage, *what == 'r' ? "from" : "to");
    fputs("\n", out);
}

static void io_sums(const struct model *m, FILE *out)
{
    const struct model_io *io = &m->io;
    io_calls(out, "read", &io->read, io->storage_read_mb);
    io_calls(out, "written", &io->write, io->storage_write_mb);
    if (known_or_zero(io->open_s) + known_or_zero(io->sync_s) > 0.01 * m->meta.wall_s)
        fprintf(out, "  open and close %.3g s, sync %.3g s\n", known_or_zero(io->open_s),
                known_or_zero(io->sync_s));
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
        io_number(out, 9, 3, p->s);
        io_number(out, 8, 3, p->waited_s);
        char n[32], mb[32];
        fprintf(out, "  %-7s %s calls, %s MiB", p->op ? p->op : "-", amount_text(n, 0, p->calls),
                amount_text(mb, 2, p->mb));
        if (p->file)
            fprintf(out, "  %s:%lld\n", p->file, (long long)p->line);
        else
            fprintf(out, "  %s\n", p->module ? p->module : "no stack");
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
            io_title(
                out, colour,
                "   IO s  waited  read MiB    calls  times  in order  written MiB    calls  file");
        io_number(out, 7, 3, f->s);
        io_number(out, 8, 3, f->waited_s);
        io_number(out, 10, 2, f->read.mb);
        fprintf(out, "%9lld", (long long)f->read.calls);
        io_number(out, 7, 2, f->reread);
        io_number(out, 8, 0, 100 * f->read.sequential_share);
        fputs(" %", out);
        io_number(out, 13, 2, f->write.mb);
        fprintf(out, "%9lld  %s", (long long)f->write.calls, f->path);
        if (f->file_system || f->direct)
            fprintf(out, " (%s%s)", f->file_system ? f->file_system : "",
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
            io_title(
                out, colour,
                "   IO s  waited  requests  first byte ms  connections  received MiB  sent MiB  "
                "endpoint");
        io_number(out, 7, 3, f->s);
        io_number(out, 8, 3, f->waited_s);
        fprintf(out, "%10lld", (long long)f->requests);
        io_number(out, 15, 2, f->first_byte_ms);
        fprintf(out, "%13lld", (long long)f->connects);
        io_number(out, 14, 2, f->read.mb);
        io_number(out, 10, 2, f->write.mb);
        fprintf(out, "  %s\n", f->path);
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
    io_title(out, colour, "Input and output");
    io_sums(m, out);
    io_files(m, out, colour, top);
    io_endpoints(m, out, colour, top);
}
