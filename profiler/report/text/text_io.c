/* Tables of files and endpoints for a terminal. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/text/text_parts.h"

enum { PLACES = 2 };

static double known(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

static int matters(const struct model *m, const struct model_io_file *f)
{
    return known(f->s) >= 0.01 * m->meta.wall_s ||
           known(f->read.mb) + known(f->write.mb) + known(f->touched_mb) >= 1;
}

static void title(FILE *out, int colour, const char *text)
{
    fprintf(out, "\n%s%s%s\n", colour ? PLAIN_BOLD : "", text, colour ? PLAIN_END : "");
}

static void number(FILE *out, int columns, int digits, double v)
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

static void calls(FILE *out, const char *what, const struct model_io_calls *c, double storage)
{
    char mb[32], n[32];
    fprintf(out, "  %-8s %10s MiB in %s calls, %.3g s of them", what, amount_text(mb, 2, c->mb),
            amount_text(n, 0, c->calls == MODEL_UNKNOWN ? (double)NAN : (double)c->calls),
            known(c->s));
    if (c->waited > 0)
        fprintf(out, ", %.3g s in %lld calls that waited", known(c->waited_s),
                (long long)c->waited);
    if (isfinite(storage))
        fprintf(out, "; %.2f MiB %s storage", storage, *what == 'r' ? "from" : "to");
    fputs("\n", out);
}

static void sums(const struct model *m, FILE *out)
{
    const struct model_io *io = &m->io;
    calls(out, "read", &io->read, io->storage_read_mb);
    calls(out, "written", &io->write, io->storage_write_mb);
    if (known(io->open_s) + known(io->sync_s) > 0.01 * m->meta.wall_s)
        fprintf(out, "  open and close %.3g s, sync %.3g s\n", known(io->open_s),
                known(io->sync_s));
    if (isfinite(io->kernel_read_mb))
        fprintf(out,
                "  The kernel counted %.2f MiB read and %.2f written; %.2f and %.2f of that were "
                "not seen.\n",
                io->kernel_read_mb, known(io->kernel_write_mb), fmax(0, known(io->unseen_read_mb)),
                fmax(0, known(io->unseen_write_mb)));
    if (io->major_faults > 0)
        fprintf(out, "  %lld page faults waited for storage\n", (long long)io->major_faults);
}

static void places(FILE *out, const struct model_io_file *f)
{
    for (int i = 0; i < f->lines_count && i < PLACES; i++) {
        const struct model_io_place *p = &f->lines[i];
        number(out, 9, 3, p->s);
        number(out, 8, 3, p->waited_s);
        char n[32], mb[32];
        fprintf(out, "  %-7s %s calls, %s MiB", p->op ? p->op : "-", amount_text(n, 0, p->calls),
                amount_text(mb, 2, p->mb));
        if (p->file)
            fprintf(out, "  %s:%lld\n", p->file, (long long)p->line);
        else
            fprintf(out, "  %s\n", p->module ? p->module : "no stack");
    }
}

static void files(const struct model *m, FILE *out, int colour, int top)
{
    int shown = 0;
    for (int i = 0; i < m->io.files_count && shown < top; i++) {
        const struct model_io_file *f = &m->io.files[i];
        if (!matters(m, f))
            continue;
        if (!shown++)
            title(
                out, colour,
                "   IO s  waited  read MiB    calls  times  in order  written MiB    calls  file");
        number(out, 7, 3, f->s);
        number(out, 8, 3, f->waited_s);
        number(out, 10, 2, f->read.mb);
        fprintf(out, "%9lld", (long long)f->read.calls);
        number(out, 7, 2, f->reread);
        number(out, 8, 0, 100 * f->read.sequential_share);
        fputs(" %", out);
        number(out, 13, 2, f->write.mb);
        fprintf(out, "%9lld  %s", (long long)f->write.calls, f->path);
        if (f->file_system || f->direct)
            fprintf(out, " (%s%s)", f->file_system ? f->file_system : "",
                    f->direct ? ", direct" : "");
        if (isfinite(f->touched_mb))
            fprintf(out, ", mapped %.2f MiB, touched %.2f", known(f->mapped_mb), f->touched_mb);
        fputs("\n", out);
        places(out, f);
    }
}

static void endpoints(const struct model *m, FILE *out, int colour, int top)
{
    int shown = 0;
    for (int i = 0; i < m->io.endpoints_count && shown < top; i++) {
        const struct model_io_file *f = &m->io.endpoints[i];
        if (!matters(m, f))
            continue;
        if (!shown++)
            title(out, colour,
                  "   IO s  waited  requests  first byte ms  connections  received MiB  sent MiB  "
                  "endpoint");
        number(out, 7, 3, f->s);
        number(out, 8, 3, f->waited_s);
        fprintf(out, "%10lld", (long long)f->requests);
        number(out, 15, 2, f->first_byte_ms);
        fprintf(out, "%13lld", (long long)f->connects);
        number(out, 14, 2, f->read.mb);
        number(out, 10, 2, f->write.mb);
        fprintf(out, "  %s\n", f->path);
        places(out, f);
    }
}

void text_io(const struct model *m, FILE *out, int colour, int top)
{
    const struct model_io *io = &m->io;
    int any = 0;
    for (int i = 0; i < io->files_count; i++)
        any |= matters(m, &io->files[i]);
    for (int i = 0; i < io->endpoints_count; i++)
        any |= matters(m, &io->endpoints[i]);
    if (!any)
        return;
    title(out, colour, "Input and output");
    sums(m, out);
    files(m, out, colour, top);
    endpoints(m, out, colour, top);
}
