/* Rules D1 and D3 to D6 of loading: placing, processes, slow parts, memory, uneven requests. */
#include <string.h>

#include "profiler/findings/io_finder.h"
#include "profiler/findings/io_rules.h"

#define SLOW_S      0.1 /* of one tile */
#define UNEVEN      1.5 /* p95 over p50 */
#define WORTH       0.05
#define MANY_FAULTS 1000

/* D1: moving bytes about in memory takes longer than reading them. */
static enum err placing(struct io_finder *f)
{
    double place = 0, convert = 0, read = 0;
    for (int i = 0; i < f->m->io.reading_count; i++) {
        const struct model_reading *r = &f->m->io.reading[i];
        place += io_known(r->place_s);
        convert += io_known(r->convert_s);
        read += io_known(r->storage_s) + io_known(r->network_s) + io_known(r->copy_s) +
                io_known(r->decode_s);
    }
    double s = place + convert;
    if (!(s > read) || !(s > 2 * WORTH * f->wall))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.placing",
        .severity = "warning",
        .title = "Placing takes longer than reading",
        .confidence = "medium",
        .gain = fmin(s, f->wall),
        .gain_low = 0,
        .advice = "Read into the array that is used (readinto, out=), in its type and order.",
        .refuted_by = "Refuted if a run without the copies takes as long.",
        .test = "Leave out the copies and conversions, then: %s."};
    return io_found(f, &what,
                    "Lines that read spent %.3g s on copies within memory and %.3g s on changes of "
                    "type, %.3g s on reading and decoding. Page faults that waited for storage: "
                    "%lld%s.",
                    place, convert, read, (long long)f->m->io.major_faults,
                    f->m->io.major_faults > MANY_FAULTS ? " (memory may be short: see vmstat's si)"
                                                        : "");
}

/* D3: processes cost their start, their imports, and what is sent between them. */
static enum err processes(struct io_finder *f)
{
    const struct model *m = f->m;
    double start = 0, pipes = 0;
    int n = 0;
    for (int i = 0; i < m->processes_count; i++)
        n += m->processes[i].parent > 0 && m->processes[i].python != NULL;
    for (int i = 0; i < m->own_count; i++)
        if (m->own[i].kind && !strcmp(m->own[i].kind, "import"))
            start += 1e-9 * io_known((double)m->own[i].cpu_ns);
    for (int i = 0; i < m->unattributed_count; i++)
        if (m->unattributed[i].module && !strcmp(m->unattributed[i].module, "[start-up]"))
            start += io_known(m->unattributed[i].cpu.user) + io_known(m->unattributed[i].cpu.sys);
    for (int i = 0; i < m->io.files_count; i++)
        if (m->io.files[i].kind && !strcmp(m->io.files[i].kind, "pipe"))
            pipes += io_known(m->io.files[i].read.mb);
    for (int i = 0; i < m->io.endpoints_count; i++)
        if (m->io.endpoints[i].path && !strchr(m->io.endpoints[i].path, ':'))
            pipes += io_known(m->io.endpoints[i].read.mb); /* sockets of this machine */
    if (n < 3 || !(start > 0.2 * f->cpu) || !(start > WORTH * f->wall))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.processes",
        .severity = "warning",
        .title = "Starting processes costs much of the work",
        .confidence = "medium",
        .gain = fmin(start * (n - 1) / n, f->wall),
        .gain_low = 0,
        .advice = "Keep the processes and give each at least 50 tiles at a time, or use threads "
                  "where the reader releases the GIL. Return results through shared memory.",
        .refuted_by = "Refuted if ten times as many tiles need nearly ten times as long.",
        .test = "Ten times the tiles: %s; tomoprof compare RUN1 RUN2."};
    return io_found(f, &what,
                    "%d processes: start-up and imports took %.3g s of %.3g s of CPU time; %.3g "
                    "MiB came through pipes and local sockets.",
                    n, start, f->cpu, pipes);
}

