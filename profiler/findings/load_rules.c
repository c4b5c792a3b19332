/* Rules about loaders: requests, lines that read, placing, processes, slow parts, memory. */
#include <string.h>

#include "base/text.h"
#include "profiler/findings/rules.h"

int rule_io_network(const struct run_facts *f, struct finding *out)
{
    const struct model_io_file *worst = NULL;
    for (int i = 0; i < f->m->io.endpoints_count; i++) {
        const struct model_io_file *e = &f->m->io.endpoints[i];
        if (e->connects > 0 && (!worst || e->read.waited_s > worst->read.waited_s))
            worst = e;
    }
    if (!worst || !(f->network > SHARE(NETWORK_WAITED) * f->quiet) ||
        !(f->cpu < SHARE(NETWORK_CPU) * f->quiet))
        return 0;
    finding_gain(out, 0, fmax(0, fmin(f->network, f->wall - f->cpu)), "medium");
    finding_evidence(out,
                     "Connections waited %s s of %s s (%.0f %%), most of it %.200s: %s MiB "
                     "read, %lld requests, %s ms to the first byte; the CPU worked %s s.",
                     NUMBER(3, f->network), NUMBER(3, f->wall), 100 * f->network / f->wall,
                     worst->path, NUMBER(4, positive_or_0(worst->read.mb)),
                     (long long)(worst->requests > 0 ? worst->requests : 0),
                     NUMBER(3, positive_or_0(worst->first_byte_ms)), NUMBER(3, f->cpu));
    finding_file(out, worst);
    return 1;
}

/* A server that waits for its clients; the daemons of MPI, which ranks talk to as they start. */
static int waits_for_clients(const struct model *m, const struct model_io_file *e)
{
    const int ranks = m->mpi.size != MODEL_UNKNOWN;
    return e->path && (!strncmp(e->path, "clients of", 10) ||
                       (ranks && !strncmp(e->path, "127.0.0.1:", 10) && e->read.mb < 1));
}

/* Each request waits for its answer before the next. */
int rule_io_requests(const struct run_facts *f, struct finding *out)
{
    for (int i = 0; i < f->m->io.endpoints_count; i++) {
        const struct model_io_file *e = &f->m->io.endpoints[i];
        double depth = e->in_flight > 1 ? e->in_flight : 1;
        double s = 1e-3 * positive_or_0(e->first_byte_ms) * (double)e->requests / depth;
        if (waits_for_clients(f->m, e) || e->requests < REQUESTS ||
            !(e->first_byte_ms > REQUEST_MS) || !(s > SHARE(LEAST) * f->wall) ||
            !(e->read.mb < REQUEST_MIB * (double)e->requests))
            continue;
        finding_gain(out, s / 2, s * 7 / 8, "medium");
        if (e->connects > e->requests / 2)
            out->advice = "Keep connections open between requests. Ask for more in one request, or "
                          "send requests without waiting for the last answer.";
        finding_evidence(
            out,
            "%.200s: %lld requests over %lld connections (%s each), %s ms to the first byte, "
            "%s KiB each, %s at a time: %s s (%.0f %% of the run). The gain is estimated for "
            "2 to 8 times as many at a time.",
            e->path, (long long)e->requests, (long long)e->connects,
            NUMBER(3, (double)e->requests / (double)(e->connects > 0 ? e->connects : 1)),
            NUMBER(3, e->first_byte_ms), NUMBER(3, 1024 * e->read.mb / (double)e->requests),
            NUMBER(2, depth), NUMBER(3, s), 100 * s / f->wall);
        finding_file(out, e);
        return 1;
    }
    return 0;
}

static double line_taken(const struct model_line *l)
{
    return positive_or_0(l->cpu_incl.user) + positive_or_0(l->cpu_incl.sys) +
           positive_or_0(l->cpu_incl.wait);
}

/* A line that reads, and what it reads with all that it calls. */
struct line_reads {
    const char *path;
    const struct model_line *line;
    double mb, waited;
};

/* Own lines; where the recording names none, lines that read themselves. */
static struct line_reads line_reads_of(const struct run_facts *f, const char *path,
                                       const struct model_line *l)
{
    struct line_reads reads = {path, l, 0, 0};
    if (l->io && !f->m->io.reading_count) {
        reads.mb = positive_or_0(l->io->read_mb);
        reads.waited = f->real * positive_or_0(l->io->waited_s);
    }
    for (int n = 0; n < f->m->io.reading_count; n++) {
        const struct model_reading *r = &f->m->io.reading[n];
        if (r->line == l->line && r->file && !strcmp(r->file, path)) {
            reads.mb = positive_or_0(r->mb);
            reads.waited = positive_or_0(r->storage_s) + positive_or_0(r->network_s);
        }
    }
    return reads;
}

