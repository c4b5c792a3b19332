/* The analysis from inside: one `struct run`, and one `struct image` after the other (a trace file:
 * what one process image recorded). While a file streams by, all costs are added up per sample
 * context = (thread, stack); at its end the stacks are resolved once each and the contexts are
 * attributed to sites (lines and functions), to the tree of stacks, or to a module. */
#ifndef TP_ANALYZE_STATE_RUN_H
#define TP_ANALYZE_STATE_RUN_H

#include "base/table.h"
#include "profiler/analyze/analyze.h"
#include "profiler/analyze/common/dist.h"
#include "profiler/analyze/common/live_heap.h"
#include "profiler/analyze/common/track.h"
#include "base/array.h"
#include "profiler/analyze/state/gpu_run.h"
#include "profiler/analyze/symbols/symbols.h"
#include "profiler/trace/reader.h"

/* Bounds, so that no trace takes more than about 512 MiB. What finds no room is counted. */
enum {
    CONTEXTS_MAX = 400000,
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
struct costs {
    double user, sys, wait, python, native, borrowed, samples, cpu_square; /* ns */
    double alloc, alloc_variance, allocs, allocs_variance, copied;         /* bytes, counts */
    double launches, gpu_kernel, gpu_copy, gpu_set, built, device, gpu_wait, api; /* ns */
    double inside;                                        /* kernels, by their samples */
    struct amount copy[4];                                /* h2d d2h d2d p2p */
    double pageable, device_alloc, device_allocs;         /* bytes */
    double io_calls, io_read, io_write, io_ns, io_waited; /* counts, bytes, ns */
};
void costs_add(struct costs *to, const struct costs *from);
static inline double costs_gpu(const struct costs *s)
{
    return s->gpu_kernel + s->gpu_copy + s->gpu_set;
}

struct site { /* a line, or a function when line is 0 */
    uint32_t file;
    int line, begins, function; /* function: site of the innermost that was seen, -1 none */
    const char *name;
    struct costs self, incl;
    struct live_heap heap, device;
    uint32_t curve; /* in run.curves, + 1; 0 none */
    uint32_t mark;  /* stack that was attributed last: a site counts once per stack */
};
struct source {
    const char *recorded, *path; /* as recorded; as shown */
    int user, python;
};
struct tree_node { /* of the tree of stacks */
    uint32_t parent, frame;
    double cpu, wait, gpu, alloc, peak; /* ns; bytes; peak: live when the heap was largest */
};
/* Kinds of waits, by system call; the last ones end when somebody else has done something. */
enum waits_for {
    WAITS_READY, /* a CPU */
    WAITS_DEVICE,
    WAITS_SLEEP,
    WAITS_IO,
    WAITS_EVENTS,
    WAITS_LOCK,
    WAITS_POLL,     /* a library that sleeps in turns: for others, where others work */
    WAITS_REQUESTS, /* own lines alone: an idle server, see attribute/sites.c */
    WAITS_CHILD,    /* a process that it has started */
    WAITS
};
struct own_node { /* of the call tree of own code; attribute/sites.c */
    uint32_t parent;
    int site; /* of its line, -1 none */
    const char *name, *module, *kind;
    double cpu, samples, wait, gpu;
    double path_cpu, path_wait[WAITS]; /* of the wall time: build_own.c */
    uint32_t pool;    /* of workers below a line that waits for them: all that these threads do */
    double waited_ns; /* CPU time of these threads while the line waited */
    int has_workers;  /* a line that waited for such threads */
};
struct own_work { /* what a node of own code did; attribute/work.c */
    uint32_t own;
    const char *kind, *what;
    double ns;
};
struct lock_span { /* a wait for a lock, or a part of one; kept where a line's gain is asked for */
    uint64_t start, end, address;
    int process, thread, holder; /* rows; holder: -1 unknown */
    int taken, gave_up;          /* it ended with the lock; without it, by a timeout */
};
struct child_wait { /* of a node of own code; build/child_waits.c */
    uint32_t own;
    const char *program;
    double ns;
};
struct moment_of { /* an interval that a thread spent on a CPU or waiting, for the critical path */
    uint64_t start, end, busy;
    uint32_t own;
    int process, thread; /* rows */
    int waiting;         /* 0: on a CPU */
    enum waits_for waits;
    int idle;     /* waits for the next request, job or event */
    int polls;    /* sleeps in short turns */
    double ready; /* part of a wait in which it was ready for a CPU */
};
struct tree_frame {
    const char *function, *file, *module, *kind; /* file: as shown */
    int line, thread;                            /* thread: row + 1 of a root, 0 none */
};

struct in_range { /* CPU time of a site inside a range; ns: where that is the outermost one */
    uint32_t site, range;
    double ns, all_ns;
};
struct own_in_range { /* time of a node of own code inside a range */
    uint32_t own, range;
    double cpu, wait; /* wait: for a CPU left out */
};
struct in_thread { /* what a thread has of a site */
    uint32_t site, thread;
    double cpu, incl, wait, gpu;
};
struct timeline_track { /* a track of the timeline, and what it belongs to */
    const char *kind;
    int process, thread, device;
    int64_t cuda_context, stream;
    struct track track;
};
struct cpu_moment { /* the process's CPU time until then, ns */
    double user, sys;
    int known, left_out; /* left_out: not in the part of the run that is asked for */
};
struct account {                   /* of one process image */
    int pid, execs, ended, thread; /* thread: row of its main thread, -1 none */
    size_t image;
    uint64_t start;
    const char *name;
    struct cpu_moment at[TRACE_AT_END + 1]; /* by enum trace_account_at */
    double threads_ns;                      /* what its threads took while samples could see them */
    size_t others;                          /* threads beside the main one */
};

struct quality_count { /* what the images found; quality.c makes sentences of it */
    uint64_t lost[TRACE_LOSSES];
    struct trace_damage damage;
    uint64_t bad_values, contexts_full, heap_full, launches_full, ranges_full, no_free, unreadable,
        regions_missing /* after_start is asked for, but no region was found */, running,
        sources_foreign, sources_outside, sources_changed, filtered;
    uint64_t filtered_ns; /* when the first of them did, from the origin of the run */
    uint64_t overlaps, no_clock, before_call, zero_times, clock_steps, unmatched_launches;
    uint64_t frames_unknown, frames_all, cubins_bad, capture_bytes;
    double clock_error, sampled, by_kernel, stacks; /* stacks: that were asked for */
    double recorder_ns; /* of its threads, by the kernel: in the launcher's account of the run */
    double recorder_samples, recorder_sampled_ns; /* in its functions, on others */
    /* CPU time in stacks: without root; middle; numbers of Python lines; root of Python frames */
    double cut_ns, deep_ns, no_line_ns, python_cut_ns;
    const char *clock_method;
    VECTOR(struct model_item) notes;
    double cost_ns[TRACE_PARTS], cost_calls[TRACE_PARTS];
};

struct own_folder { /* of a program or script, as recorded */
    const char *path;
    int built; /* of a program: its sources may lie beside it */
};

struct source_note { /* which text a file had, see build/source_notes.h */
    const char *path;
    uint64_t hash, bytes;
};

struct run {
    const struct analyze_options *options;
    struct model *m;
    struct symbols *symbols;
    const char *folder;        /* of the trace files */
    uint64_t origin, last;     /* first start (from_s later), last moment */
    double from_s;             /* of the options, or where the first region began */
    uint64_t until, end;       /* nothing after it counts; the last moment of the whole run */
    struct run_clocks *clocks; /* of its images */
    double imports_s; /* when the start-up's imports ended, since origin; 0: there were none */
    uint64_t ended_realtime_ns;
    const char *cwd, *home;
    VECTOR(struct own_folder) own_folders;
    int has_cpu, has_heap, has_copies, has_gpu, has_wait, has_io, has_locks;
    int heap_cut, copies_cut; /* a process took the wrappers out: what it did later is not known */

