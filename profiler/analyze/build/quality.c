/* Lists what a reader must know about the data: losses, doubtful shares, the recorder's overhead,
 * and laws that a right profile obeys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/build/build.h"

/* Losses and faults that can be counted; %llu is the count. */
static const struct rule {
    const char *id;
    size_t count; /* uint64_t in struct quality_count */
    const char *severity, *text, *effect, *fix;
} rules[] = {
#define LOST(name)    offsetof(struct quality_count, lost) + sizeof(uint64_t) * TRACE_LOST_##name
#define DAMAGE(field) offsetof(struct quality_count, damage.field)
#define COUNT(field)  offsetof(struct quality_count, field)
    {"lost.records", LOST(RECORDS), "error",
     "%llu records were dropped: disk full or file size limit.",
     "Everything after that moment is missing.", "Free disk space, or raise the file limit."},
    {"lost.samples", LOST(SAMPLES), "warning",
     "CPU samples that came too late to say where their time went: %llu.",
     "CPU times are too small by that many samples.", "Sample less often."},
    {"lost.threads", LOST(THREADS), "warning", "%llu threads could not be sampled.",
     "Their CPU time is missing.", "Raise the limits of timers and threads (ulimit -i)."},
    {"lost.frames", LOST(FRAMES), "info",
     "%llu stacks of samples, waits and allocations do not reach their root.",
     "Their outermost callers are unknown.",
     "Build with -fno-omit-frame-pointer or unwind tables."},
    {"lost.python", LOST(PYTHON), "warning", "%llu times Python frames could not be read.",
     "Those samples are attributed to compiled code or to no line.", NULL},
    {"lost.allocations", LOST(ALLOCATIONS), "warning",
     "%llu sampled allocations did not fit into the table.",
     "Their release is not seen: live memory and leaks may be too large.", NULL},
    {"lost.gpu_buffers", LOST(GPU_BUFFERS), "error", "%llu times CUPTI was out of buffers.",
     "Kernels or copies are missing.", NULL},
    {"lost.gpu_dropped", LOST(GPU_DROPPED), "error", "%llu records of GPU activities were dropped.",
     "Kernels or copies are missing.", NULL},
    {"lost.gpu_unknown", LOST(GPU_UNKNOWN), "info",
     "%llu CUPTI activities are of kinds that are not known.", "They are not shown.",
     "Use a newer version of tomoprof."},
    {"lost.gpu_zero_time", LOST(GPU_ZERO), "warning", "%llu device activities came without times.",
     "Their time is missing.", "Update driver and CUPTI."},
    {"lost.gpu_samples", LOST(GPU_SAMPLES), "warning", "%llu samples inside kernels were dropped.",
     "Shares of lines inside kernels may be off.", NULL},
    {"lost.strings", LOST(STRINGS), "info", "%llu texts were truncated.",
     "Names may be incomplete.", NULL},
    {"damage.chunks", DAMAGE(bad_chunks), "error", "%llu chunks of the trace are damaged.",
     "What they held is missing.", "Record again; check the disk."},
    {"damage.torn", DAMAGE(torn_records), "warning", "%llu chunks end within a record.",
     "What followed in them is missing.", "Normal after a kill; else record again."},
    {"damage.missing_chunks", DAMAGE(missing_chunks), "error",
     "%llu chunks of threads are missing.", "What they held is missing.", "Record again."},
    {"damage.truncated", DAMAGE(truncated_bytes), "error",
     "%llu bytes are missing at the end of files.", "The end of the run is missing.",
     "Copy the trace completely, or record again."},
    {"damage.unknown_records", DAMAGE(unknown_records), "info",
     "%llu records are of kinds that are not known.", "They are not used.",
     "Use a newer version of tomoprof."},
    {"trace.unreadable", COUNT(unreadable), "error", "%llu trace files could not be read.",
     "Those processes are missing.", NULL},
    {"trace.running", COUNT(running), "info",
     "Processes that did not say how they ended, killed or still running: %llu.",
     "Their last moments and device operations may be missing.", NULL},
    {"source.foreign", COUNT(sources_foreign), "info",
     "%llu trace files belong to another user, or are copies of what was recorded.",
     "Lines have no source text: a trace from elsewhere could name any file of yours.",
     "Analyse the run where it was recorded."},
    {"source.outside", COUNT(sources_outside), "info",
     "%llu source files lie outside of the working folder, the program's folders and packages.",
     "Their lines have no text.", "Name their folders in TOMOPROF_SOURCE_DIRS (docs/report.md)."},
    {"source.changed", COUNT(sources_changed), "info",
     "%llu source files have changed since the run ended.",
     "Their lines have no text: it would be another program's.", "Record again."},
    {"trace.bad_values", COUNT(bad_values), "warning",
     "%llu records held impossible times or sizes.", "They were left out.", NULL},
    {"analysis.stacks_full", COUNT(contexts_full), "warning",
     "%llu events belong to more different stacks than are kept.",
     "They are not attributed to a line.", "Record a shorter part."},
    {"analysis.heap_full", COUNT(heap_full), "warning",
     "%llu allocations are more than are replayed.",
     "Peaks, averages and leaks leave them out; totals hold them.",
     "Raise the mean bytes between samples."},
    {"analysis.launches_full", COUNT(launches_full), "warning",
     "%llu calls or operations waited too long for their counterpart.",
     "They count as without origin or without record.", NULL},
    {"paused.no_region", COUNT(regions_missing), "warning",
     "The program met no region, with which the profile was to begin.", "All of the run is in it.",
     "Name a region: tomoprof.region, TOMOPROF_REGION_BEGIN."},
    {"analysis.ranges_full", COUNT(ranges_full), "info",
     "%llu CPU samples did not fit into the account of the ranges.",
     "CPU times of ranges, and of lines by range, leave them out.", "Record a shorter part."},
    {"heap.no_free", COUNT(no_free), "info",
     "%llu addresses were given out again without a release that was seen.",
     "They were taken as released then.", NULL},
    {"gpu.zero_time", COUNT(zero_times), "warning", "%llu device activities have no times.",
     "Their time is missing.", "Update driver and CUPTI."},
    {"gpu.overlap", COUNT(overlaps), "info",
     "%llu operations began before the one before them in their stream ended.",
     "Normal with programmatic dependent launch; else times are doubtful.", NULL},
    {"gpu.before_call", COUNT(before_call), "warning",
     "%llu device operations began before the call that launched them.",
     "The clocks of host and device are not aligned by that much.", NULL},
    {"gpu.no_record", COUNT(unmatched_launches), "warning",
     "%llu launches have no record of their kernel.", "Device time of their lines is missing.",
     "Let the program end by itself, so that the last buffers are delivered."},
    {"gpu.no_clock", COUNT(no_clock), "warning",
     "In %llu processes nothing relates the device's clock to the host's.",
     "Device times are right in length, but may be shifted against the host's.",
     "Let the program end by itself."},
    {"gpu.clock_steps", COUNT(clock_steps), "warning",
     "The device's clock jumped %llu times against the host's.",
     "Times around the jumps are uncertain.", NULL},
    {"gpu.cubins", COUNT(cubins_bad), "info", "%llu saved device binaries could not be read.",
     "Their kernels have no source line.", NULL},
};

