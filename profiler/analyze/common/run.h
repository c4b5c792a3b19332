/* The analysis from inside: one `struct run`, and one `struct image` after the other (a trace file:
 * what one process image recorded). While a file streams by, everything that costs is added up per
 * spot = (thread, stack); at its end the stacks are resolved once each and spots are charged to
 * sites (lines and functions), to the tree of stacks, or to a module. */
#ifndef TP_ANALYZE_COMMON_RUN_H
#define TP_ANALYZE_COMMON_RUN_H

#include "profiler/analyze/analyze.h"
#include "profiler/analyze/common/dist.h"
#include "profiler/analyze/heap/live_heap.h"
#include "profiler/analyze/symbols/symbols.h"
#include "host/base/table.h"
#include "profiler/analyze/common/track.h"
#include "profiler/trace/reader.h"

/* Bounds, so that no trace takes more than about 512 MiB. What finds no room is counted. */
enum {
    SPOTS_MAX = 400000,
    HEAP_EVENTS_MAX = 3000000,
    LAUNCHES_MAX = 1500000,
    TRACK_EVENTS = 50000, /* per track; fewer where there are many tracks */
    TRACK_EVENTS_LEAST = 2048,
    TRACKS_EVENTS = 120000, /* of all in profile.json: 8 bytes each in the report */
};

/* Additive costs; all members are doubles (ns below 2^53 add exactly), so that they can be added
 * in a loop. */
struct amount {
    double n, bytes, ns;
};
struct sums {
    double user, sys, wait, python, native, borrowed, samples, cpu_square; /* ns */
    double alloc, alloc_variance, allocs, allocs_variance, copied;         /* bytes, counts */
    double launches, gpu_kernel, gpu_copy, gpu_set, built, device, gpu_wait, api; /* ns */
    struct amount copy[4];                        /* h2d d2h d2d p2p */
    double pageable, device_alloc, device_allocs; /* bytes */
};
void sums_add(struct sums *to, const struct sums *from);
static inline double sums_gpu(const struct sums *s)
{
    return s->gpu_kernel + s->gpu_copy + s->gpu_set;
}

struct site { /* a line, or a function when line is 0 */
    uint32_t file;
    int line, begins, function; /* function: site of the innermost that was seen, -1 none */
    const char *name;
    struct sums self, incl;
    struct holding heap, device;
    uint32_t curve; /* in run.curves, + 1; 0 none */
    uint32_t mark;  /* last charge: counts a site once per stack */
};
struct source {
    const char *recorded, *path; /* as recorded; as shown */
    int user, python;
};
struct node { /* of the tree of stacks */
    uint32_t parent, frame;
    double cpu, wait, gpu, alloc;
};
struct frame {
    const char *function, *file, *module, *kind; /* file: as shown */
    int line;
};

struct variant { /* launch configuration of a kernel, of one image */
    uint64_t name;
    uint32_t grid[3], block[3], cluster[3], registers, static_shared, dynamic_shared, device;
    uint64_t local_bytes;
    struct dist time;
    double api_ns, queue_ns, queued_n;
    uint32_t kernel; /* in run.kernels, once known */
};
struct kernel {
    const char *mangled;
    struct variant *variants;
    size_t count, room;
    const char *recorded, *file; /* as recorded; as shown */
    int line;
    int rank;            /* by total time */
    double total;        /* ns */
    struct table places; /* site -> index */
    struct kernel_place {
        uint32_t site;
        double n, ns;
    } * at;
    size_t at_count, at_room;
};
struct tally { /* anything that is counted by a name or a few small numbers */
    const char *name, *domain;
    uint32_t key[4];
    uint64_t errors, open, operations;
    double value, cpu, gpu_sum, gpu_projected;
    struct dist time;
};
struct tallies {
    struct tally *items;
    size_t count, room;
    struct table by_key;
};
/* The tally of a key, made when new; NULL: out of memory. */
struct tally *tally_of(struct tallies *t, const char *domain, const char *name, uint32_t a,
                       uint32_t b, uint32_t c, uint32_t d);
