/* Rules about input and output. Threads' times add up, so that shares of the wall time are upper
 * limits where several threads read at once. Gains are ranges: by Amdahl's law at most all of the
 * part is saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/io_finder.h"
#include "profiler/findings/io_rules.h"

/* What the rules of disks take as slow and full (document 003's strategy 6). */
#define AWAIT_MS 20
#define FULL     0.8

static int64_t calls(const struct model_io_calls *c)
{
    return c->calls > 0 ? c->calls : 0;
}

/* The busiest disk in a few words, or why it is not known. */
static void say_disk(const struct io_finder *f, char out[200])
{
    const struct model_io *io = &f->m->io;
    const struct model_disk *d = io->disks_count ? &io->disks[0] : NULL;
    if (!d)
        snprintf(out, 200, "disk statistics: %s",
                 io->disks_reason ? io->disks_reason : "no disk had a request");
    else
        snprintf(out, 200,
                 "the busiest disk %.30s: %.3g ms a read, %.3g reads/s, busy %.0f %% of the time%s",
                 d->name, io_known(d->read_wait_ms), io_known(d->reads_per_s),
                 100 * io_known(d->busy),
                 d->read_wait_ms > AWAIT_MS ? " (slow: above 20 ms)"
                 : d->busy > FULL           ? " (full: above 80 %)"
                                            : "");
}

/* D-IO: it waits for storage, and computes little meanwhile. */
static enum err storage(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    char disk[200];
    double s = f->waited, gain = fmax(0, fmin(s, f->wall - f->cpu));
    if (!(s > 0.6 * f->quiet) || !(f->cpu < 0.4 * f->quiet))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.storage",
        .severity = "warning",
        .title = "Storage bound",
        .confidence = "medium",
        .file = io->files_count ? &io->files[0] : NULL,
        .gain = gain,
        .gain_low = 0,
        .advice = "Ask for more at once (threads that read ahead, larger requests), or move the "
                  "data to faster storage.",
        .refuted_by = "Refuted if a second run, with the files in the page cache, takes as long.",
        .test = "Record it again at once: %s; then tomoprof compare RUN1 RUN2."};
    double mb = f->waited_mb;
    char ready[100] = "";
    if (f->real < 0.95)
        snprintf(ready, sizeof ready, " (without %.3g s in which it waited for a CPU)",
                 s * (1 / f->real - 1));
    say_disk(f, disk);
    return io_found(f, &what,
                    "Reads and writes waited %.3g s%s of %.3g s (%.0f %%) for %.4g MiB, %.3g "
                    "MiB/s; the CPU worked %.3g s; %s.",
                    s, ready, f->wall, 100 * s / f->wall, mb, mb / s, f->cpu, disk);
}

/* D-DEC: codecs take the CPU time, and storage is not what it waits for. */
static enum err decoding(struct io_finder *f)
{
    if (!(f->decode_s > 0.6 * f->cpu) || !(f->decode_s > 0.2 * f->quiet) ||
        !(f->waited < 0.3 * f->quiet))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.decode",
        .severity = "warning",
        .title = "Decoding bound",
        .confidence = f->unnamed_s > 0.5 * f->decode_s ? "medium" : "high",
        .gain = fmin(f->decode_s, f->wall),
        .gain_low = 0,
        .advice = "Decode with more threads or processes, or store the data with a faster codec or "
                  "none (tomoprof convert).",
        .refuted_by = "Refuted if an uncompressed copy of the file is read as slowly.",
        .test = "Make an uncompressed copy (tomoprof convert FILE COPY.zarr --codec raw, for one), "
                "then with that path: %s."};
    int locked = f->m->contention_count && f->m->contention[0].any_s > f->wall / 2;
    char unnamed[120] = "";
    if (f->unnamed_s > 0.05 * f->decode_s)
        snprintf(unnamed, sizeof unnamed,
                 " (%.3g s of it in functions without a name, in the codec's library)",
                 f->unnamed_s);
    return io_found(f, &what,
                    "%s took %.3g s of %.3g s of CPU time (%.0f %%)%s; reads and writes waited "
                    "only %.3g s of the run's %.3g s. %s",
                    f->codec, f->decode_s, f->cpu, 100 * f->decode_s / f->cpu, unnamed, f->waited,
                    f->wall,
                    locked ? "More threads do not help while they wait for a lock."
                           : "Two threads that decode would save about half of it.");
}

static int is_compressed(const char *path)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_has_suffix(path, endings[i]))
            return 1;
    return 0;
}

/* Decoding of what is read from a file, by its share of the bytes: of files whose names say that
 * they are compressed, or else of all that were read. */