struct item_list {
    VECTOR(struct model_item) all;
};

static enum err quality_add_item(struct run *r, struct item_list *l, const struct rule *rule,
                                 uint64_t count, double share)
{
    char text[256];
    struct model_item item;
    json_blank(&record_model_item, &item);
    snprintf(text, sizeof text, rule->text, (unsigned long long)count);
    item.id = rule->id;
    item.severity = rule->severity;
    item.count = count < 1ull << 53 ? (int64_t)count : MODEL_UNKNOWN;
    item.share = share;
    item.text = run_text(r, text);
    item.effect = rule->effect;
    item.fix = rule->fix;
    return vector_add(&l->all, item);
}

static enum err quality_counted(struct run *r, struct item_list *l)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        uint64_t count;
        memcpy(&count, (char *)&r->q + rules[i].count, sizeof count);
        struct rule rule = rules[i];
        double share = (double)NAN;
        if (rule.count == LOST(SAMPLES) || rule.count == LOST(PYTHON)) {
            double good = rule.count == LOST(PYTHON) ? r->q.stacks : r->total.samples;
            share = (double)count / ((double)count + good);
            if (share < fmax(0.01, 0.5 / sqrt(r->total.samples + 1))) /* below half the error */
                rule.severity = "info";                               /* of sampling itself */
        }
        if (count)
            TRY(quality_add_item(r, l, &rule, count, share));
    }
    return ERR_OK;
}

