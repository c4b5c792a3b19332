#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/build/build.h"

/* What can be missing or wrong, as counted; %llu is the count. */
static const struct rule {
    const char *id;
    size_t count; /* uint64_t in struct quality_count */
    const char *severity, *text, *effect, *fix;
} rules[] = {
#define LOST(name)    offsetof(struct quality_count, lost) + sizeof(uint64_t) * TRACE_LOST_##name
#define DAMAGE(field) offsetof(struct quality_count, damage.field)
#define COUNT(field)  offsetof(struct quality_count, field)
    {"lost.records", LOST(RECORDS), "error", "%llu records found no room: disk full or file limit.",
     "Everything after that moment is missing.", "Free disk space, or raise the file limit."},
    {"lost.samples", LOST(SAMPLES), "warning",
     "CPU samples that came too late to say where their time went: %llu.",
     "CPU times are too small by that many samples.", "Sample less often."},
    {"lost.threads", LOST(THREADS), "warning", "%llu threads could not be sampled.",
     "Their CPU time is missing.", "Raise the limits of timers and threads (ulimit -i)."},
    {"lost.frames", LOST(FRAMES), "info",
     "Stacks that were cut, deeper than the limit or not unwindable: %llu.",
     "Inclusive times of the outermost callers are too small.",
     "Build with -fno-omit-frame-pointer or unwind tables."},
    {"lost.python", LOST(PYTHON), "warning", "%llu times Python frames could not be read.",
     "Those samples are charged to compiled code or to no line.", NULL},
    {"lost.allocations", LOST(ALLOCATIONS), "warning",
     "%llu sampled allocations found no room in the table.",
     "Their release is not seen: live memory and leaks may be too large.", NULL},
    {"lost.gpu_buffers", LOST(GPU_BUFFERS), "error", "%llu times CUPTI found no buffer.",
     "Kernels or copies are missing.", NULL},
    {"lost.gpu_dropped", LOST(GPU_DROPPED), "error", "CUPTI dropped %llu activity records.",
     "Kernels or copies are missing.", NULL},
    {"lost.gpu_unknown", LOST(GPU_UNKNOWN), "info",
     "%llu CUPTI activities are of kinds that are not known.", "They are not shown.",
     "Use a newer version of tomoprof."},
    {"lost.gpu_zero_time", LOST(GPU_ZERO), "warning", "%llu device activities came without times.",
     "Their time is missing.", "Update driver and CUPTI."},
    {"lost.strings", LOST(STRINGS), "info", "%llu texts were cut.", "Names may be incomplete.",
     NULL},
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
    {"trace.bad_values", COUNT(bad_values), "warning",
     "%llu records held impossible times or sizes.", "They were left out.", NULL},
    {"analysis.stacks_full", COUNT(spots_full), "warning",
     "%llu events belong to more different stacks than are kept.", "They are charged to no line.",
     "Record a shorter part."},
    {"analysis.heap_full", COUNT(heap_full), "warning",
     "%llu allocations are more than are replayed.",
     "Peaks, averages and leaks leave them out; totals hold them.",
     "Raise the mean bytes between samples."},
    {"analysis.launches_full", COUNT(launches_full), "warning",
     "%llu calls or operations waited too long for their counterpart.",
     "They count as without origin or without record.", NULL},
    {"analysis.ranges_full", COUNT(ranges_full), "info",
     "%llu CPU samples found no room in the account of the ranges.",
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

struct list {
    struct model_item *items;
    size_t n, room;
};

static enum err add(struct list *l, const struct model_item *item)
{
    TRY(array_room(&l->items, &l->room, l->n + 1, sizeof *l->items));
    l->items[l->n++] = *item;
    return ERR_OK;
}

static enum err say(struct run *r, struct list *l, const struct rule *rule, uint64_t count,
                    double share)
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
    return add(l, &item);
}

static enum err counted(struct run *r, struct list *l)
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
            TRY(say(r, l, &rule, count, share));
    }
    return ERR_OK;
}

