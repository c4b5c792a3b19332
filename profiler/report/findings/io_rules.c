/* Rules about input and output. Threads' times add up, so that shares of the wall time are upper
 * limits where several threads read at once; each rule says so by its gain, "at most". */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/findings/io_rules.h"

struct io_finder {
    struct model *m;
    struct model_finding *rows;
    int count;
    double decode_s; /* CPU time in codec libraries */
    const char *codec;
};

static double known(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

static int64_t calls(const struct model_io_calls *c)
{
    return c->calls > 0 ? c->calls : 0;
}

static double waited(const struct io_finder *f)
{
    return known(f->m->io.read.waited_s) + known(f->m->io.write.waited_s);
}

struct io_finding {
    const char *id, *severity, *title, *confidence;
    const struct model_io_file *file; /* whose places it shows; NULL none */
};

static enum err finding(struct io_finder *f, const struct io_finding *what, double gain,
                        const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static enum err finding(struct io_finder *f, const struct io_finding *what, double gain,
                        const char *advice, const char *format, ...)
{
    char text[600];
    va_list args;
    if (f->count == IO_RULES_MOST)
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
    row->gain_s = gain;
    row->advice = arena_text(f->m->arena, advice);
    row->evidence = arena_text(f->m->arena, text);
    FAIL_IF(!row->advice || !row->evidence, ERR_MEMORY, "no memory for the findings");
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

/* Functions and libraries that decode, by a part of their name. */
static const char *codec_of(const struct model_frame *f)
{
    static const char *const codecs[][2] = {
        {"libz.", "zlib"},      {"inflate", "zlib"},  {"zlib", "zlib"},
        {"zstd", "zstd"},       {"ZSTD_", "zstd"},    {"HUF_", "zstd"},
        {"lzma", "lzma"},       {"bz2", "bzip2"},     {"blosc", "blosc"},
        {"lz4", "lz4"},         {"LZ4", "lz4"},       {"isal", "ISA-L"},
        {"deflate", "deflate"}, {"jpeg", "JPEG"},     {"openjp2", "JPEG 2000"},
        {"jxr", "JPEG XR"},     {"JXR", "JPEG XR"},   {"imagecodecs", "imagecodecs"},
        {"webp", "WebP"},       {"brotli", "Brotli"}, {"snappy", "Snappy"}};
    const char *module = f->module ? strrchr(f->module, '/') : NULL;
    module = module ? module + 1 : f->module;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if ((f->function && strstr(f->function, codecs[i][0])) ||
            (module && strstr(module, codecs[i][0])))
            return codecs[i][1];
    return NULL;
}

static void find_decoding(struct io_finder *f)
{
    double largest = 0;
    for (int i = 0; i < f->m->stacks_count; i++) {
        const struct model_stack *s = &f->m->stacks[i];
        if (!(s->cpu_ns > 0) || s->frame < 0 || s->frame >= f->m->frames_count)
            continue;
        const char *codec = codec_of(&f->m->frames[s->frame]);
        f->decode_s += codec ? 1e-9 * (double)s->cpu_ns : 0;
        if (codec && (double)s->cpu_ns > largest) {
            largest = (double)s->cpu_ns;
            f->codec = codec;
        }
    }
}

/* D-IO: it waits for storage, and computes little meanwhile. */
static enum err storage(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    double s = waited(f), wall = f->m->meta.wall_s;
    double cpu = f->m->totals.cpu.user + f->m->totals.cpu.sys;
    if (!(s > 0.6 * wall) || !(cpu < 0.4 * wall))
        return ERR_OK;
    const struct model_io_file *file = io->files_count ? &io->files[0] : NULL;
    const struct io_finding what = {"io.storage", "warning", "Storage bound", "medium", file};
    double mb = known(io->read.waited_mb) + known(io->write.waited_mb);
    return finding(
        f, &what, fmin(s, wall - cpu),
        "Ask for more at once (threads that read ahead, larger requests), or move the data to "
        "faster storage. Refuted if a second run, with the files in the page cache, takes as long: "
        "record it again at once and compare the two.",
        "Reads and writes waited %.3g s of %.3g s (%.0f %%) for %.4g MiB, %.3g MiB/s; the CPU "
        "worked %.3g s. Gain: 0 to %.3g s, all of it if the data were in memory.",
        s, wall, 100 * s / wall, mb, mb / s, cpu, fmin(s, wall - cpu));
}

/* D-DEC: codecs take the CPU time, and storage is not what it waits for. */
static enum err decoding(struct io_finder *f)
{
    double cpu = f->m->totals.cpu.user + f->m->totals.cpu.sys, wall = f->m->meta.wall_s;
    if (!(f->decode_s > 0.6 * cpu) || !(f->decode_s > 0.2 * wall) || !(waited(f) < 0.3 * wall))
        return ERR_OK;
    const struct io_finding what = {"io.decode", "warning", "Decoding bound", "high", NULL};
    return finding(f, &what, f->decode_s,
                   "Decode with more threads or processes, or store the data with a faster codec "
                   "or none. Refuted if an uncompressed copy of the file is read as slowly.",
                   "%s took %.3g s of %.3g s of CPU time (%.0f %%); reads and writes waited only "
                   "%.3g s of the run's %.3g s. Gain: %.2g s with two threads that decode, at most "
                   "%.3g s without decoding.",
                   f->codec, f->decode_s, cpu, 100 * f->decode_s / cpu, waited(f), wall,
                   f->decode_s / 2, f->decode_s);
}

static int is_compressed(const char *path)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i]) && !strcmp(path + n - strlen(endings[i]), endings[i]))
            return 1;
    return 0;
}