static double decoding_of(const struct io_finder *f, const struct model_io_file *file)
{
    double named = 0, all = 0;
    for (int i = 0; i < f->m->io.files_count; i++) {
        double mb = io_known(f->m->io.files[i].read.mb);
        named += is_compressed(f->m->io.files[i].path) ? mb : 0;
        all += mb;
    }
    if (named > 0)
        return is_compressed(file->path) ? f->decode_s * io_known(file->read.mb) / named : 0;
    return all > 0 ? f->decode_s * io_known(file->read.mb) / all : 0;
}

/* Files of which the same bytes are read again, added up: a series or the shards of an array are
 * many files that cost little each. */
struct again {
    const struct model_io_file *worst;
    double s, most, decoded, mb, unique_mb, read_s, waited_s;
    int files;
};

static struct again read_again(const struct io_finder *f)
{
    struct again a = {0};
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double decoded = decoding_of(f, file);
        double read_s = io_known(file->read.s) - (1 - f->real) * io_known(file->read.waited_s);
        double s = (read_s + decoded) * (1 - 1 / file->reread);
        if (!(file->reread > 1.5) || !(s > 0))
            continue;
        a.worst = s > a.most ? file : a.worst;
        a.most = fmax(a.most, s);
        a.s += s;
        a.decoded += decoded;
        a.mb += io_known(file->read.mb);
        a.unique_mb += io_known(file->unique_mb);
        a.read_s += read_s;
        a.waited_s += io_known(file->read.waited_s);
        a.files++;
    }
    return a;
}

/* IO3, D8: the same bytes are read again and again. */
static enum err reread(struct io_finder *f)
{
    const struct again a = read_again(f);
    char more[40] = "";
    if (!a.worst || !(a.mb > 1) || !(a.s > 0.02 * f->wall))
        return ERR_OK;
    if (a.files > 1)
        snprintf(more, sizeof more, " and %d more file%s", a.files - 1, a.files > 2 ? "s" : "");
    int from_start =
        is_compressed(a.worst->path) && a.worst->read.sequential_share > 0.9 && a.worst->opens >= 6;
    const struct io_finding what = {
        .id = "io.reread",
        .severity = "warning",
        .title = "The same bytes are read again",
        .confidence = "medium",
        .file = a.worst,
        .gain = fmin(a.s, f->wall),
        .gain_low = fmin(a.s, f->wall) / 2,
        .advice = from_start ? "Decode it once and keep the result, or store it in chunks or "
                               "uncompressed: a stream like this can be read from its beginning "
                               "alone."
                             : "Read larger parts once and keep them, or choose chunks that fit "
                               "what is asked for.",
        .refuted_by = from_start ? "Refuted if one opening that reads all of it takes as long."
                                 : "Refuted if the file was changed in between, or if a run that "
                                   "keeps what it read takes as long.",
        .test = "Keep what was read, then: %s; tomoprof compare RUN1 RUN2."};
    return io_found(f, &what,
                    "%.300s%s: %.4g MiB were read, %.4g MiB of them different: each byte %.3g "
                    "times%s. Reading took %.3g s%s%.3g s.",
                    a.worst->path, more, a.mb, a.unique_mb, a.mb / a.unique_mb,
                    from_start ? ", because each opening begins at the start again: the work grows "
                                 "with the square of what is asked for"
                               : "",
                    a.read_s, a.decoded > 0 ? ", decoding about " : ", waiting ",
                    a.decoded > 0 ? a.decoded : a.waited_s);
}

static double share_up_to(const struct model_io_calls *c, int bin)
{
    double few = 0, all = 0;
    for (int i = 0; i < c->sizes_count; i++) {
        all += (double)c->sizes[i];
        few += i <= bin ? (double)c->sizes[i] : 0;
    }
    return all > 0 ? few / all : 0;
}

/* IO1: the number of calls costs, not their bytes. */
static enum err small(struct io_finder *f)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = io_known(file->read.s) + io_known(file->write.s) + io_known(file->seek_s);
        double slow = io_known(file->read.waited_s) + io_known(file->write.waited_s);
        double mb = io_known(file->read.mb) + io_known(file->write.mb);
        int64_t n = calls(&file->read) + calls(&file->write);
        const struct model_io_calls *c =
            calls(&file->read) > calls(&file->write) ? &file->read : &file->write;
        if (n < 1000 || !(s > 0.05 * f->wall) || slow > 0.8 * s || share_up_to(c, 2) < 0.5)
            continue;
        const struct io_finding what = {
            .id = "io.small",
            .severity = "warning",
            .title = "Many small reads or writes",
            .confidence = "medium",
            .file = file,
            .gain = s * 15 / 16,
            .gain_low = s / 2,
            .advice = "Read or write through a buffer of 64 KiB to 1 MiB.",
            .refuted_by = "Refuted if a run with such a buffer takes as long.",
            .test = "Set buffering= in Python or setvbuf in C, then: %s."};
        return io_found(f, &what,
                        "%.300s: %lld calls of %.3g KiB each took %.3g s (%.0f %% of the run), "
                        "only %.3g s of it waiting. With 64 KiB a call there would be %lld.",
                        file->path, (long long)n, 1024 * mb / (double)n, s, 100 * s / f->wall, slow,
                        (long long)(16 * mb) + 1);
    }
    return ERR_OK;
}

