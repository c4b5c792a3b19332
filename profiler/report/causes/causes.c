/* From the model of a recording to the model of its root causes. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rootcause/rootcause.h"
#include "profiler/report/causes/causes.h"

#define SAME 0.02 /* bytes that were seen against those that the kernel counted */

/* Rules by the names of docs/internals/report.md, and the rough effort of their advice in days. */
static const struct {
    const char *id, *rule;
    double effort_days;
} rules[] = {
    {"io.storage", "D-IO", 1},
    {"io.decode", "D-DEC", 1},
    {"io.not_storage", "D-DEC?", 1},
    {"io.placing", "D1", 1},
    {"io.processes", "D3", 0.1},
    {"io.slow_part", "D4", 1},
    {"io.memory", "D5", 0.1},
    {"io.uneven", "D6", 0.1},
    {"io.open", "D7", 1},
    {"io.reread", "D8", 1},
    {"io.requests", "D9", 0.1},
    {"io.network", "D-IO", 1},
    {"io.small", "IO1", 0.1},
    {"io.faults", "IO5", 1},
    {"io.jumps", "IO2", 1},
    {"io.sync", "IO7", 1},
    {"lock.gil_native", "D2", 1},
    {"lock.gil_python", "D2", 1},
    {"lock.asleep", "D2", 1},
    {"lock.contention", "D2", 1},
    {"gpu.gaps", "G1", 1},
    {"gpu.sync", "G1", 1},
    {"gpu.small_kernels", "G1", 1},
    {"gpu.transfers", "G2", 1},
    {"copy.pageable", "G2", 0.1},
    {"copy.pageable_async", "G2", 0.1},
    {"gpu.first", "G4", 0.1},
    {"gpu.jit", "G4", 0.1},
    {"gpu.hidden", "G6", 0.1},
    {"gpu.clocks", "G5", 0.1},
};