/* Shares that a reader of the numbers has to know. */
static enum err shares(struct run *r, struct list *l)
{
    struct model_quality *q = &r->m->quality;
    static const struct rule borrowed = {
        "cpu.borrowed",
        0,
        "info",
        "%llu %% of the CPU time belongs to threads without Python frames.",
        "It is charged to the line at which the main thread stood then.",
        NULL};
    static const struct rule borrowed_bytes = {
        "mem.borrowed",
        0,
        "info",
        "%llu %% of the bytes were allocated by threads without Python frames.",
        "They are charged to the line at which the main thread stood then.",
        NULL};
    static const struct rule unattributed = {"cpu.unattributed",
                                             0,
                                             "info",
                                             "%llu %% of the CPU time has no source line.",
                                             "It is listed by module.",
                                             "Build with -g (no change of optimisation)."};
    static const struct rule coverage = {
        "cpu.coverage",
        0,
        "warning",
        "Samples cover %llu %% of the CPU time that the kernel counted.",
        "CPU times are too small or too large by that.",
        NULL};
    static const struct rule origin = {
        "gpu.no_origin",           0,   "warning", "%llu device operations have no host call.",
        "They belong to no line.", NULL};
    static const struct rule symbols = {"symbols.lines",
                                        0,
                                        "info",
                                        "Modules without line tables: %llu.",
                                        "Their code is charged to its caller, or by module.",
                                        "Build with -g, or install debug symbols."};
    static const struct rule changed = {"symbols.changed",
                                        0,
                                        "warning",
                                        "Modules that have changed since the recording: %llu.",
                                        "Their lines are unknown.",
                                        "Analyse before rebuilding."};
    static const struct rule few = {"cpu.few",
                                    0,
                                    "info",
                                    "Only %llu CPU samples were taken.",
                                    "Shares of CPU time are rough.",
                                    "Record more work, or sample more often: record --rate 1000."};
    double cpu = r->total.user + r->total.sys;
    if (cpu > 0 && r->total.samples < 100) /* the error of a share of a half is then 5 % */
        TRY(say(r, l, &few, (uint64_t)r->total.samples, (double)NAN));
    if (q->borrowed_cpu_share > 0.005)
        TRY(say(r, l, &borrowed, (uint64_t)lround(100 * q->borrowed_cpu_share),
                q->borrowed_cpu_share));
    if (r->borrowed_alloc > 0.005 * r->total.alloc)
        TRY(say(r, l, &borrowed_bytes, (uint64_t)lround(100 * r->borrowed_alloc / r->total.alloc),
                r->borrowed_alloc / r->total.alloc));
    if (q->unattributed_cpu_share > 0.005)
        TRY(say(r, l, &unattributed, (uint64_t)lround(100 * q->unattributed_cpu_share),
                q->unattributed_cpu_share));
    if (r->q.by_kernel > 1e9 && cpu > 0 && fabs(q->cpu_sample_coverage - 1) > 0.1)
        TRY(say(r, l, &coverage, (uint64_t)lround(100 * q->cpu_sample_coverage),
                q->cpu_sample_coverage));
    if (r->no_origin_n > 0)
        TRY(say(r, l, &origin, (uint64_t)r->no_origin_n, r->no_origin_ns / sums_gpu(&r->total)));
    struct symbols_quality s = symbols_quality(r->symbols);
    if (s.no_lines)
        TRY(say(r, l, &symbols, (uint64_t)s.no_lines, (double)NAN));
    return s.changed_files ? say(r, l, &changed, (uint64_t)s.changed_files, (double)NAN) : ERR_OK;
}

static void check(struct model_check *c, const char *id, const char *text, double expected,
                  double found, int ok)
{
    *c = (struct model_check){
        .id = id, .ok = ok, .expected = expected, .found = found, .text = text};
}

static int same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Laws that hold in any right profile; their numbers come from different sums. */
static enum err checks(struct run *r)
{
    struct model *m = r->m;
    struct model_quality *q = &m->quality;
    double gpu = 0, cpu = 0, alloc = 0, kernels = 0, bytes = 0, moved = 0, copied = 0, worst = 0;
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            gpu += r->has_gpu ? line->gpu_self_s : 0;
            cpu += r->has_cpu ? line->cpu.user + line->cpu.sys : 0;
            alloc += r->has_heap ? line->mem.alloc_mb : 0;
            copied += r->has_copies ? line->copy.host_mb : 0;
            worst = fmax(worst, r->has_cpu ? line->cpu.user - line->cpu_incl.user : 0);
            worst = fmax(worst, r->has_gpu ? line->gpu_self_s - line->gpu_incl_s : 0);
        }
    for (int i = 0; i < m->unattributed_count; i++) {
        gpu += r->has_gpu ? m->unattributed[i].gpu_s : 0;
        cpu += r->has_cpu ? m->unattributed[i].cpu.user + m->unattributed[i].cpu.sys : 0;
        alloc += r->has_heap ? m->unattributed[i].alloc_mb : 0;
        copied += r->has_copies ? m->unattributed[i].copy_mb : 0;
    }
    for (int i = 0; i < m->kernels_count; i++)
        kernels += m->kernels[i].time.total_s;
    for (size_t i = 0; i < r->transfers.count; i++)
        bytes += r->transfers.items[i].key[0] < 4 ? r->transfers.items[i].value : 0;
    for (int i = 0; i < 4; i++)
        moved += r->total.copy[i].bytes;
    double threads = 0;
    for (int i = 0; i < m->threads_count && r->has_cpu; i++)
        threads += m->threads[i].user_s + m->threads[i].sys_s;
    TRY(model_list(m, model_check, q, checks, 9));
    struct model_check *c = q->checks;
    double total = seconds(sums_gpu(&r->total)), origin = seconds(r->no_origin_ns);
    check(c++, "gpu.lines",
          "device time of lines, modules and operations without a call is the sum over operations",
          total, gpu + origin, same(total, gpu + origin));
    check(c++, "gpu.kernels", "kernels by name add up to the kernel time",
          seconds(r->total.gpu_kernel), kernels, same(seconds(r->total.gpu_kernel), kernels));
    check(c++, "gpu.bytes", "bytes by direction add up to the transfers", moved, bytes,
          same(moved, bytes));
    double busy = r->has_gpu ? m->totals.gpu_busy_s : 0;
    check(c++, "gpu.union", "a device is not busy for longer than its operations take", total, busy,
          busy <= total * (1 + 1e-9) + 1e-12);
    check(c++, "cpu.lines", "CPU time of lines and modules is that of the samples",
          seconds(r->total.user + r->total.sys), cpu,
          same(seconds(r->total.user + r->total.sys), cpu));
    check(c++, "cpu.threads", "CPU time of threads is that of the samples",
          seconds(r->total.user + r->total.sys), threads,
          same(seconds(r->total.user + r->total.sys), threads));
    check(c++, "mem.lines", "bytes of lines and modules are those allocated",
          megabytes(r->total.alloc), alloc, same(megabytes(r->total.alloc), alloc));
    check(c++, "copy.lines", "bytes of lines and modules are those copied",
          megabytes(r->total.copied), copied, same(megabytes(r->total.copied), copied));
    check(c++, "self.incl", "no line costs more by itself than with what it calls", 0, worst,
          worst <= 1e-9);
    return ERR_OK;
}