void tallies_free(struct tallies *t);

struct in_range { /* CPU time of a site inside an outermost range */
    uint32_t site, range;
    double ns;
};
struct lane { /* a track of the timeline, and whose it is */
    const char *kind;
    int process, thread, device;
    uint32_t context, stream;
    struct track track;
};
struct interval {
    uint64_t start, end;
};
struct gap {
    uint64_t start, end;
    int device;
};
struct device {
    struct trace_device d;
    const char *name;
    double busy, sum, idle, peak;
    uint64_t first, last;
    struct interval *busy_list; /* until BUSY_MAX; then `coarse` */
    size_t busy_count, busy_room;
    int images;
};

struct quality_count { /* what the images found; quality.c makes sentences of it */
    uint64_t lost[TRACE_LOSSES];
    struct trace_damage damage;
    uint64_t bad_values, spots_full, heap_full, launches_full, ranges_full, no_free, unreadable,
        running;
    uint64_t overlaps, no_clock, before_call, zero_times, clock_steps, unmatched_launches;
    uint64_t frames_unknown, frames_all, cubins_bad;
    double clock_error, sampled, by_kernel, stacks; /* stacks: that were asked for */
    const char *clock_method;
    struct model_item *notes;
    size_t notes_count, notes_room;
    double cost_ns[TRACE_PARTS], cost_calls[TRACE_PARTS];
    uint64_t capture_bytes;
};

struct run {
    const struct analyze_options *options;
    struct model *m;
    struct symbols *symbols;
    const char *folder;    /* of the trace files */
    uint64_t origin, last; /* first start, last moment */
    const char *cwd, *home;
    int has_cpu, has_heap, has_copies, has_gpu, has_wait;

    struct site *sites;
    size_t sites_count, sites_room;
    struct table site_by_key;
    struct source *sources;
    size_t sources_count, sources_room;
    struct table source_by_path;
    struct table path_of, class_of; /* caches of rules.c, by address of the text */
    const char **paths;
    size_t paths_count, paths_room;
    struct node *nodes;
    size_t nodes_count, nodes_room;
    struct table node_by_key;
    struct frame *frames;
    size_t frames_count, frames_room;
    struct table frame_by_key;
    struct tallies modules; /* unattributed; their sums beside */
    struct sums *module_sums;
    size_t module_room;
    uint32_t marks;

    struct sums total;
    double waits[TRACE_STOPPED + 1];
    struct kernel *kernels;
    size_t kernels_count, kernels_room;
    struct table kernel_by_name;
    struct tallies transfers, sets, apis, ranges, overheads, faults, syncs;
    struct device *devices;
    size_t devices_count, devices_room;
    struct gap *gaps;
    size_t gaps_count, gaps_room;
    struct interval *syncing; /* host blocked in synchronising calls */
    size_t syncing_count, syncing_room;
    double no_origin_n, no_origin_ns, kernels_n, launches_n, borrowed_alloc;
    double line_gpu_ns;

    struct interval *all_busy; /* of all devices, for waiting */
    size_t all_busy_count;
    struct model_process *processes; /* built up; names in the model's arena */
    size_t processes_count, processes_room;
    struct made *made; /* children.c */
    size_t made_count, made_room;
    struct model_fact *facts;
    size_t facts_count, facts_room;
    struct model_thread *threads;
    size_t threads_count, threads_room;
    struct lane *lanes;
    size_t lanes_count, lanes_room;
    struct model_series *series;
    size_t series_count, series_room;
    struct curves *curves;
    struct in_range *in_ranges;
    size_t in_ranges_count, in_ranges_room;
    struct table in_range_by_key;
    double largest_heap; /* of one image */
    double cores;        /* of the recording machine, 0 unknown */
    struct quality_count q;
};

/* A text for the model, cleaned of nothing: the JSON writer escapes. */
const char *run_text(struct run *r, const char *s);
size_t run_track_limit(const struct run *r); /* events of a track, for track_add */
struct lane *run_lane(struct run *r, const char *kind, int process, int thread, int device,
                      uint32_t context, uint32_t stream);

#endif
