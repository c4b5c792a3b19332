/* Rules about input and output: what storage, requests, repeated reading and decoding cost.
 * Threads' times add up, so that shares of the wall time are upper limits where several threads
 * read at once. Gains are ranges: by Amdahl's law at most all of the part is saved. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/hotspots.h"
#include "profiler/findings/rules.h"

static int64_t io_call_count(const struct model_io_calls *c)
{
    return c->calls > 0 ? c->calls : 0;
}

/* Adds the busiest disk in a few words, or why it is not known. */
static void disk_evidence(const struct model_io *io, struct finding *out)
{
    const struct model_disk *d = io->disks_count ? &io->disks[0] : NULL;
    if (!d)
        finding_evidence(out, "disk statistics: %s.",
                         io->disks_reason ? io->disks_reason : "no disk had a request");
    else
        finding_evidence(
            out, "the busiest disk %.30s: %s ms a read, %s reads/s, busy %.0f %% of the time%s.",
            d->name, NUMBER(3, positive_or_0(d->read_wait_ms)),
            NUMBER(3, positive_or_0(d->reads_per_s)), 100 * positive_or_0(d->busy),
            d->read_wait_ms > DISK_SLOW_MS ? " (slow: above " AS_TEXT(DISK_SLOW_MS) " ms)"
            : d->busy > SHARE(DISK_FULL)   ? " (full: above " AS_TEXT(DISK_FULL) " %)"
                                           : "");
}

int rule_io_storage(const struct run_facts *f, struct finding *out)
{
    const struct model_io *io = &f->m->io;
    double s = f->waited;
    if (!(s > SHARE(STORAGE_WAITED) * f->quiet) || !(f->cpu < SHARE(STORAGE_CPU) * f->quiet))
        return 0;
    finding_gain(out, 0, fmax(0, fmin(s, f->wall - f->cpu)), "medium");
    finding_evidence(out, "Reads and writes waited %s s", NUMBER(3, s));
    if (f->real < SHARE(REAL_WAITS))
        finding_evidence(out, " (without %s s in which it waited for a CPU)",
                         NUMBER(3, s * (1 / f->real - 1)));
    finding_evidence(out, " of %s s (%.0f %%) for %s MiB, %s MiB/s; the CPU worked %s s; ",
                     NUMBER(3, f->wall), 100 * s / f->wall, NUMBER(4, f->waited_mb),
                     NUMBER(3, f->waited_mb / s), NUMBER(3, f->cpu));
    disk_evidence(io, out);
    finding_file(out, io->files_count ? &io->files[0] : NULL);
    return 1;
}

ARRAY_ORDER(decoding_most_first, struct model_place, COMPARE(y->value, x->value));

int rule_io_decode(const struct run_facts *f, struct finding *out)
{
    if (!(f->decode_s > SHARE(DECODE_OF_CPU) * f->cpu) ||
        !(f->decode_s > SHARE(DECODE_QUIET) * f->quiet) ||
        !(f->waited < SHARE(DECODE_WAITED) * f->quiet))
        return 0;
    int locked = f->m->contention_count && f->m->contention[0].any_s > f->wall / 2;
    finding_gain(out, 0, fmin(f->decode_s, f->wall),
                 f->unnamed_s > SHARE(UNNAMED_MUCH) * f->decode_s ? "medium" : "high");
    finding_evidence(out, "%s took %s s of %s s of CPU time (%.0f %%)", f->codec,
                     NUMBER(3, f->decode_s), NUMBER(3, f->cpu), 100 * f->decode_s / f->cpu);
    if (f->unnamed_s > SHARE(UNNAMED_SOME) * f->decode_s)
        finding_evidence(out, " (%s s of it in functions without a name, in the codec's library)",
                         NUMBER(3, f->unnamed_s));
    finding_evidence(out, "; reads and writes waited only %s s of the run's %s s. %s",
                     NUMBER(3, f->waited), NUMBER(3, f->wall),
                     locked ? "More threads do not help while they wait for a lock."
                            : "Two threads that decode would save about half of it.");
    for (int i = 0; i < f->m->io.reading_count; i++) {
        const struct model_reading *r = &f->m->io.reading[i];
        if (r->file && r->decode_s > 0)
            finding_line(out, r->file, r->line, MODEL_UNKNOWN, r->decode_s);
    }
    vector_sort(&out->lines, decoding_most_first);
    return 1;
}