/* IO2: jumps defeat read-ahead. */
static enum err jumps(struct io_finder *f)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = file->read.waited_s;
        if (!(file->read.sequential_share < 0.5) || calls(&file->read) < 1000 ||
            !(s > 0.05 * f->wall))
            continue;
        const struct io_finding what = {
            .id = "io.jumps",
            .severity = "warning",
            .title = "Reads jump in the file",
            .confidence = "medium",
            .file = file,
            .gain = 0.6 * s,
            .gain_low = 0.2 * s,
            .advice = "Sort what is read by its offset, or read neighbours in one call.",
            .refuted_by = "Refuted if reads that continue the one before wait as long as those "
                          "that jump.",
            .test = "Sort by offset, then: %s; tomoprof compare RUN1 RUN2."};
        return io_found(f, &what,
                        "%.300s: %lld of %lld reads jump, by a median of %.3g MiB; they waited "
                        "%.3g s (%.0f %% of the run).",
                        file->path, (long long)(file->read.forward + file->read.back),
                        (long long)file->read.calls, file->read.jump_mb, s, 100 * s / f->wall);
    }
    return ERR_OK;
}

/* D7: opening files. */
static enum err opening(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    const struct io_finding open = {
        .id = "io.open",
        .severity = "warning",
        .title = "Much time goes to opening files",
        .confidence = "medium",
        .gain = io_known(io->open_s),
        .gain_low = 0,
        .advice = "Keep files open, or put many small files into one. What comes once per file is "
                  "a smaller share of a longer run.",
        .refuted_by = "Refuted if only the first opening is slow (a mount that wakes up).",
        .test = "Record it again at once: %s; then tomoprof compare RUN1 RUN2."};
    int64_t opens = 0;
    for (int i = 0; i < io->files_count; i++)
        opens += io->files[i].opens > 0 ? io->files[i].opens / 2 : 0;
    if (!(io->open_s > 0.05 * f->wall) || !opens)
        return ERR_OK;
    return io_found(f, &open,
                    "About %lld openings took %.3g s (%.0f %% of the run), %.3g ms each. With ten "
                    "times as much reading per opening they would take %.2g %%.",
                    (long long)opens, io->open_s, 100 * io->open_s / f->wall,
                    1e3 * io->open_s / (double)opens,
                    100 * io->open_s / (io->open_s + 10 * (f->wall - io->open_s)));
}

/* A server that waits for its clients; the daemons of MPI, which ranks talk to as they start. */
static int waits_for_clients(const struct model *m, const struct model_io_file *e)
{
    const int ranks = m->mpi.size != MODEL_UNKNOWN;
    return e->path && (!strncmp(e->path, "clients of", 10) ||
                       (ranks && !strncmp(e->path, "127.0.0.1:", 10) && e->read.mb < 1));
}

/* D9: each request waits for its answer before the next. */
static enum err requests(struct io_finder *f)
{
    for (int i = 0; i < f->m->io.endpoints_count; i++) {
        const struct model_io_file *e = &f->m->io.endpoints[i];
        double depth = e->in_flight > 1 ? e->in_flight : 1;
        double s = 1e-3 * io_known(e->first_byte_ms) * (double)e->requests / depth;
        if (waits_for_clients(f->m, e) || e->requests < 10 || !(e->first_byte_ms > 20) ||
            !(s > 0.05 * f->wall) || !(e->read.mb < (double)e->requests))
            continue;
        const struct io_finding what = {
            .id = "io.requests",
            .severity = "warning",
            .title = "Requests wait one after the other",
            .confidence = "medium",
            .file = e,
            .gain = s * 7 / 8,
            .gain_low = s / 2,
            .advice = e->connects > e->requests / 2
                          ? "Keep connections open between requests. Ask for more in one request, "
                            "or send requests without waiting for the last answer."
                          : "Ask for more in one request, or send requests without waiting for the "
                            "last answer.",
            .refuted_by = "Refuted if eight at a time take as long: then the server limits.",
            .test = "Set the number of concurrent requests to 8, then: %s."};
        return io_found(
            f, &what,
            "%.200s: %lld requests over %lld connections (%.3g each), %.3g ms to the "
            "first byte, %.3g KiB each, %.2g at a time: %.3g s (%.0f %% of the run). The "
            "gain is estimated for 2 to 8 times as many at a time.",
            e->path, (long long)e->requests, (long long)e->connects,
            (double)e->requests / (double)(e->connects > 0 ? e->connects : 1), e->first_byte_ms,
            1024 * e->read.mb / (double)e->requests, depth, s, 100 * s / f->wall);
    }
    return ERR_OK;
}

