/* From the model of a recording to the model of its root causes. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rootcause/rootcause.h"
#include "base/text.h"
#include "profiler/findings/rules.h"
#include "profiler/findings/causes.h"

#define SAME 0.02 /* bytes that were seen against those that the kernel counted */

static const char *causes_text(struct rootcause *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *causes_text(struct rootcause *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *kept = arena_print_list(r->arena, format, args);
    va_end(args);
    return kept ? kept : "";
}

/* *lock: the name of the cause that is a lock; NULL: none is. */
static void causes_add_findings(struct rootcause *r, const struct model *m, const char **lock)
{
    *lock = NULL;
    for (int i = 0; i < m->findings_count; i++) {
        const struct model_finding *f = &m->findings[i];
        const struct finding_rule *rule = finding_rule_find(f->id);
        struct rootcause_cause *c = f->refuted_by && f->test ? rootcause_cause(r) : NULL;
        if (!c)
            continue;
        c->rule =
            rule && rule->rule.code ? causes_text(r, "%s (%s)", f->id, rule->rule.code) : f->id;
        c->statement = causes_text(r, "%.200s.", f->title);
        c->evidence = f->evidence;
        c->refuted_by = f->refuted_by;
        c->test = f->test;
        c->gain_low_s = f->gain_low_s;
        c->gain_high_s = f->gain_s;
        c->confidence = f->confidence;
        rootcause_action(r, c, f->advice, rule ? rule->rule.advice[0].effort_days : EFFORT_CODE);
        if (rule && rule->leads && !strcmp(rule->leads, "lock"))
            *lock = c->rule;
    }
}

#define SERIAL 0.25 /* of the threads that could run, those that a lock keeps from it */

/* Puts a lock first where threads wait for it for half of the run, as in the headline: less work
 * gains little while one thread at a time does it. A lock that lets nearly as many run as there are
 * CPUs has its place by its gain. Beside others waits get longer and what could be saved does not. */
static void lead_with_lock(struct rootcause *r, const struct model *m, const char *name)
{
    const double queued = positive_or_0(m->totals.path_ready_s);
    const double alone = m->meta.wall_s > 0 ? fmax(0, 1 - queued / m->meta.wall_s) : 1;
    int i = 0;
    while (i < r->causes_count && r->causes[i].rule != name)
        i++;
    if (!m->contention_count || !(m->contention[0].any_s >= m->meta.wall_s / 2) ||
        i == r->causes_count ||
        positive_or_0(r->causes[i].gain_high_s) <
            SERIAL * alone * positive_or_0(m->contention[0].both_s))
        return;
    const struct rootcause_cause lock = r->causes[i];
    memmove(r->causes + 1, r->causes, (size_t)i * sizeof *r->causes);
    r->causes[0] = lock;
}

static void causes_add_reading(struct rootcause *r, const struct model *m)
{
    for (int i = 0; i < m->io.reading_count && i < 3; i++) {
        const struct model_reading *x = &m->io.reading[i];
        const char *line = x->file ? causes_text(r, "%.120s:%lld", x->file, (long long)x->line)
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
                rootcause_number(r, causes_text(r, "%.140s %s", line, parts[k].what), parts[k].s,
                                 "s", k == 3 ? x->codec : NULL);
    }
}

static void causes_add_disks(struct rootcause *r, const struct model_io *io)
{
    const struct model_disk *d = io->disks_count ? &io->disks[0] : NULL;
    if (!d) {
        rootcause_number(r, "disks", (double)NAN, "",
                         io->disks_reason ? io->disks_reason : "no disk had a request");
    } else {
        const char *who = causes_text(r, "%.40s, of the whole machine", d->name);
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

static void causes_add_evidence(struct rootcause *r, const struct model *m)
{
    const struct model_io *io = &m->io;
    double lock_s = 0, work_s = 0;
    for (int i = 0; i < m->contention_count; i++) {
        lock_s += positive_or_0(m->contention[i].wait_s);
        work_s += positive_or_0(m->contention[i].both_s);
    }
    rootcause_number(r, "run", m->meta.wall_s, "s", "wall time");
    rootcause_number(r, "CPU time",
                     positive_or_0(m->totals.cpu.user) + positive_or_0(m->totals.cpu.sys), "s",
                     causes_text(r, "%d thread%s, %d process%s", m->threads_count,
                                 m->threads_count == 1 ? "" : "s", m->processes_count,
                                 m->processes_count == 1 ? "" : "es"));
    if (isfinite(io->read.s)) {
        rootcause_number(r, "reads waited", io->read.waited_s, "s",
                         causes_text(r, "%lld of %lld calls", (long long)io->read.waited,
                                     (long long)io->read.calls));
        rootcause_number(r, "read", io->read.mb, "MiB", NULL);
        rootcause_number(r, "from storage", io->storage_read_mb, "MiB", "by the kernel");
        rootcause_number(r, "a read, median", io->read.p50_us, "us", NULL);
        rootcause_number(r, "a read, p95", io->read.p95_us, "us", NULL);
        rootcause_number(r, "page faults that waited", json_real(io->major_faults), "", NULL);
        causes_add_disks(r, io);
    }
    causes_add_reading(r, m);
    if (m->contention_count)
        rootcause_number(
            r, "threads waited for locks", lock_s, "s",
            causes_text(r, "added up; two or more wanted to run for %s s", NUMBER(3, work_s)));
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

static void causes_add_checks(struct rootcause *r, const struct model *m)
{
    const struct model_io *io = &m->io;
    const struct model_io_file *f = largest_read(m);
    double kernel = positive_or_0(io->kernel_read_mb), unseen = io->unseen_read_mb;
    rootcause_check(r, "dimensions and values", "unknown",
                    "a recording does not look at data: compare shape and checksum of the output "
                    "before and after");
    if (f && f->size_mb > 0)
        rootcause_check(r, "coverage", f->unique_mb > 0.999 * f->size_mb ? "holds" : "unknown",
                        causes_text(r, "%.200s: %s of %s MiB were read at least once", f->path,
                                    NUMBER(4, fmin(f->unique_mb, f->size_mb)),
                                    NUMBER(4, f->size_mb)));
    if (kernel > 1 && isfinite(unseen))
        rootcause_check(r, "the recording saw all bytes that the kernel counted",
                        fabs(unseen) < SAME * kernel ? "holds" : "fails",
                        causes_text(r, "%s of %s MiB read were not seen",
                                    NUMBER(4, fmax(0, unseen)), NUMBER(4, kernel)));
    if (m->totals.peak_rss_mb > 0)
        rootcause_check(r, "memory", "unknown",
                        causes_text(r,
                                    "%s MiB resident at most, processes added; a change must stay "
                                    "near it",
                                    NUMBER(4, m->totals.peak_rss_mb)));
    rootcause_check(r, "the recording is complete", m->quality.complete ? "holds" : "fails",
                    m->quality.complete ? "nothing is known to be missing"
                                        : "see the data quality of report.html");
}

/* G3 */
static void causes_add_unmeasured(struct rootcause *r, const struct model *m)
{
    if (m->kernels_count)
        rootcause_question(r, "Do kernels wait for scattered memory (G3)? This recording does not "
                              "tell: Nsight Compute measures DRAM and memory pipe of a kernel.");
}

static void causes_add_questions(struct rootcause *r, const struct model *m)
{
    const struct model_io_file *f = largest_read(m);
    if (f && f->file_system)
        rootcause_question(r,
                           causes_text(r,
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
static enum err causes_make(const struct model *m, struct rootcause **out)
{
    struct rootcause *r;
    const char *lock;
    TRY(rootcause_create(&r));
    *out = NULL;
    causes_add_findings(r, m, &lock);
    if (!r->causes_count) {
        rootcause_free(r);
        return ERR_OK;
    }
    rootcause_rank(r);
    lead_with_lock(r, m, lock);
    const struct rootcause_cause *first = &r->causes[0];
    char command[400] = "";
    for (int i = 0; i < m->meta.command_count; i++)
        text_append(command, sizeof command, "%s%s", i ? " " : "",
                    m->meta.command[i] ? m->meta.command[i] : "");
    r->subject = *command ? causes_text(r, "%s", command) : "a program";
    r->date = m->meta.started;
    r->summary = causes_text(r, "%.300s %.500s", first->statement, first->evidence);
    if (isfinite(first->gain_high_s) && m->meta.wall_s > 0) {
        r->number_name =
            causes_text(r, "%.200s Largest possible saving, as a share of the run's %s s",
                        first->statement, NUMBER(3, m->meta.wall_s));
        r->number = 100 * first->gain_high_s / m->meta.wall_s;
        r->number_unit = "%";
    }
    causes_add_evidence(r, m);
    causes_add_checks(r, m);
    causes_add_questions(r, m);
    causes_add_unmeasured(r, m);
    *out = r;
    return ERR_OK;
}

static enum err file_drop(const char *folder, const char *name)
{
    char path[4096];
    if (!text_print(path, sizeof path, "%s/%s", folder, name))
        return ERR_OK;
    FAIL_IF(unlink(path) && errno != ENOENT, ERR_IO, "%s: cannot be removed: %s", path,
            strerror(errno));
    return ERR_OK;
}

enum err causes_write(const struct model *m, const char *folder, int *written)
{
    struct rootcause *r;
    TRY(causes_make(m, &r));
    *written = r != NULL;
    if (!r) { /* of an earlier analysis */
        TRY(file_drop(folder, "rootcause.json"));
        return file_drop(folder, "rootcause.md");
    }
    enum err e = rootcause_write(r, folder);
    rootcause_free(r);
    return e;
}

/* Returns what a cause may still cost in the later run; 0 where its rule did not fire there. */
static double cause_left_s(const struct rootcause *later, const char *rule)
{
    for (int i = 0; later && i < later->causes_count; i++)
        if (!strcmp(later->causes[i].rule, rule))
            return later->causes[i].gain_high_s;
    return 0;
}

static double run_cpu_s(const struct model *m)
{
    return m->totals.cpu.user + m->totals.cpu.sys;
}

/* Adds checks of the change that recordings of both runs allow. */
static void checks_add_later(struct rootcause *r, const struct model *a, const struct model *b)
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
            causes_text(r, "%s MiB of %.200s, before %s MiB", NUMBER(4, g->unique_mb), g->path,
                        NUMBER(4, f->unique_mb))};
    if (a->totals.peak_rss_mb > 0 && b->totals.peak_rss_mb > 0)
        more[n++] = (struct rootcause_check){
            "memory after the change",
            b->totals.peak_rss_mb <= 1.1 * a->totals.peak_rss_mb ? "holds" : "fails",
            causes_text(r, "%s MiB, before %s MiB", NUMBER(4, b->totals.peak_rss_mb),
                        NUMBER(4, a->totals.peak_rss_mb))};
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
                                             run_cpu_s(before), run_cpu_s(later)};
        for (int i = 0; i < r->actions_count; i++)
            for (int k = 0; k < r->causes_count; k++)
                if (!strcmp(r->actions[i].rule, r->causes[k].rule))
                    r->actions[i].measured_s =
                        r->causes[k].gain_high_s - cause_left_s(then, r->causes[k].rule);
        checks_add_later(r, before, later);
        e = rootcause_write(r, folder);
        *filled = !e;
    }
    rootcause_free(then);
    rootcause_free(r);
    return e;
}