/* Decoding of what was read again: by the share of a compressed file in all that was read. */
static double decoding_of(const struct io_finder *f, const struct model_io_file *file)
{
    double all = 0;
    for (int i = 0; i < f->m->io.files_count; i++)
        if (is_compressed(f->m->io.files[i].path))
            all += known(f->m->io.files[i].read.mb);
    return is_compressed(file->path) && all > 0 ? f->decode_s * known(file->read.mb) / all : 0;
}

/* IO3, D8: the same bytes are read again and again. */
static enum err reread(struct io_finder *f)
{
    const struct model_io_file *worst = NULL;
    double most = 0, wall = f->m->meta.wall_s;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = (known(file->read.s) + decoding_of(f, file)) * (1 - 1 / file->reread);
        if (file->reread > 1.5 && file->read.mb > 1 && s > most) {
            worst = file;
            most = s;
        }
    }
    if (!worst || !(most > 0.02 * wall))
        return ERR_OK;
    const struct io_finding what = {"io.reread", "warning", "The same bytes are read again",
                                    "medium", worst};
    int64_t opened = worst->opens / 2;
    int from_start = is_compressed(worst->path) && worst->read.sequential_share > 0.9 &&
                     worst->reread > 1.5 && opened >= 3;
    double decoded = decoding_of(f, worst);
    return finding(
        f, &what, most,
        from_start ? "Decode it once and keep the result, or store it in chunks or uncompressed: a "
                     "stream like this can be read from its beginning alone. Refuted if one "
                     "opening that reads all of it takes as long."
                   : "Read larger parts once and keep them, or choose chunks that fit what is "
                     "asked for. Refuted if the file was changed in between, or if a run that "
                     "keeps what it read takes as long.",
        "%.300s: %.4g MiB were read, %.4g MiB of them different: each byte %.2g times%s. Reading "
        "took %.3g s%s%.3g s. Gain: %.2g to %.3g s.",
        worst->path, worst->read.mb, worst->unique_mb, worst->reread,
        from_start ? ", because each opening begins at the start again: the work grows with the "
                     "square of what is asked for"
                   : "",
        worst->read.s, decoded > 0 ? ", decoding about " : ", waiting ",
        decoded > 0 ? decoded : worst->read.waited_s, most / 2, most);
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
    double wall = f->m->meta.wall_s;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        double s = known(file->read.s) + known(file->write.s) + known(file->seek_s);
        double slow = known(file->read.waited_s) + known(file->write.waited_s);
        int64_t n = calls(&file->read) + calls(&file->write);
        const struct model_io_calls *c =
            calls(&file->read) > calls(&file->write) ? &file->read : &file->write;
        if (n < 1000 || !(s > 0.05 * wall) || slow > 0.8 * s || share_up_to(c, 2) < 0.5)
            continue;
        const struct io_finding what = {"io.small", "warning", "Many small reads or writes",
                                        "medium", file};
        return finding(
            f, &what, s * 15 / 16,
            "Read or write through a buffer of 64 KiB to 1 MiB. Refuted if a run with "
            "such a buffer (buffering= in Python, setvbuf in C) takes as long.",
            "%.300s: %lld calls of %.3g KiB each took %.3g s (%.0f %% of the run), only "
            "%.3g s of it waiting. With 64 KiB a call there would be %lld. Gain: %.2g to "
            "%.3g s.",
            file->path, (long long)n,
            1024 * (known(file->read.mb) + known(file->write.mb)) / (double)n, s, 100 * s / wall,
            slow, (long long)(16 * (file->read.mb + file->write.mb)) + 1, s / 2, s * 15 / 16);
    }
    return ERR_OK;
}