static double taken_by(const struct model_line *l)
{
    return io_known(l->cpu_incl.user) + io_known(l->cpu_incl.sys) + io_known(l->cpu_incl.wait);
}

/* What the line that reads and takes most of the run reads, with all that it calls. */
struct reads_of {
    const char *path;
    const struct model_line *line;
    double mb, waited;
};

#define LOADS_MIB 1.0 /* a line that reads less loads nothing: it starts a server, or imports */

/* Own lines; where the recording names none, lines that read themselves. */
static struct reads_of reading_line(const struct io_finder *f)
{
    struct reads_of most = {0};
    for (int i = 0; i < f->m->files_count; i++)
        for (int k = 0; k < f->m->files[i].lines_count; k++) {
            const struct model_line *l = &f->m->files[i].lines[k];
            struct reads_of one = {f->m->files[i].path, l, 0, 0};
            if (l->io && !f->m->io.reading_count) {
                one.mb = io_known(l->io->read_mb);
                one.waited = f->real * io_known(l->io->waited_s);
            }
            for (int n = 0; n < f->m->io.reading_count; n++) {
                const struct model_reading *r = &f->m->io.reading[n];
                if (r->line == l->line && r->file && !strcmp(r->file, one.path)) {
                    one.mb = io_known(r->mb);
                    one.waited = io_known(r->storage_s) + io_known(r->network_s);
                }
            }
            if (one.mb >= LOADS_MIB && (!most.line || taken_by(l) > taken_by(most.line)))
                most = one;
        }
    return most;
}

/* A line that reads takes the run, but storage does not: what "read" hides. Seeks of a slow disk (5
 * to 15 ms) bound what the jumps could cost. */
static enum err not_storage(struct io_finder *f)
{
    const struct reads_of r = reading_line(f);
    if (!r.line)
        return ERR_OK;
    double cpu = io_known(r.line->cpu_incl.user) + io_known(r.line->cpu_incl.sys);
    double s = taken_by(r.line), jumped = 0;
    if (!(s > 0.5 * f->wall) || !(r.waited < 0.2 * s))
        return ERR_OK;
    const struct model_io_file *file = NULL;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *g = &f->m->io.files[i];
        jumped += io_known((double)g->read.forward) + io_known((double)g->read.back);
        if (!file || io_known(g->read.mb) > io_known(file->read.mb))
            file = g;
    }
    const struct io_finding what = {
        .id = "io.not_storage",
        .severity = "warning",
        .title = "Decoding or a lock takes the time, not storage",
        .confidence = f->decode_s > 0.3 * s ? "high" : "medium",
        .file = file,
        .gain = fmin(s - r.waited, f->wall),
        .gain_low = 0,
        .advice = "Look at what the line calls: a codec, a lock (the GIL), a conversion.",
        .refuted_by = "Refuted if the same calls on a file in /dev/shm are much faster.",
        .test = "Copy the file to /dev/shm, then with that path: %s."};
    return io_found(f, &what,
                    "%.200s:%lld reads %.4g MiB and takes %.3g of the run's %.3g s, but its reads "
                    "waited only %.3g s (%.0f %%). %.0f jumps of 5 to 15 ms on a slow disk would "
                    "take %.3g to %.3g s, and never more than reads waited: seeks explain %.1f %% "
                    "at most. CPU time of the line: %.3g s%s.",
                    r.path, (long long)r.line->line, r.mb, s, f->wall, r.waited, 100 * r.waited / s,
                    jumped, 0.005 * jumped, 0.015 * jumped,
                    100 * fmin(r.waited, 0.015 * jumped) / f->wall, cpu,
                    f->decode_s > 0.3 * cpu ? ", most of it a codec's" : "");
}

enum err io_rules(struct model *m, struct model_finding *rows, int *count)
{
    static enum err (*const rules[])(struct io_finder *) = {
        storage, decoding, reread,      small,      jumps,
        opening, requests, not_storage, wait_rules, load_rules};
    struct io_finder f;
    *count = 0;
    if (!isfinite(m->io.read.s) || !(m->meta.wall_s > 0))
        return ERR_OK;
    io_finder_begin(&f, m, rows, IO_RULES_MOST);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        TRY(rules[i](&f));
    *count = f.count;
    return ERR_OK;
}