/* The line that reads and takes most of the run. */
static struct line_reads line_reads_most(const struct run_facts *f)
{
    struct line_reads most = {0};
    for (int i = 0; i < f->m->files_count; i++)
        for (int k = 0; k < f->m->files[i].lines_count; k++) {
            const struct model_file *file = &f->m->files[i];
            const struct line_reads reads = line_reads_of(f, file->path, &file->lines[k]);
            if (reads.mb >= LINE_READS_MIB &&
                (!most.line || line_taken(reads.line) > line_taken(most.line)))
                most = reads;
        }
    return most;
}

/* A line that reads takes the run, but storage does not: what "read" hides. Seeks of a slow disk (5
 * to 15 ms) bound what the jumps could cost. */
int rule_io_not_storage(const struct run_facts *f, struct finding *out)
{
    const struct line_reads r = line_reads_most(f);
    if (!r.line)
        return 0;
    double cpu = positive_or_0(r.line->cpu_incl.user) + positive_or_0(r.line->cpu_incl.sys);
    double s = line_taken(r.line), jumped = 0;
    if (!(s > SHARE(LINE_OF_RUN) * f->wall) || !(r.waited < SHARE(LINE_WAITED) * s))
        return 0;
    const struct model_io_file *file = NULL;
    for (int i = 0; i < f->m->io.files_count; i++) {
        const struct model_io_file *g = &f->m->io.files[i];
        jumped += positive_or_0((double)g->read.forward) + positive_or_0((double)g->read.back);
        if (!file || positive_or_0(g->read.mb) > positive_or_0(file->read.mb))
            file = g;
    }
    finding_gain(out, 0, fmin(s - r.waited, f->wall),
                 f->decode_s > SHARE(LINE_DECODES) * s ? "high" : "medium");
    finding_evidence(out,
                     "%.200s:%lld reads %s MiB and takes %s of the run's %s s, but its reads "
                     "waited only %s s (%.0f %%). %.0f jumps of 5 to 15 ms on a slow disk would "
                     "take %s to %s s, and never more than reads waited: seeks explain %.1f %% "
                     "at most. CPU time of the line: %s s%s.",
                     r.path, (long long)r.line->line, NUMBER(4, r.mb), NUMBER(3, s),
                     NUMBER(3, f->wall), NUMBER(3, r.waited), 100 * r.waited / s, jumped,
                     NUMBER(3, 0.005 * jumped), NUMBER(3, 0.015 * jumped),
                     100 * fmin(r.waited, 0.015 * jumped) / f->wall, NUMBER(3, cpu),
                     f->decode_s > SHARE(LINE_DECODES) * cpu ? ", most of it a codec's" : "");
    finding_file(out, file);
    return 1;
}