static enum err costs(struct run *r)
{
    static const char *const names[] = {"sampler", "wait", "alloc", "copy",
                                        "nvtx",    "cuda", "writer"};
    struct model_quality *q = &r->m->quality;
    double sum = 0, cpu = r->total.user + r->total.sys;
    TRY(model_list(r->m, model_cost, q, overhead, TRACE_PARTS));
    for (int i = 0; i < TRACE_PARTS; i++) {
        q->overhead[i] = (struct model_cost){names[i], seconds(r->q.cost_ns[i]),
                                             r->q.cost_calls[i] < 9e15 ? (int64_t)r->q.cost_calls[i]
                                                                       : MODEL_UNKNOWN};
        sum += r->q.cost_ns[i];
    }
    if (cpu > 0)
        q->overhead_share = sum / cpu;
    q->capture_bytes =
        r->q.capture_bytes < 1ull << 53 ? (int64_t)r->q.capture_bytes : MODEL_UNKNOWN;
    return ERR_OK;
}

enum err build_quality(struct run *r)
{
    struct model_quality *q = &r->m->quality;
    struct list l = {0};
    double cpu = r->total.user + r->total.sys, none = 0;
    for (size_t i = 0; i < r->modules.count; i++)
        none += r->module_sums[i].user + r->module_sums[i].sys;
    if (cpu > 0) {
        q->unattributed_cpu_share = none / cpu;
        q->borrowed_cpu_share = r->total.borrowed / cpu;
    }
    if (r->q.by_kernel > 0 && r->has_cpu)
        q->cpu_sample_coverage = r->q.sampled / r->q.by_kernel;
    q->clock_method = !r->has_gpu || r->q.no_clock ? "none"
                      : r->q.clock_method          ? r->q.clock_method
                                                   : "monotonic";
    q->clock_error_ns = r->has_gpu ? r->q.clock_error : (double)NAN;
    q->clock_steps = r->has_gpu ? (int64_t)r->q.clock_steps : MODEL_UNKNOWN;
    if (r->q.frames_all)
        q->unresolved_frame_share = (double)r->q.frames_unknown / (double)r->q.frames_all;
    TRY(costs(r));
    TRY(checks(r));
    enum err e = counted(r, &l);
    if (e == ERR_OK)
        e = shares(r, &l);
    struct model_item children;
    if (e == ERR_OK)
        e = children_without_trace(r, &children);
    if (e == ERR_OK && children.count)
        e = add(&l, &children);
    for (size_t i = 0; i < r->q.notes_count && e == ERR_OK; i++)
        e = add(&l, &r->q.notes[i]);
    if (e == ERR_OK)
        e = model_list(r->m, model_item, q, items, l.n);
    q->complete = 1;
    for (size_t i = 0; i < l.n && e == ERR_OK; i++) {
        q->items[i] = l.items[i];
        q->complete &= !strcmp(l.items[i].severity, "info");
    }
    for (int i = 0; i < q->checks_count; i++)
        q->complete &= q->checks[i].ok;
    free(l.items);
    return e;
}