/* D4: ranges of the program (NVTX) in which a tile takes long. */
static enum err slow_parts(struct io_finder *f)
{
    const struct model_range *worst = NULL;
    for (int i = 0; i < f->m->ranges_count; i++) {
        const struct model_range *r = &f->m->ranges[i];
        if (r->time.n >= 5 && r->time.median_s > SLOW_S && !(r->gpu_n > 0) &&
            (!worst || r->time.total_s > worst->time.total_s))
            worst = r;
    }
    if (!worst || !(f->m->io.read.mb > 1))
        return ERR_OK;
    double excess = worst->time.total_s - SLOW_S * (double)worst->time.n;
    const struct io_finding what = {
        .id = "io.slow_part",
        .severity = "info",
        .title = "Each part takes long",
        .confidence = "low",
        .gain = fmin(io_known(excess), f->wall),
        .gain_low = 0,
        .advice = "See which finding names its time: storage, decoding or a lock. Smaller chunks "
                  "or a faster codec help where decoding leads.",
        .refuted_by = "Refuted if a second run, with the files in the page cache, is below 0.1 s a "
                      "part.",
        .test = "Record it again at once: %s."};
    return io_found(f, &what,
                    "%.100s ran %lld times, median %.3g s, longest %.3g s; CPU time %.3g s "
                    "of %.3g s. More than 0.1 s for a tile is slow.",
                    worst->name, (long long)worst->time.n, worst->time.median_s, worst->time.max_s,
                    worst->cpu_s, worst->time.total_s);
}

/* D5: memory grows far beyond what is read. */
static enum err memory(struct io_finder *f)
{
    const struct model *m = f->m;
    double first = 0, most = io_known(m->totals.peak_rss_mb), read = 0;
    for (int i = 0; i < m->memory.series_count; i++)
        if (m->memory.series[i].rss_mb_count)
            first += io_known(m->memory.series[i].rss_mb[0]);
    for (int i = 0; i < m->io.files_count; i++)
        read += io_known(m->io.files[i].unique_mb) + io_known(m->io.files[i].touched_mb);
    double grown = most - first;
    if (!(grown > 1024) || !(grown > 4 * read) || !(read > 16))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.memory",
        .severity = "warning",
        .title = "Loading needs much more memory than it reads",
        .confidence = "low",
        .gain = (double)NAN,
        .gain_low = (double)NAN,
        .advice = "Memory is about workers x batch x size of a decoded tile: use 2 to 4 workers, "
                  "batches of 10 to 25, and drop tiles that were placed.",
        .refuted_by = "Refuted if half as many workers need as much memory.",
        .test = "Half the workers: %s; compare the Memory tabs."};
    return io_found(f, &what,
                    "Resident memory grew by %.4g MiB to %.4g MiB in %d processes with %d threads, "
                    "while %.4g MiB of files were read.",
                    grown, most, m->processes_count, m->threads_count, read);
}

/* D6: some requests wait and some do not. */
static enum err uneven(struct io_finder *f)
{
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *file = &f->m->io.files[i];
        const struct model_io_calls *c = &file->read;
        double n = io_known((double)c->calls), waited = io_known((double)c->waited);
        double fast = io_known(c->s) - io_known(c->waited_s);
        if (!file->kind || strcmp(file->kind, "file") || n < 20 ||
            !(c->p95_us > UNEVEN * c->p50_us) || !(waited > 0.02 * n) || !(waited < 0.98 * n) ||
            !(f->real * c->waited_s > 2 * WORTH * f->wall))
            continue;
        const struct io_finding what = {
            .id = "io.uneven",
            .severity = "info",
            .title = "Some reads wait and some do not",
            .confidence = "medium",
            .file = file,
            .gain = fmin(f->real * c->waited_s, f->wall),
            .gain_low = 0,
            .advice = "Compare runs of the same cache state only. Read ahead what is read next.",
            .refuted_by = "Refuted if a run with the whole file in the page cache differs as "
                          "much.",
            .test = "Read the file once (cat FILE > /dev/null), then: %s."};
        return io_found(f, &what,
                        "%.300s: p95 of a read is %.3g us, %.3g times the median. %.0f of %.0f "
                        "reads waited, %.3g ms each; the others took %.3g ms each%s.",
                        file->path, c->p95_us, c->p95_us / c->p50_us, waited, n,
                        1e3 * c->waited_s / waited, 1e3 * fast / (n - waited),
                        file->cached_share < 0.99 ? "; a part of the file was in the page cache"
                                                  : "");
    }
    return ERR_OK;
}

enum err load_rules(struct io_finder *f)
{
    TRY(placing(f));
    TRY(processes(f));
    TRY(slow_parts(f));
    TRY(memory(f));
    return uneven(f);
}