    VECTOR(struct site) sites;
    struct table site_by_key;
    VECTOR(struct source) sources;
    struct table source_by_path;
    const struct cell *cells; /* of a notebook; cells.c */
    int cells_count;
    struct table cell_by_file, cell_by_name;
    struct {
        VECTOR(const char *) files; /* as recorded */
        VECTOR(const char *) found;
        struct table by_code;
    } sent; /* sent_code.c */
    VECTOR(struct source_note) notes;
    struct table note_by_path;
    struct table path_of;        /* cache of paths.c, by address of the text */
    struct table cython_by_file; /* frames.c, by address of the text */
    VECTOR(struct cython_file) cython;
    VECTOR(const char *) paths;
    VECTOR(struct tree_node) nodes;
    struct table node_by_key;
    VECTOR(struct own_node) own;
    struct table own_by_key;
    VECTOR(struct own_work) works;
    struct table work_by_key;
    VECTOR(struct moment_of) moments;
    VECTOR(struct child_wait) child_waits;
    double path_ready; /* of the wall time: ready for a CPU; build_own.c */
    VECTOR(struct tree_frame) frames;
    struct table frame_by_key;
    struct counters cut_at;  /* modules in which unwinding ended, value in ns */
    struct counters modules; /* unattributed; their costs beside */
    VECTOR(struct costs) module_costs;
    uint32_t marks;

    struct costs total;
    double waits[TRACE_STOPPED + 1];
    VECTOR(struct account) accounts;
    double startup_ns, shutdown_ns;
    VECTOR(struct model_process) processes; /* built up; names in the model's arena */
    VECTOR(struct made) made;               /* children.c */
    VECTOR(struct model_fact) facts;
    VECTOR(struct model_thread) threads;
    VECTOR(struct timeline_track) timeline;
    struct flows flows;
    struct gpu_run gpu;
    struct {
        struct counters names, payloads; /* payloads: key is row of names, number in two halves */
        VECTOR(struct in_range) inside;  /* CPU time of lines inside of them */
        VECTOR(struct own_in_range) own;
        struct table inside_by_key, own_by_key;
    } ranges;
    struct {
        VECTOR(struct model_series) series;
        struct curves *curves;
        double largest, borrowed_alloc; /* largest: live bytes of one image */
    } heap;
    struct { /* names in the model's arena */
        VECTOR(struct model_lock) rows;
        VECTOR(struct model_contention) contention;
        VECTOR(struct lock_span) spans;
        VECTOR(double) held_up; /* ns, by row of threads: waits for what another thread held */
    } locks;
    struct io_run *io;       /* io/io.h */
    struct ranks_run *ranks; /* ranks/ranks_state.h; NULL: no rank was seen */
    VECTOR(struct in_thread) in_threads;
    struct table in_thread_by_key;
    struct quality_count q;
};

/* A text for the model, cleaned of nothing: the JSON writer escapes. */
const char *run_text(struct run *r, const char *s);
size_t run_track_limit(const struct run *r); /* events of a track, for track_add */
struct timeline_track *run_track(struct run *r, const char *kind, int process, int thread,
                                 int device, int64_t cuda_context, int64_t stream);

#endif