static int is_compressed(const char *path)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_has_suffix(path, endings[i]))
            return 1;
    return 0;
}

/* Seconds of decoding what is read from a file, by its share of the bytes: of files whose names say
 * that they are compressed, or else of all that were read. */
static double decoding_of(const struct run_facts *f, const struct model_io_file *file)
{
    double named = 0, all = 0;
    for (int i = 0; i < f->m->io.files_count; i++) {
        double mb = positive_or_0(f->m->io.files[i].read.mb);
        named += is_compressed(f->m->io.files[i].path) ? mb : 0;
        all += mb;
    }
    if (named > 0)
        return is_compressed(file->path) ? f->decode_s * positive_or_0(file->read.mb) / named : 0;
    return all > 0 ? f->decode_s * positive_or_0(file->read.mb) / all : 0;
}

/* Files of which the same bytes are read again, added up: a series or the shards of an array are
 * many files that cost little each. */
struct reread_sum {
    const struct model_io_file *worst;
    double s, most, decoded, mb, unique_mb, read_s, waited_s;
    int files;
};

static struct reread_sum reread_sum(const struct run_facts *f)
{
    struct reread_sum a = {0};
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double decoded = decoding_of(f, file);
        double read_s =
            positive_or_0(file->read.s) - (1 - f->real) * positive_or_0(file->read.waited_s);
        double s = (read_s + decoded) * (1 - 1 / file->reread);
        if (!(file->reread > REREAD_TIMES) || !(s > 0))
            continue;
        a.worst = s > a.most ? file : a.worst;
        a.most = fmax(a.most, s);
        a.s += s;
        a.decoded += decoded;
        a.mb += positive_or_0(file->read.mb);
        a.unique_mb += positive_or_0(file->unique_mb);
        a.read_s += read_s;
        a.waited_s += positive_or_0(file->read.waited_s);
        a.files++;
    }
    return a;
}

static int path_is_own(const struct run_facts *f, const char *path)
{
    const struct model_file *file = path ? hotspots_file(f->m, path) : NULL;
    return file && file->user;
}

/* Puts own lines that read, with all that they call, before the library's own. */
static void reread_own_lines(const struct run_facts *f, const struct model_io_file *file,
                             struct finding *out)
{
    for (int i = 0; i < file->lines_count; i++)
        if (path_is_own(f, file->lines[i].file))
            return;
    for (int i = 0; i < f->m->io.reading_count; i++) {
        const struct model_reading *r = &f->m->io.reading[i];
        if (r->mb >= LINE_READS_MIB && path_is_own(f, r->file))
            finding_line(out, r->file, r->line, (int64_t)r->calls,
                         r->storage_s + r->network_s + r->copy_s);
    }
}

int rule_io_reread(const struct run_facts *f, struct finding *out)
{
    const struct reread_sum a = reread_sum(f);
    if (!a.worst || !(a.mb > REREAD_MIB) || !(a.s > SHARE(REREAD_LEAST) * f->wall))
        return 0;
    int from_start = is_compressed(a.worst->path) &&
                     a.worst->read.sequential_share > SHARE(STREAM_IN_ORDER) &&
                     a.worst->opens >= STREAM_OPENS;
    finding_gain(out, fmin(a.s, f->wall) / 2, fmin(a.s, f->wall), "medium");
    finding_evidence(out, "%.300s", a.worst->path);
    if (a.files > 1)
        finding_evidence(out, " and %d more file%s", a.files - 1, a.files > 2 ? "s" : "");
    finding_evidence(out, ": %s MiB were read, %s MiB of them different: each byte %s times",
                     NUMBER(4, a.mb), NUMBER(4, a.unique_mb), NUMBER(3, a.mb / a.unique_mb));
    if (from_start) {
        out->advice =
            "Decode it once and keep the result, or store it in chunks or uncompressed: a "
            "stream like this can be read from its beginning alone.";
        out->refuted_by = "Refuted if one opening that reads all of it takes as long.";
        finding_evidence(out, ", because each opening begins at the start again: the work grows "
                              "with the square of what is asked for");
    }
    finding_evidence(out, ". Reading took %s s%s%s s.", NUMBER(3, a.read_s),
                     a.decoded > 0 ? ", decoding about " : ", waiting ",
                     NUMBER(3, a.decoded > 0 ? a.decoded : a.waited_s));
    reread_own_lines(f, a.worst, out);
    finding_file(out, a.worst);
    return 1;
}