/* IO2: jumps defeat read-ahead. */
static enum err jumps(struct io_finder *f)
{
    double wall = f->m->meta.wall_s;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        if (!(file->read.sequential_share < 0.5) || calls(&file->read) < 1000 ||
            !(file->read.waited_s > 0.05 * wall))
            continue;
        const struct io_finding what = {"io.jumps", "warning", "Reads jump in the file", "medium",
                                        file};
        double s = file->read.waited_s;
        return finding(
            f, &what, 0.6 * s,
            "Sort what is read by its offset, or read neighbours in one call. Refuted if "
            "reads that go on from the one before wait as long as those that jump.",
            "%.300s: %lld of %lld reads jump, by %.3g MiB in the middle; they waited %.3g "
            "s (%.0f %% of the run). Gain: %.2g to %.2g s.",
            file->path, (long long)(file->read.forward + file->read.back),
            (long long)file->read.calls, file->read.jump_mb, s, 100 * s / wall, 0.2 * s, 0.6 * s);
    }
    return ERR_OK;
}

/* IO6, IO7: opening files, and making them safe. */
static enum err opening(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    const struct io_finding open = {"io.open", "warning", "Much time goes to opening files",
                                    "medium", NULL};
    const struct io_finding sync = {"io.sync", "warning", "The program waits until data is on disk",
                                    "medium", NULL};
    double wall = f->m->meta.wall_s;
    int64_t opens = 0;
    for (int i = 0; i < io->files_count; i++)
        opens += io->files[i].opens > 0 ? io->files[i].opens / 2 : 0;
    if (io->open_s > 0.05 * wall && opens > 100)
        TRY(finding(f, &open, io->open_s,
                    "Keep files open, or put many small files into one. Refuted if only the first "
                    "opening is slow (a mount that wakes up).",
                    "About %lld openings took %.3g s (%.0f %% of the run). Gain: 0 to %.3g s.",
                    (long long)opens, io->open_s, 100 * io->open_s / wall, io->open_s));
    if (io->sync_s > 0.05 * wall)
        TRY(finding(f, &sync, io->sync_s,
                    "Sync once at the end, where that is safe enough. Refuted if each of them has "
                    "to be durable: then this is its price.",
                    "fsync and its like took %.3g s (%.0f %% of the run). Gain: 0 to %.3g s.",
                    io->sync_s, 100 * io->sync_s / wall, io->sync_s));
    return ERR_OK;
}