static const struct rule in_stacks[] = {
    /* %llu is the share in % */
    {"stack.deep", COUNT(deep_ns), "warning",
     "%llu %% of the CPU time was spent in stacks of more than 1024 native or 512 Python frames; "
     "the frames in their middle are left out.",
     "Inclusive times of lines in the middle of the recursion are too small; those near the leaf "
     "are right, those near the root where it was reached (else: stack.cut, stack.python_cut).",
     "Profile a smaller input, which recurses less."},
    {"stack.python_cut", COUNT(python_cut_ns), "warning",
     "%llu %% of the CPU time has Python stacks that do not reach their root.",
     "Inclusive times of lines near the root are too small by up to that share.",
     "Profile a smaller input, which recurses less."},
    {"python.lines", COUNT(no_line_ns), "warning",
     "%llu %% of the CPU time is in stacks with Python lines whose numbers could not be read.",
     "That time is missing in those lines.", NULL},
};

/* CPU time whose callers are not known as a whole, and what can be done about it. */
static enum err quality_stacks(struct run *r, struct item_list *l)
{
    const double cpu = r->total.user + r->total.sys;
    struct rule cut = {"stack.cut",
                       0,
                       "warning",
                       "%llu %% of the CPU time has stacks that do not reach their root.",
                       "Inclusive times of callers are too small by up to that share.",
                       NULL};
    if (cpu <= 0)
        return ERR_OK;
    for (const struct rule *rule = in_stacks; rule < in_stacks + 3; rule++) {
        double ns;
        memcpy(&ns, (char *)&r->q + rule->count, sizeof ns);
        if (ns >= 0.01 * cpu)
            TRY(quality_add_item(r, l, rule, (uint64_t)lround(100 * ns / cpu), ns / cpu));
    }
    if (r->q.cut_ns < 0.01 * cpu)
        return ERR_OK;
    const struct counter *most = r->cut_at.items;
    for (size_t i = 1; i < r->cut_at.count; i++)
        most = r->cut_at.items[i].value > most->value ? &r->cut_at.items[i] : most;
    char fix[512];
    snprintf(fix, sizeof fix, "Most of them end in %.200s%s", most->name,
             *most->name == '['
                 ? ": let the program that generates code keep frame pointers (java "
                   "-XX:+PreserveFramePointer, node --interpreted-frames-native-stack)."
                 : ": build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer.");
    cut.fix = run_text(r, fix);
    return quality_add_item(r, l, &cut, (uint64_t)lround(100 * r->q.cut_ns / cpu),
                            r->q.cut_ns / cpu);
}

/* How the recorded CPU time compares with the launcher's account of the run (without one: with the
 * accounts of its threads), and what no sample can stand for. */
static enum err quality_accounts(struct run *r, struct item_list *l)
{
    static const struct rule startup = {"cpu.startup",
                                        0,
                                        "info",
                                        "%llu %% of the CPU time was spent before the recorder was "
                                        "loaded: in fork and exec, in the "
                                        "dynamic loader, and in constructors of libraries.",
                                        "It is listed as [start-up], without lines.",
                                        "LD_DEBUG=statistics shows what the dynamic loader did."};
    static const struct rule shutdown = {
        "cpu.shutdown",
        0,
        "info",
        "%llu %% of the CPU time was spent after the recorder's last record: in late handlers, and "
        "in the kernel, which takes the memory back.",
        "It is listed as [shutdown], without lines.",
        NULL};
    static const struct rule less = {
        "cpu.coverage",
        0,
        "warning",
        "Recorded are %llu %% of the CPU time that the kernel counted.",
        "The rest was spent in processes without a recording, at the end of child processes, or in "
        "samples that were lost.",
        NULL};
    struct rule more = {
        "cpu.coverage",
        0,
        "warning",
        "Samples stand for %llu %% of the CPU time that the kernel counted: the first one of each "
        "thread stands for a whole interval, however short the thread.",
        "CPU times are too large by that; shares of lines are rough.",
        model_more_samples(r->m)};
    double cpu = r->total.user + r->total.sys, coverage = r->m->quality.cpu_sample_coverage;
    if (cpu <= 0)
        return ERR_OK;
    if (r->startup_ns > 0.01 * cpu)
        TRY(quality_add_item(r, l, &startup, (uint64_t)lround(100 * r->startup_ns / cpu),
                             r->startup_ns / cpu));
    if (r->shutdown_ns > 0.01 * cpu)
        TRY(quality_add_item(r, l, &shutdown, (uint64_t)lround(100 * r->shutdown_ns / cpu),
                             r->shutdown_ns / cpu));
    if (!(fabs(coverage - 1) > 0.1))
        return ERR_OK;
    struct rule rule = coverage > 1 ? more : less;
    if (fabs(cpu - cpu / coverage) < 0.1e9)
        rule.severity = "info";
    return quality_add_item(r, l, &rule, (uint64_t)lround(100 * coverage), coverage);
}