/* Share of the calls of up to 10 KiB. */
static double small_share(const struct model_io_calls *c)
{
    double few = 0, all = 0;
    for (int i = 0; i < c->sizes_count; i++) {
        all += (double)c->sizes[i];
        few += i <= 2 ? (double)c->sizes[i] : 0;
    }
    return all > 0 ? few / all : 0;
}

/* The number of calls costs, not their bytes. */
int rule_io_small(const struct run_facts *f, struct finding *out)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = positive_or_0(file->read.s) + positive_or_0(file->write.s) +
                   positive_or_0(file->seek_s);
        double slow = positive_or_0(file->read.waited_s) + positive_or_0(file->write.waited_s);
        double mb = positive_or_0(file->read.mb) + positive_or_0(file->write.mb);
        int64_t n = io_call_count(&file->read) + io_call_count(&file->write);
        const struct model_io_calls *c =
            io_call_count(&file->read) > io_call_count(&file->write) ? &file->read : &file->write;
        if (n < SMALL_CALLS || !(s > SHARE(LEAST) * f->wall) || slow > SHARE(SMALL_WAITED) * s ||
            small_share(c) < SHARE(SMALL_OF_CALLS))
            continue;
        finding_gain(out, s / 2, s * 15 / 16, "medium");
        finding_evidence(out,
                         "%.300s: %lld calls of %s KiB each took %s s (%.0f %% of the run), "
                         "only %s s of it waiting. With 64 KiB a call there would be %lld.",
                         file->path, (long long)n, NUMBER(3, 1024 * mb / (double)n), NUMBER(3, s),
                         100 * s / f->wall, NUMBER(3, slow), (long long)(16 * mb) + 1);
        finding_file(out, file);
        return 1;
    }
    return 0;
}

/* Jumps defeat read-ahead. */
int rule_io_jumps(const struct run_facts *f, struct finding *out)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = file->read.waited_s;
        if (!(file->read.sequential_share < SHARE(JUMPS_IN_ORDER)) ||
            io_call_count(&file->read) < JUMPS_CALLS || !(s > SHARE(LEAST) * f->wall))
            continue;
        finding_gain(out, 0.2 * s, 0.6 * s, "medium");
        finding_evidence(
            out,
            "%.300s: %lld of %lld reads jump, by a median of %s MiB; they waited %s s (%.0f %% "
            "of the run).",
            file->path, (long long)(file->read.forward + file->read.back),
            (long long)file->read.calls, NUMBER(3, file->read.jump_mb), NUMBER(3, s),
            100 * s / f->wall);
        finding_file(out, file);
        return 1;
    }
    return 0;
}

int rule_io_open(const struct run_facts *f, struct finding *out)
{
    const struct model_io *io = &f->m->io;
    const struct model_io_file *most = NULL;
    int64_t opens = 0;
    for (int i = 0; i < io->files_count; i++) {
        opens += io->files[i].opens > 0 ? io->files[i].opens / 2 : 0;
        if (io->files[i].open_s > (most ? most->open_s : 0))
            most = &io->files[i];
    }
    if (!(io->open_s > SHARE(LEAST) * f->wall) || !opens)
        return 0;
    finding_gain(out, 0, io->open_s, "medium");
    finding_evidence(out,
                     "About %lld openings took %s s (%.0f %% of the run), %s ms each. With ten "
                     "times as much reading per opening they would take %s %%.",
                     (long long)opens, NUMBER(3, io->open_s), 100 * io->open_s / f->wall,
                     NUMBER(3, 1e3 * io->open_s / (double)opens),
                     NUMBER(2, 100 * io->open_s / (io->open_s + 10 * (f->wall - io->open_s))));
    finding_calls(out, most, "open");
    return 1;
}

