/* Rules about input and output: what storage, requests, repeated reading and decoding cost.
 * Threads' times add up, so that shares of the wall time are upper limits where several threads
 * read at once. Gains are ranges: by Amdahl's law at most all of the part is saved. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
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
            out,
            "the busiest disk %.30s: %.3g ms a read, %.3g reads/s, busy %.0f %% of the time%s.",
            d->name, positive_or_0(d->read_wait_ms), positive_or_0(d->reads_per_s),
            100 * positive_or_0(d->busy),
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
    finding_evidence(out, "Reads and writes waited %.3g s", s);
    if (f->real < SHARE(REAL_WAITS))
        finding_evidence(out, " (without %.3g s in which it waited for a CPU)",
                         s * (1 / f->real - 1));
    finding_evidence(out, " of %.3g s (%.0f %%) for %.4g MiB, %.3g MiB/s; the CPU worked %.3g s; ",
                     f->wall, 100 * s / f->wall, f->waited_mb, f->waited_mb / s, f->cpu);
    disk_evidence(io, out);
    finding_file(out, io->files_count ? &io->files[0] : NULL);
    return 1;
}

int rule_io_decode(const struct run_facts *f, struct finding *out)
{
    if (!(f->decode_s > SHARE(DECODE_OF_CPU) * f->cpu) ||
        !(f->decode_s > SHARE(DECODE_QUIET) * f->quiet) ||
        !(f->waited < SHARE(DECODE_WAITED) * f->quiet))
        return 0;
    int locked = f->m->contention_count && f->m->contention[0].any_s > f->wall / 2;
    finding_gain(out, 0, fmin(f->decode_s, f->wall),
                 f->unnamed_s > SHARE(UNNAMED_MUCH) * f->decode_s ? "medium" : "high");
    finding_evidence(out, "%s took %.3g s of %.3g s of CPU time (%.0f %%)", f->codec, f->decode_s,
                     f->cpu, 100 * f->decode_s / f->cpu);
    if (f->unnamed_s > SHARE(UNNAMED_SOME) * f->decode_s)
        finding_evidence(out, " (%.3g s of it in functions without a name, in the codec's library)",
                         f->unnamed_s);
    finding_evidence(out, "; reads and writes waited only %.3g s of the run's %.3g s. %s",
                     f->waited, f->wall,
                     locked ? "More threads do not help while they wait for a lock."
                            : "Two threads that decode would save about half of it.");
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
    finding_evidence(out, ": %.4g MiB were read, %.4g MiB of them different: each byte %.3g times",
                     a.mb, a.unique_mb, a.mb / a.unique_mb);
    if (from_start) {
        out->advice =
            "Decode it once and keep the result, or store it in chunks or uncompressed: a "
            "stream like this can be read from its beginning alone.";
        out->refuted_by = "Refuted if one opening that reads all of it takes as long.";
        finding_evidence(out, ", because each opening begins at the start again: the work grows "
                              "with the square of what is asked for");
    }
    finding_evidence(out, ". Reading took %.3g s%s%.3g s.", a.read_s,
                     a.decoded > 0 ? ", decoding about " : ", waiting ",
                     a.decoded > 0 ? a.decoded : a.waited_s);
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
                         "%.300s: %lld calls of %.3g KiB each took %.3g s (%.0f %% of the run), "
                         "only %.3g s of it waiting. With 64 KiB a call there would be %lld.",
                         file->path, (long long)n, 1024 * mb / (double)n, s, 100 * s / f->wall,
                         slow, (long long)(16 * mb) + 1);
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
            "%.300s: %lld of %lld reads jump, by a median of %.3g MiB; they waited %.3g s (%.0f %% "
            "of the run).",
            file->path, (long long)(file->read.forward + file->read.back),
            (long long)file->read.calls, file->read.jump_mb, s, 100 * s / f->wall);
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
                     "About %lld openings took %.3g s (%.0f %% of the run), %.3g ms each. With ten "
                     "times as much reading per opening they would take %.2g %%.",
                     (long long)opens, io->open_s, 100 * io->open_s / f->wall,
                     1e3 * io->open_s / (double)opens,
                     100 * io->open_s / (io->open_s + 10 * (f->wall - io->open_s)));
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
    finding_evidence(out, "fsync and its like took %.3g s (%.0f %% of the run)", io->sync_s,
                     100 * io->sync_s / f->wall);
    if (most)
        finding_evidence(out, ", most of it %.300s: %lld calls, %.3g ms each, for %.4g MiB written",
                         most->path, (long long)most->syncs,
                         1e3 * most->sync_s / (double)(most->syncs > 0 ? most->syncs : 1),
                         positive_or_0(most->write.mb));
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
                     "%lld page faults waited for storage, about %.3g ms each: %.3g s (%.0f %%) of "
                     "the run. %.300s: %.4g MiB mapped, at most %.4g MiB of it touched.",
                     (long long)faults, 1e3 * s / (double)faults, s, 100 * s / f->wall, most->path,
                     positive_or_0(most->mapped_mb), most->touched_mb);
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
        finding_evidence(out,
                         "%.300s: p95 of a read is %.3g us, %.3g times the median. %.0f of %.0f "
                         "reads waited, %.3g ms each; the others took %.3g ms each%s.",
                         file->path, c->p95_us, c->p95_us / c->p50_us, waited, n,
                         1e3 * c->waited_s / waited, 1e3 * fast / (n - waited),
                         file->cached_share < 0.99 ? "; a part of the file was in the page cache"
                                                   : "");
        finding_file(out, file);
        return 1;
    }
    return 0;
}