/* Bytes are moved about in memory for longer than they are read. */
int rule_io_placing(const struct run_facts *f, struct finding *out)
{
    double place = 0, convert = 0, read = 0;
    for (int i = 0; i < f->m->io.reading_count; i++) {
        const struct model_reading *r = &f->m->io.reading[i];
        if (!(r->mb >= LINE_READS_MIB) && !(r->decode_s > 0))
            continue; /* the CPU time of a pool that reads next to nothing is not of what it reads */
        place += positive_or_0(r->place_s);
        convert += positive_or_0(r->convert_s);
        read += positive_or_0(r->storage_s) + positive_or_0(r->network_s) +
                positive_or_0(r->copy_s) + positive_or_0(r->decode_s);
    }
    double s = place + convert;
    if (!(s > read) || !(s > SHARE(PLACING_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, fmin(s, f->wall), "medium");
    finding_evidence(
        out,
        "Lines that read spent %s s on copies within memory and %s s on changes of type, %s "
        "s on reading and decoding. Page faults that waited for storage: %lld%s.",
        NUMBER(3, place), NUMBER(3, convert), NUMBER(3, read), (long long)f->m->io.major_faults,
        f->m->io.major_faults > FAULTS_MANY ? " (memory may be short: see vmstat's si)" : "");
    return 1;
}

/* CPU seconds of starting interpreters and importing. */
static double start_s(const struct model *m)
{
    double start = imports_s(m);
    for (int i = 0; i < m->unattributed_count; i++)
        if (m->unattributed[i].module && !strcmp(m->unattributed[i].module, "[start-up]"))
            start += positive_or_0(m->unattributed[i].cpu.user) +
                     positive_or_0(m->unattributed[i].cpu.sys);
    return start;
}

/* Processes cost their start, their imports, and what is sent between them. */
int rule_io_processes(const struct run_facts *f, struct finding *out)
{
    const struct model *m = f->m;
    double start = start_s(m), pipes = 0;
    int n = 0;
    for (int i = 0; i < m->processes_count; i++)
        n += m->processes[i].parent > 0 && m->processes[i].python != NULL;
    for (int i = 0; i < m->io.files_count; i++)
        if (m->io.files[i].kind && !strcmp(m->io.files[i].kind, "pipe"))
            pipes += positive_or_0(m->io.files[i].read.mb);
    for (int i = 0; i < m->io.endpoints_count; i++)
        if (m->io.endpoints[i].path && !strchr(m->io.endpoints[i].path, ':'))
            pipes += positive_or_0(m->io.endpoints[i].read.mb); /* sockets of this machine */
    if (n < PROCESSES || !(start > SHARE(PROCESSES_OF_CPU) * f->cpu) ||
        !(start > SHARE(LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, fmin(start * (n - 1) / n, f->wall), "medium");
    finding_evidence(out,
                     "%d processes: start-up and imports took %s s of %s s of CPU time; %s "
                     "MiB came through pipes and local sockets.",
                     n, NUMBER(3, start), NUMBER(3, f->cpu), NUMBER(3, pipes));
    return 1;
}

/* 1: half of it or more was spent on a CPU: it computes, which is not the storage's fault. */
static int part_computes(const struct model_range *r)
{
    return r->cpu_s >= 0.5 * r->time.total_s;
}

/* Ranges of the program (NVTX) in which a tile takes long. */
int rule_io_slow_part(const struct run_facts *f, struct finding *out)
{
    const struct model_range *worst = NULL;
    for (int i = 0; i < f->m->ranges_count; i++) {
        const struct model_range *r = &f->m->ranges[i];
        if (r->time.n >= PART_CALLS && r->time.median_s > PART_SLOW_S && !(r->gpu_n > 0) &&
            !part_computes(r) && (!worst || r->time.total_s > worst->time.total_s))
            worst = r;
    }
    if (!worst || !(f->m->io.read.mb > PART_READ_MIB))
        return 0;
    const struct model_stat *t = &worst->time;
    finding_gain(out, 0, fmin(positive_or_0(t->total_s - PART_SLOW_S * (double)t->n), f->wall),
                 "low");
    finding_evidence(out,
                     "%.100s ran %lld times, median %s s, longest %s s; CPU time %s s "
                     "of %s s. More than " AS_TEXT(PART_SLOW_S) " s for a tile is slow.",
                     worst->name, (long long)t->n, NUMBER(3, t->median_s), NUMBER(3, t->max_s),
                     NUMBER(3, worst->cpu_s), NUMBER(3, t->total_s));
    return 1;
}

/* Memory grows far beyond what is read. */
int rule_io_memory(const struct run_facts *f, struct finding *out)
{
    const struct model *m = f->m;
    double first = 0, most = positive_or_0(m->totals.peak_rss_mb), read = 0;
    for (int i = 0; i < m->memory.series_count; i++)
        if (m->memory.series[i].rss_mb_count)
            first += positive_or_0(m->memory.series[i].rss_mb[0]);
    for (int i = 0; i < m->io.files_count; i++)
        read += positive_or_0(m->io.files[i].unique_mb) + positive_or_0(m->io.files[i].touched_mb);
    double grown = most - first;
    if (!(grown > MEMORY_MIB) || !(grown > MEMORY_TIMES * read) || !(read > MEMORY_READ_MIB))
        return 0;
    finding_gain(out, (double)NAN, (double)NAN, "low");
    finding_evidence(out,
                     "Resident memory grew by %s MiB to %s MiB in %d processes with %d threads, "
                     "while %s MiB of files were read.",
                     NUMBER(4, grown), NUMBER(4, most), m->processes_count, m->threads_count,
                     NUMBER(4, read));
    return 1;
}