int rule_io_sync(const struct run_facts *f, struct finding *out)
{
    const struct model_io *io = &f->m->io;
    const struct model_io_file *most = NULL;
    if (!(io->sync_s > SHARE(LEAST) * f->wall))
        return 0;
    for (int i = 0; i < io->files_count; i++)
        if (io->files[i].sync_s > (most ? most->sync_s : 0))
            most = &io->files[i];
    finding_gain(out, 0, fmin(io->sync_s, f->wall), "medium");
    finding_evidence(out, "fsync and its like took %s s (%.0f %% of the run)",
                     NUMBER(3, io->sync_s), 100 * io->sync_s / f->wall);
    if (most)
        finding_evidence(
            out, ", most of it %.300s: %lld calls, %s ms each, for %s MiB written", most->path,
            (long long)most->syncs,
            NUMBER(3, 1e3 * most->sync_s / (double)(most->syncs > 0 ? most->syncs : 1)),
            NUMBER(4, positive_or_0(most->write.mb)));
    finding_evidence(out, ".");
    finding_calls(out, most, "sync");
    return 1;
}

/* Mapped files are read page by page. */
int rule_io_faults(const struct run_facts *f, struct finding *out)
{
    const struct model_io_file *most = NULL;
    const int64_t faults = f->m->io.major_faults;
    double s = fmin(positive_or_0(f->m->totals.wait.disk), f->wall);
    for (int i = 0; i < f->m->io.files_count; i++)
        if (f->m->io.files[i].touched_mb > (most ? most->touched_mb : FAULTS_MIB))
            most = &f->m->io.files[i];
    if (!most || faults < FAULTS || !(s > SHARE(LEAST) * f->wall))
        return 0;
    finding_gain(out, s / 4, s, "medium");
    finding_evidence(out,
                     "%lld page faults waited for storage, about %s ms each: %s s (%.0f %%) of "
                     "the run. %.300s: %s MiB mapped, at most %s MiB of it touched.",
                     (long long)faults, NUMBER(3, 1e3 * s / (double)faults), NUMBER(3, s),
                     100 * s / f->wall, most->path, NUMBER(4, positive_or_0(most->mapped_mb)),
                     NUMBER(4, most->touched_mb));
    finding_file(out, most);
    return 1;
}

int rule_io_uneven(const struct run_facts *f, struct finding *out)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        const struct model_io_calls *c = &file->read;
        double n = positive_or_0((double)c->calls), waited = positive_or_0((double)c->waited);
        double fast = positive_or_0(c->s) - positive_or_0(c->waited_s);
        if (!file->kind || strcmp(file->kind, "file") || n < UNEVEN_READS ||
            !(c->p95_us > UNEVEN_TIMES * c->p50_us) || !(waited > SHARE(UNEVEN_WAITED) * n) ||
            !(waited < SHARE(100 - UNEVEN_WAITED) * n) ||
            !(f->real * c->waited_s > SHARE(UNEVEN_LEAST) * f->wall))
            continue;
        finding_gain(out, 0, fmin(f->real * c->waited_s, f->wall), "medium");
        finding_evidence(
            out,
            "%.300s: p95 of a read is %s us, %s times the median. %.0f of %.0f "
            "reads waited, %s ms each; the others took %s ms each%s.",
            file->path, NUMBER(3, c->p95_us), NUMBER(3, c->p95_us / c->p50_us), waited, n,
            NUMBER(3, 1e3 * c->waited_s / waited), NUMBER(3, 1e3 * fast / (n - waited)),
            file->cached_share < 0.99 ? "; a part of the file was in the page cache" : "");
        finding_file(out, file);
        return 1;
    }
    return 0;
}