static const char *say(struct rootcause *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *say(struct rootcause *r, const char *format, ...)
{
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = arena_text(r->arena, text);
    return kept ? kept : "";
}

static double known(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

static void add_findings(struct rootcause *r, const struct model *m)
{
    for (int i = 0; i < m->findings_count; i++) {
        const struct model_finding *f = &m->findings[i];
        struct rootcause_cause *c = f->refuted_by && f->test ? rootcause_cause(r) : NULL;
        double effort = 1;
        if (!c)
            continue;
        c->rule = f->id;
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
            if (!strcmp(rules[k].id, f->id)) {
                c->rule = say(r, "%s (%s)", f->id, rules[k].rule);
                effort = rules[k].effort_days;
            }
        c->statement = say(r, "%.200s.", f->title);
        c->evidence = f->evidence;
        c->refuted_by = f->refuted_by;
        c->test = f->test;
        c->gain_low_s = f->gain_low_s;
        c->gain_high_s = f->gain_s;
        c->confidence = f->confidence;
        rootcause_action(r, c, f->advice, effort);
    }
}

#define SERIAL 0.25 /* of the threads that could run, those that a lock keeps from it */

/* Where threads wait for a lock for half of the run, it leads, as in the headline: less work gains
 * little while one thread at a time does it. A lock that lets nearly as many run as there are CPUs
 * has its place by its gain. */
static void lead_with_lock(struct rootcause *r, const struct model *m)
{
    if (!m->contention_count || !(m->contention[0].any_s >= m->meta.wall_s / 2))
        return;
    for (int i = 1; i < r->causes_count; i++)
        if (!strncmp(r->causes[i].rule, "lock.", 5)) {
            const struct rootcause_cause lock = r->causes[i];
            if (known(lock.gain_high_s) < SERIAL * known(m->contention[0].both_s))
                return;
            memmove(r->causes + 1, r->causes, (size_t)i * sizeof *r->causes);
            r->causes[0] = lock;
            return;
        }
}

static void add_reading(struct rootcause *r, const struct model *m)
{
    for (int i = 0; i < m->io.reading_count && i < 3; i++) {
        const struct model_reading *x = &m->io.reading[i];
        const char *line = x->file ? say(r, "%.120s:%lld", x->file, (long long)x->line)
                                   : "code that is not the program's own";
        const struct {
            const char *what;
            double s;
        } parts[] = {{"waits for storage", x->storage_s},
                     {"waits for the network", x->network_s},
                     {"copies from the page cache", x->copy_s},
                     {"decodes", x->decode_s},
                     {"changes types", x->convert_s},
                     {"copies within memory", x->place_s},
                     {"waits for a CPU within reads", x->ready_s}};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (parts[k].s > 0.005 * m->meta.wall_s)
                rootcause_number(r, say(r, "%.140s %s", line, parts[k].what), parts[k].s, "s",
                                 k == 3 ? x->codec : NULL);
    }
}

static void add_disks(struct rootcause *r, const struct model_io *io)
{
    const struct model_disk *d = io->disks_count ? &io->disks[0] : NULL;
    if (!d) {
        rootcause_number(r, "disks", (double)NAN, "",
                         io->disks_reason ? io->disks_reason : "no disk had a request");
    } else {
        const char *who = say(r, "%.40s, of the whole machine", d->name);
        rootcause_number(r, "wait per read of a disk", d->read_wait_ms, "ms", who);
        rootcause_number(r, "reads per second of the disk", d->reads_per_s, "/s", who);
        rootcause_number(r, "disk busy", 100 * d->busy, "%", who);
    }
    if (io->group)
        rootcause_number(r, "read by the control group", io->group->read_mb, "MiB", "io.stat");
    else
        rootcause_number(r, "read by the control group", (double)NAN, "",
                         io->group_reason ? io->group_reason : "not looked at");
}

static void add_evidence(struct rootcause *r, const struct model *m)
{
    const struct model_io *io = &m->io;
    double lock_s = 0, work_s = 0;
    for (int i = 0; i < m->contention_count; i++) {
        lock_s += known(m->contention[i].wait_s);
        work_s += known(m->contention[i].both_s);
    }
    rootcause_number(r, "run", m->meta.wall_s, "s", "wall time");
    rootcause_number(r, "CPU time", known(m->totals.cpu.user) + known(m->totals.cpu.sys), "s",
                     say(r, "%d threads, %d processes", m->threads_count, m->processes_count));
    if (isfinite(io->read.s)) {
        rootcause_number(
            r, "reads waited", io->read.waited_s, "s",
            say(r, "%lld of %lld calls", (long long)io->read.waited, (long long)io->read.calls));
        rootcause_number(r, "read", io->read.mb, "MiB", NULL);
        rootcause_number(r, "from storage", io->storage_read_mb, "MiB", "by the kernel");
        rootcause_number(r, "a read, median", io->read.p50_us, "us", NULL);
        rootcause_number(r, "a read, p95", io->read.p95_us, "us", NULL);
        rootcause_number(r, "page faults that waited", json_real(io->major_faults), "", NULL);
        add_disks(r, io);
    }
    add_reading(r, m);
    if (m->contention_count)
        rootcause_number(r, "threads waited for locks", lock_s, "s",
                         say(r, "added up; two or more wanted to run for %.3g s", work_s));
    if (m->totals.gpu_sum_s > 0)
        rootcause_number(r, "GPU busy", m->totals.gpu_busy_s, "s", NULL);
    if (m->kernels_count)
        rootcause_number(r, "access pattern of kernels (G3)", (double)NAN, "",
                         "hardware counters of the GPU are not recorded: reading them takes the "
                         "administrator's permission");
}

static const struct model_io_file *largest_read(const struct model *m)
{
    const struct model_io_file *most = NULL;
    for (int i = 0; i < m->io.files_count; i++)
        if (m->io.files[i].unique_mb > (most ? most->unique_mb : 0))
            most = &m->io.files[i];
    return most;
}

static void add_checks(struct rootcause *r, const struct model *m)
{
    const struct model_io *io = &m->io;
    const struct model_io_file *f = largest_read(m);
    double kernel = known(io->kernel_read_mb), unseen = io->unseen_read_mb;
    rootcause_check(r, "dimensions and values", "unknown",
                    "a recording does not look at data: compare shape and checksum of the output "
                    "before and after");
    if (f && f->size_mb > 0)
        rootcause_check(r, "coverage", f->unique_mb > 0.999 * f->size_mb ? "holds" : "unknown",
                        say(r, "%.200s: %.4g of %.4g MiB were read at least once", f->path,
                            fmin(f->unique_mb, f->size_mb), f->size_mb));
    if (kernel > 1 && isfinite(unseen))
        rootcause_check(r, "the recording saw all bytes that the kernel counted",
                        fabs(unseen) < SAME * kernel ? "holds" : "fails",
                        say(r, "%.4g of %.4g MiB read were not seen", fmax(0, unseen), kernel));
    if (m->totals.peak_rss_mb > 0)
        rootcause_check(r, "memory", "unknown",
                        say(r,
                            "%.4g MiB resident at most, processes added; a change must stay "
                            "near it",
                            m->totals.peak_rss_mb));
    rootcause_check(r, "the recording is complete", m->quality.complete ? "holds" : "fails",
                    m->quality.complete ? "nothing is known to be missing"
                                        : "see the data quality of report.html");
}

/* G3 */
static void add_unmeasured(struct rootcause *r, const struct model *m)
{
    if (m->kernels_count)
        rootcause_question(r, "Do kernels wait for scattered memory (G3)? This recording does not "
                              "tell: Nsight Compute measures DRAM and memory pipe of a kernel.");
}

static void add_questions(struct rootcause *r, const struct model *m)
{
    const struct model_io_file *f = largest_read(m);
    if (f && f->file_system)
        rootcause_question(r, say(r,
                                  "%.200s lies on %.40s: which device or server is behind it, "
                                  "and do other users share it?",
                                  f->path, f->file_system));
    if (f && !(f->cached_share >= 0))
        rootcause_question(r, "Was the file in the page cache? A cold and a warm run differ.");
    rootcause_question(
        r, "How often is the same file read? Another format pays off when it is read often.");
    if (f)
        rootcause_question(r, "Is full resolution needed? Fewer bytes help where storage or a "
                              "codec limits.");
}

/* *out: NULL where no finding has a test. */
static enum err make(const struct model *m, struct rootcause **out)
{
    struct rootcause *r;
    TRY(rootcause_create(&r));
    *out = NULL;
    add_findings(r, m);
    if (!r->causes_count) {
        rootcause_free(r);
        return ERR_OK;
    }
    rootcause_rank(r);
    lead_with_lock(r, m);
    const struct rootcause_cause *first = &r->causes[0];
    char command[400] = "";
    size_t n = 0;
    for (int i = 0; i < m->meta.command_count && n < sizeof command; i++)
        n += (size_t)snprintf(command + n, sizeof command - n, "%s%s", i ? " " : "",
                              m->meta.command[i] ? m->meta.command[i] : "");
    r->subject = *command ? say(r, "%s", command) : "a program";
    r->date = m->meta.started;
    r->summary = say(r, "%.300s %.500s", first->statement, first->evidence);
    if (isfinite(first->gain_high_s) && m->meta.wall_s > 0) {
        r->number_name = say(r, "%.200s Largest possible saving, as a share of the run's %.3g s",
                             first->statement, m->meta.wall_s);
        r->number = 100 * first->gain_high_s / m->meta.wall_s;
        r->number_unit = "%";
    }
    add_evidence(r, m);
    add_checks(r, m);
    add_questions(r, m);
    add_unmeasured(r, m);
    *out = r;
    return ERR_OK;
}

static enum err drop(const char *folder, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return ERR_OK;
    FAIL_IF(unlink(path) && errno != ENOENT, ERR_IO, "%s: cannot be removed: %s", path,
            strerror(errno));
    return ERR_OK;
}

enum err causes_write(const struct model *m, const char *folder, int *written)
{
    struct rootcause *r;
    TRY(make(m, &r));
    *written = r != NULL;
    if (!r) { /* of an earlier analysis */
        TRY(drop(folder, "rootcause.json"));
        return drop(folder, "rootcause.md");
    }
    enum err e = rootcause_write(r, folder);
    rootcause_free(r);
    return e;
}

/* What a cause may still cost in the later run; 0 where its rule did not fire there. */
static double left(const struct rootcause *later, const char *rule)
{
    for (int i = 0; later && i < later->causes_count; i++)
        if (!strcmp(later->causes[i].rule, rule))
            return later->causes[i].gain_high_s;
    return 0;
}

static double cpu_of(const struct model *m)
{
    return m->totals.cpu.user + m->totals.cpu.sys;
}

/* What a recording of both runs can tell of the change. */
static void check_later(struct rootcause *r, const struct model *a, const struct model *b)
{
    const struct model_io_file *f = largest_read(a), *g = largest_read(b);
    int room = r->checks_count;
    struct rootcause_check *more = arena_take(r->arena, ((size_t)room + 2) * sizeof *more);
    if (!more)
        return;
    int n = 0;
    for (int i = 0; i < room; i++) /* not those of an earlier comparison */
        if (!strstr(r->checks[i].what, " after the change"))
            more[n++] = r->checks[i];
    if (f && g)
        more[n++] = (struct rootcause_check){
            "bytes read after the change", g->unique_mb > 0.98 * f->unique_mb ? "holds" : "unknown",
            say(r, "%.4g MiB of %.200s, before %.4g MiB", g->unique_mb, g->path, f->unique_mb)};
    if (a->totals.peak_rss_mb > 0 && b->totals.peak_rss_mb > 0)
        more[n++] = (struct rootcause_check){
            "memory after the change",
            b->totals.peak_rss_mb <= 1.1 * a->totals.peak_rss_mb ? "holds" : "fails",
            say(r, "%.4g MiB, before %.4g MiB", b->totals.peak_rss_mb, a->totals.peak_rss_mb)};
    r->checks = more;
    r->checks_count = n;
}

enum err causes_compare(const char *folder, const struct model *before, const char *later_folder,
                        const struct model *later, const char *name, int *filled)
{
    struct rootcause *r, *then = NULL;
    int one;
    *filled = 0;
    TRY(rootcause_read(folder, &r));
    if (!r)
        return ERR_OK;
    enum err e = rootcause_read(later_folder, &then);
    if (!e)
        e = json_items(r->arena, &record_rootcause_later, 1, &r->later, &one);
    if (!e) {
        *r->later = (struct rootcause_later){name, before->meta.wall_s, later->meta.wall_s,
                                             cpu_of(before), cpu_of(later)};
        for (int i = 0; i < r->actions_count; i++)
            for (int k = 0; k < r->causes_count; k++)
                if (!strcmp(r->actions[i].rule, r->causes[k].rule))
                    r->actions[i].measured_s =
                        r->causes[k].gain_high_s - left(then, r->causes[k].rule);
        check_later(r, before, later);
        e = rootcause_write(r, folder);
        *filled = !e;
    }
    rootcause_free(then);
    rootcause_free(r);
    return e;
}