/* Shares that a reader of the numbers has to know. */
static enum err quality_shares(struct run *r, struct item_list *l)
{
    struct model_quality *q = &r->m->quality;
    static const struct rule borrowed = {
        "cpu.borrowed",
        0,
        "info",
        "%llu %% of the CPU time belongs to threads without Python frames.",
        "It is attributed to the line that the main thread was executing.",
        NULL};
    static const struct rule borrowed_bytes = {
        "mem.borrowed",
        0,
        "info",
        "%llu %% of the bytes were allocated by threads without Python frames.",
        "They are attributed to the line that the main thread was executing.",
        NULL};
    static const struct rule unattributed = {
        "cpu.unattributed",        0,   "info", "%llu %% of the CPU time has no source line.",
        "It is listed by module.", NULL};
    static const struct rule origin = {
        "gpu.no_origin",           0,   "warning", "%llu device operations have no host call.",
        "They belong to no line.", NULL};
    static const struct rule symbols = {"symbols.lines",
                                        0,
                                        "info",
                                        "Modules without line tables: %llu.",
                                        "Their code is attributed to its caller, or to its module.",
                                        "Build with -g, or install debug symbols."};
    static const struct rule changed = {"symbols.changed",
                                        0,
                                        "warning",
                                        "Modules that have changed since the recording: %llu.",
                                        "Their lines are unknown.",
                                        "Analyse before rebuilding."};
    const struct model_meta *meta = &r->m->meta;
    if (isfinite(meta->from_s)) {
        char text[120];
        snprintf(text, sizeof text, "Only seconds %s to %s of the run are in this profile.",
                 NUMBER(3, meta->from_s), NUMBER(3, meta->until_s));
        const struct rule part = {
            "part", 0, "info", run_text(r, text), "What was allocated before is not counted.",
            NULL};
        TRY(quality_add_item(r, l, &part, 1, (double)NAN));
    }
    if (q->borrowed_cpu_share > 0.005)
        TRY(quality_add_item(r, l, &borrowed, (uint64_t)lround(100 * q->borrowed_cpu_share),
                             q->borrowed_cpu_share));
    if (r->heap.borrowed_alloc > 0.005 * r->total.alloc)
        TRY(quality_add_item(r, l, &borrowed_bytes,
                             (uint64_t)lround(100 * r->heap.borrowed_alloc / r->total.alloc),
                             r->heap.borrowed_alloc / r->total.alloc));
    struct rule unattributed_here = unattributed;
    const int own = account_lacks_lines(r->m);
    if (own)
        unattributed_here.fix = "Build with -g (no change of optimisation).";
    if (q->unattributed_cpu_share > 0.005)
        TRY(quality_add_item(r, l, &unattributed_here,
                             (uint64_t)lround(100 * q->unattributed_cpu_share),
                             q->unattributed_cpu_share));
    if (r->gpu.no_origin_n > 0)
        TRY(quality_add_item(r, l, &origin, (uint64_t)r->gpu.no_origin_n,
                             r->gpu.no_origin_ns / costs_gpu(&r->total)));
    struct symbols_quality s = symbols_quality(r->symbols);
    if (s.no_lines && own)
        TRY(quality_add_item(r, l, &symbols, (uint64_t)s.no_lines, (double)NAN));
    return s.changed_files
               ? quality_add_item(r, l, &changed, (uint64_t)s.changed_files, (double)NAN)
               : ERR_OK;
}

