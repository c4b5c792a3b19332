/* Rows of findings about loading, with the command that would refute them. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profiler/analyze/model/codecs.h"
#include "profiler/findings/io_finder.h"

static void find_decoding(struct io_finder *f)
{
    double largest = 0;
    struct codec_modules in;
    codec_modules(f->m, &in);
    for (int i = 0; i < f->m->stacks_count; i++) {
        const struct model_stack *s = &f->m->stacks[i];
        const char *codec;
        int unnamed;
        if (!(s->cpu_ns > 0) || s->frame < 0 || s->frame >= f->m->frames_count)
            continue;
        if (frame_work(&f->m->frames[s->frame], &in, &codec, &unnamed) != WORK_DECODE)
            continue;
        f->unnamed_s += unnamed ? 1e-9 * (double)s->cpu_ns : 0;
        f->decode_s += 1e-9 * (double)s->cpu_ns;
        if ((double)s->cpu_ns > largest) {
            largest = (double)s->cpu_ns;
            f->codec = codec;
        }
    }
}

/* A read from memory that lost its CPU looks as if it had waited. Where the kernel fetched next to
 * nothing from storage, reads waited at most as long as the run was asleep: its critical path takes
 * a thread that is ready for a CPU as computing. */
static double real_share(const struct model *m, double waited, double mb)
{
    double asleep = 0;
    if (!(waited > 0) || !m->own_count || !(m->io.storage_read_mb < 0.1 * mb))
        return 1;
    for (int i = 0; i < m->own_count; i++)
        asleep += 1e-9 * io_known((double)m->own[i].path_wait_ns);
    return fmin(1, asleep / waited);
}

static double waited_s(const struct model_io_file *f)
{
    return io_known(f->read.waited_s) + io_known(f->write.waited_s);
}

static double waited_mb(const struct model_io_file *f)
{
    return io_known(f->read.waited_mb) + io_known(f->write.waited_mb);
}

/* HOST:PORT; a Unix socket leads to another program of this machine. */
static int is_network(const struct model_io_file *e)
{
    const char *port = e->path ? strrchr(e->path, ':') : NULL;
    return port && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1);
}

/* Who waits at a pipe, a terminal or for clients waits for another program, not for storage. */
static void find_waits(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    double s = io_known(io->read.waited_s) + io_known(io->write.waited_s);
    double mb = io_known(io->read.waited_mb) + io_known(io->write.waited_mb);
    for (int i = 0; i < io->files_count; i++)
        if (io->files[i].kind && strcmp(io->files[i].kind, "file")) {
            s -= waited_s(&io->files[i]);
            mb -= waited_mb(&io->files[i]);
        }
    for (int i = 0; i < io->endpoints_count; i++) {
        s -= waited_s(&io->endpoints[i]);
        mb -= waited_mb(&io->endpoints[i]);
        if (io->endpoints[i].connects > 0 && is_network(&io->endpoints[i]))
            f->network += waited_s(&io->endpoints[i]);
    }
    f->waited = fmax(0, s);
    f->waited_mb = fmax(0, mb);
}

void io_finder_begin(struct io_finder *f, struct model *m, struct model_finding *rows, int most)
{
    *f = (struct io_finder){.m = m, .rows = rows, .most = most};
    f->wall = m->meta.wall_s;
    f->cpu = io_known(m->totals.cpu.user) + io_known(m->totals.cpu.sys);
    find_waits(f);
    f->quiet = fmax(fmin(f->wall, f->cpu), f->wall - io_known(m->totals.wait.runnable));
    f->real = real_share(m, f->waited, f->waited_mb);
    f->waited *= f->real;
    find_decoding(f);
}

/* The command as a shell takes it. */
static void command_of(const struct model *m, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "tomoprof record --");
    for (int i = 0; i < m->meta.command_count && n < room; i++) {
        const char *word = m->meta.command[i] ? m->meta.command[i] : "";
        int plain = *word != 0;
        for (const char *c = word; *c; c++)
            plain &= isalnum((unsigned char)*c) || strchr("-_./=:,+%@", *c);
        if (plain || strchr(word, '\''))
            n += (size_t)snprintf(out + n, room - n, plain ? " %s" : " \"%s\"", word);
        else
            n += (size_t)snprintf(out + n, room - n, " '%s'", word);
    }
    if (!m->meta.command_count && n < room)
        snprintf(out + n, room - n, " COMMAND");
    else if (n >= room)
        snprintf(out, room, "tomoprof record -- COMMAND");
}

static enum err texts(struct io_finder *f, const struct io_finding *what, struct model_finding *row)
{
    char command[400], test[900];
    const char *at = what->test ? strstr(what->test, "%s") : NULL;
    command_of(f->m, command, sizeof command);
    if (at)
        snprintf(test, sizeof test, "%.*s%s%.300s", (int)(at - what->test), what->test, command,
                 at + 2);
    else
        snprintf(test, sizeof test, "%.600s", what->test ? what->test : "");
    row->advice = what->advice;
    row->refuted_by = what->refuted_by;
    row->test = arena_text(f->m->arena, test);
    FAIL_IF(!row->test, ERR_MEMORY, "no memory for the findings");
    return ERR_OK;
}

enum err io_found(struct io_finder *f, const struct io_finding *what, const char *format, ...)
{
    char text[700];
    va_list args;
    if (f->count == f->most)
        return ERR_OK;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct model_finding *row = &f->rows[f->count++];
    json_blank(&record_model_finding, row);
    row->id = what->id;
    row->severity = what->severity;
    row->title = what->title;
    row->confidence = what->confidence;
    row->gain_s = what->gain;
    row->gain_low_s = what->gain_low;
    row->evidence = arena_text(f->m->arena, text);
    FAIL_IF(!row->evidence, ERR_MEMORY, "no memory for the findings");
    TRY(texts(f, what, row));
    int n = 0;
    for (int i = 0; what->file && i < what->file->lines_count; i++)
        n += what->file->lines[i].file != NULL;
    TRY(model_list(f->m, model_place, row, lines, (size_t)n));
    n = 0;
    for (int i = 0; what->file && i < what->file->lines_count; i++) {
        const struct model_io_place *p = &what->file->lines[i];
        if (p->file)
            row->lines[n++] = (struct model_place){p->file, p->line, (int64_t)p->calls, p->s};
    }
    return ERR_OK;
}