/* D9: each request waits for its answer before the next. */
static enum err requests(struct io_finder *f)
{
    double wall = f->m->meta.wall_s;
    for (int i = 0; i < f->m->io.endpoints_count; i++) {
        const struct model_io_file *e = &f->m->io.endpoints[i];
        double s = 1e-3 * known(e->first_byte_ms) * (double)e->requests;
        if (e->requests < 10 || !(e->first_byte_ms > 20) || !(s > 0.05 * wall) ||
            !(e->read.mb < (double)e->requests))
            continue;
        const struct io_finding what = {"io.requests", "warning",
                                        "Requests wait one after the other", "medium", e};
        return finding(
            f, &what, s * 7 / 8,
            "Ask for more in one request, or send requests without waiting for the last "
            "answer. Refuted if eight at a time take as long: then the server limits.",
            "%.200s: %lld requests over %lld connections, %.3g ms to the first byte, %.3g "
            "KiB each: %.3g s (%.0f %% of the run). Gain: %.2g to %.3g s with 2 to 8 at a "
            "time.",
            e->path, (long long)e->requests, (long long)e->connects, e->first_byte_ms,
            1024 * e->read.mb / (double)e->requests, s, 100 * s / wall, s / 2, s * 7 / 8);
    }
    return ERR_OK;
}

/* The line that reads and takes most of the run, with all that it calls. */
static const struct model_line *reading_line(const struct io_finder *f, const char **path)
{
    const struct model_line *most = NULL;
    double largest = 0;
    for (int i = 0; i < f->m->files_count; i++)
        for (int k = 0; k < f->m->files[i].lines_count; k++) {
            const struct model_line *l = &f->m->files[i].lines[k];
            double s = known(l->cpu_incl.user) + known(l->cpu_incl.sys) + known(l->cpu_incl.wait);
            if (!l->io || !(l->io->read_mb > 0) || s <= largest)
                continue;
            largest = s;
            most = l;
            *path = f->m->files[i].path;
        }
    return most;
}

/* A line that reads takes the run, but storage does not: what "read" hides. Seeks of a slow disk (5
 * to 15 ms) bound what the jumps could cost. */
static enum err not_storage(struct io_finder *f)
{
    const char *path = NULL;
    const struct model_line *l = reading_line(f, &path);
    double wall = f->m->meta.wall_s;
    if (!l)
        return ERR_OK;
    double cpu = known(l->cpu_incl.user) + known(l->cpu_incl.sys), wait = known(l->cpu_incl.wait);
    double s = cpu + wait, storage_s = known(l->io->waited_s), jumped = 0;
    if (!(s > 0.5 * wall) || !(storage_s < 0.2 * s))
        return ERR_OK;
    const struct model_io_file *file = NULL;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *g = &f->m->io.files[i];
        jumped += known((double)g->read.forward) + known((double)g->read.back);
        if (!file || known(g->read.mb) > known(file->read.mb))
            file = g;
    }
    const struct io_finding what = {"io.not_storage", "warning",
                                    "Decode or lock bound, not storage",
                                    f->decode_s > 0.3 * s ? "high" : "medium", file};
    return finding(
        f, &what, s - storage_s,
        "Look at what the line calls: a codec, a lock (the GIL), a conversion. Refuted if the same "
        "calls on a file in /dev/shm are much faster.",
        "%.200s:%lld reads %.4g MiB and takes %.3g of the run's %.3g s, but its reads waited only "
        "%.3g s (%.0f %%). %.0f jumps of 5 to 15 ms on a slow disk would take %.3g to %.3g s: "
        "seeks "
        "explain %.1f %% at most. CPU time of the line: %.3g s%s. Gain: 0 to %.3g s.",
        path, (long long)l->line, l->io->read_mb, s, wall, storage_s, 100 * storage_s / s, jumped,
        0.005 * jumped, 0.015 * jumped, 100 * fmin(1, 0.015 * jumped / wall), cpu,
        f->decode_s > 0.3 * cpu ? ", most of it a codec's" : "", s - storage_s);
}

enum err io_rules(struct model *m, struct model_finding *rows, int *count)
{
    static enum err (*const rules[])(struct io_finder *) = {
        storage, decoding, reread, small, jumps, opening, requests, not_storage};
    struct io_finder f = {.m = m, .rows = rows};
    *count = 0;
    if (!isfinite(m->io.read.s) || !(m->meta.wall_s > 0))
        return ERR_OK;
    find_decoding(&f);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        TRY(rules[i](&f));
    *count = f.count;
    return ERR_OK;
}