static enum err quality_filtered(struct run *r, struct item_list *l)
{
    char text[160], whose[64] = "";
    if (!r->q.filtered)
        return ERR_OK;
    if (r->q.filtered > 1)
        snprintf(whose, sizeof whose, " of the first of %llu processes",
                 (unsigned long long)r->q.filtered);
    snprintf(text, sizeof text,
             "The recording%s ends at %s s: the program filtered its system calls (seccomp).",
             whose, NUMBER(3, ns_to_seconds((double)r->q.filtered_ns)));
    const struct rule rule = {"trace.filtered",
                              0,
                              "warning",
                              text,
                              "What ran later is missing.",
                              "Switch the program's sandbox off for the recording."};
    return quality_add_item(r, l, &rule, r->q.filtered, (double)NAN);
}

static void quality_check(struct model_check *c, const char *id, const char *text, double expected,
                          double found, int ok)
{
    *c = (struct model_check){
        .id = id, .ok = ok, .expected = expected, .found = found, .text = text};
}

static int nearly_equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Laws that hold in any right profile; their numbers come from different sums. */
static enum err quality_checks(struct run *r)
{
    struct model *m = r->m;
    struct model_quality *q = &m->quality;
    double gpu = 0, cpu = 0, alloc = 0, kernels = 0, bytes = 0, moved = 0, copied = 0, worst = 0,
           wait = 0;
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            gpu += r->has_gpu ? line->gpu_self_s : 0;
            cpu += r->has_cpu ? line->cpu.user + line->cpu.sys : 0;
            alloc += r->has_heap ? line->mem.alloc_mb : 0;
            wait += r->has_wait ? line->cpu.wait : 0;
            copied += r->has_copies ? line->copy.host_mb : 0;
            worst = fmax(worst, r->has_cpu ? line->cpu.user - line->cpu_incl.user : 0);
            worst = fmax(worst, r->has_gpu ? line->gpu_self_s - line->gpu_incl_s : 0);
        }
    for (int i = 0; i < m->unattributed_count; i++) {
        gpu += r->has_gpu ? m->unattributed[i].gpu_s : 0;
        cpu += r->has_cpu ? m->unattributed[i].cpu.user + m->unattributed[i].cpu.sys : 0;
        alloc += r->has_heap ? m->unattributed[i].alloc_mb : 0;
        wait += r->has_wait ? m->unattributed[i].cpu.wait : 0;
        copied += r->has_copies ? m->unattributed[i].copy_mb : 0;
    }
    for (int i = 0; i < m->kernels_count; i++)
        kernels += m->kernels[i].time.total_s;
    for (size_t i = 0; i < r->gpu.transfers.count; i++)
        bytes += r->gpu.transfers.items[i].key[0] < 4 ? r->gpu.transfers.items[i].value : 0;
    for (int i = 0; i < 4; i++)
        moved += r->total.copy[i].bytes;
    double threads = 0;
    for (int i = 0; i < m->threads_count && r->has_cpu; i++)
        threads += m->threads[i].user_s + m->threads[i].sys_s;
    TRY(model_list(m, model_check, q, checks, 10));
    struct model_check *c = q->checks;
    double total = ns_to_seconds(costs_gpu(&r->total)), origin = ns_to_seconds(r->gpu.no_origin_ns);
    quality_check(
        c++, "gpu.lines",
        "device time of lines, modules and operations without a call is the sum over operations",
        total, gpu + origin, nearly_equal(total, gpu + origin));
    quality_check(c++, "gpu.kernels", "kernels by name add up to the kernel time",
                  ns_to_seconds(r->total.gpu_kernel), kernels,
                  nearly_equal(ns_to_seconds(r->total.gpu_kernel), kernels));
    quality_check(c++, "gpu.bytes", "bytes by direction add up to the transfers", moved, bytes,
                  nearly_equal(moved, bytes));
    double busy = r->has_gpu ? m->totals.gpu_busy_s : 0;
    quality_check(c++, "gpu.union", "a device is not busy for longer than its operations take",
                  total, busy, busy <= total * (1 + 1e-9) + 1e-12);
    quality_check(c++, "cpu.lines", "CPU time of lines and modules is that of the samples",
                  ns_to_seconds(r->total.user + r->total.sys), cpu,
                  nearly_equal(ns_to_seconds(r->total.user + r->total.sys), cpu));
    quality_check(c++, "cpu.threads", "CPU time of threads is that of the samples",
                  ns_to_seconds(r->total.user + r->total.sys), threads,
                  nearly_equal(ns_to_seconds(r->total.user + r->total.sys), threads));
    quality_check(c++, "wait.lines", "waiting of lines and modules is that of all threads",
                  ns_to_seconds(r->total.wait), wait,
                  nearly_equal(ns_to_seconds(r->total.wait), wait));
    quality_check(c++, "mem.lines", "bytes of lines and modules are those allocated",
                  bytes_to_megabytes(r->total.alloc), alloc,
                  nearly_equal(bytes_to_megabytes(r->total.alloc), alloc));
    quality_check(c++, "copy.lines", "bytes of lines and modules are those copied",
                  bytes_to_megabytes(r->total.copied), copied,
                  nearly_equal(bytes_to_megabytes(r->total.copied), copied));
    quality_check(c++, "self.incl", "no line costs more by itself than with what it calls", 0,
                  worst, worst <= 1e-9);
    return ERR_OK;
}

enum err build_quality(struct run *r)
{
    struct model_quality *q = &r->m->quality;
    struct item_list l = {0};
    double cpu = r->total.user + r->total.sys, none = 0;
    for (size_t i = 0; i < r->modules.count; i++)
        if (!account_is_row(r->modules.items[i].name))
            none += r->module_costs.items[i].user + r->module_costs.items[i].sys;
    if (cpu > 0) {
        q->unattributed_cpu_share = none / cpu;
        q->borrowed_cpu_share = r->total.borrowed / cpu;
    }
    const struct analyze_launch *launch = &r->options->launch;
    const double program_s = launch->all_s - ns_to_seconds(r->q.recorder_ns);
    if (program_s > 0 && !launch->left_running && r->has_cpu && !build_of_part(r))
        q->cpu_sample_coverage = ns_to_seconds(cpu) / program_s;
    else if (r->q.by_kernel > 0 && r->has_cpu)
        q->cpu_sample_coverage = r->q.sampled / r->q.by_kernel;
    q->clock_method = !r->has_gpu || r->q.no_clock ? "none"
                      : r->q.clock_method          ? r->q.clock_method
                                                   : "monotonic";
    q->clock_error_ns = r->has_gpu ? r->q.clock_error : (double)NAN;
    q->clock_steps = r->has_gpu ? (int64_t)r->q.clock_steps : MODEL_UNKNOWN;
    if (r->q.frames_all)
        q->unresolved_frame_share = (double)r->q.frames_unknown / (double)r->q.frames_all;
    TRY(build_overhead(r));
    TRY(quality_checks(r));
    enum err e = quality_counted(r, &l);
    if (e == ERR_OK)
        e = quality_stacks(r, &l);
    if (e == ERR_OK)
        e = quality_accounts(r, &l);
    if (e == ERR_OK)
        e = quality_filtered(r, &l);
    if (e == ERR_OK)
        e = quality_shares(r, &l);
    static enum err (*const more[])(struct run *, struct model_item *) = {
        sampling_few, sampling_rate, children_without_trace, accounts_short};
    for (size_t i = 0; i < sizeof more / sizeof *more && e == ERR_OK; i++) {
        struct model_item item;
        e = more[i](r, &item);
        if (e == ERR_OK && item.text)
            e = vector_add(&l.all, item);
    }
    for (size_t i = 0; i < r->q.notes.count && e == ERR_OK; i++)
        e = vector_add(&l.all, r->q.notes.items[i]);
    if (e == ERR_OK)
        e = model_list(r->m, model_item, q, items, l.all.count);
    q->complete = 1;
    for (size_t i = 0; i < l.all.count && e == ERR_OK; i++) {
        q->items[i] = l.all.items[i];
        q->complete &= !strcmp(l.all.items[i].severity, "info");
    }
    for (int i = 0; i < q->checks_count; i++)
        q->complete &= q->checks[i].ok;
    vector_free(&l.all);
    return e;
}
