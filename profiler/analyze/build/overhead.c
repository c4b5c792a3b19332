/* The recorder's own cost: what its functions measured, what the kernel counted of its threads, and
 * what no function of it can see, by number and price (record.h's prices).
 *
 * Its functions measure one call in some, but cannot measure the way in and out (returns and cache
 * lines that a system call left cold): they see 11 of the 30 ns that a small write takes. Samples
 * see all of it, where there are enough of them. */
#include "profiler/analyze/build/build.h"

enum { SAMPLES_FEW = 4 }; /* a standard error of a half */

static const struct recorder_part {
    const char *name;
    int called; /* by the program, in its threads: samples see it */
} parts[TRACE_PARTS] = {
    [TRACE_PART_SAMPLER] = {"sampler", 0},
    [TRACE_PART_WAIT] = {"own threads", 0},
    [TRACE_PART_ALLOC] = {"alloc", 1},
    [TRACE_PART_COPY] = {"copy", 1},
    [TRACE_PART_NVTX] = {"nvtx", 1},
    [TRACE_PART_CUDA] = {"cuda", 1},
    [TRACE_PART_WRITER] = {"writer", 0},
    [TRACE_PART_MALLOC_CALLS] = {"malloc calls", 1},
    [TRACE_PART_FREE_CALLS] = {"free calls", 1},
    [TRACE_PART_COPY_CALLS] = {"copy calls", 1},
    [TRACE_PART_IO] = {"io", 1},
    [TRACE_PART_LOCKS] = {"locks", 1},
    [TRACE_PART_LOCK_CALLS] = {"lock calls", 1},
    [TRACE_PART_MPI] = {"mpi", 1},
    [TRACE_PART_THREADS] = {"threads", 0},
    [TRACE_PART_SECOND] = {"second thread", 0},
    [TRACE_PART_WAKE] = {"wake", 0},
    [TRACE_PART_STDIO] = {"stdio calls", 1},
};
enum { COST_SIGNALS = TRACE_PARTS, COST_PROCESSES, COST_ROWS };

/* Divides the time that samples saw by what the parts that the program calls told. */
static double times_more(const struct quality_count *q)
{
    double told = 0;
    for (int i = 0; i < TRACE_PARTS; i++)
        told += parts[i].called ? q->cost_ns[i] : 0;
    return told > 0 && q->recorder_samples >= SAMPLES_FEW && q->recorder_sampled_ns > told
               ? q->recorder_sampled_ns / told
               : 1;
}

static struct model_cost cost_row(const char *name, double ns, double calls)
{
    return (struct model_cost){name, ns_to_seconds(ns),
                               calls < 9e15 ? (int64_t)calls : MODEL_UNKNOWN};
}

/* Its own threads by the kernel; those whose end it did not tell by the last that they said. */
static struct model_cost cost_of_part(const struct quality_count *q, int part, double more)
{
    double ns = q->cost_ns[part] * (parts[part].called ? more : 1);
    if (part == TRACE_PART_WAIT)
        ns += q->recorder_ns;
    return cost_row(parts[part].name, ns, q->cost_calls[part]);
}

static double cpu_between(const struct cpu_moment *from, const struct cpu_moment *to)
{
    const double ns = to->user + to->sys - from->user - from->sys;
    return from->known && to->known && ns > 0 ? ns : 0;
}

/* Returns the price of such a process that does nothing; 0 unknown. */
static double process_price(const struct analyze_launch *l, const struct account *a)
{
    if (!a->at[TRACE_AT_LOAD].known)
        return l->fork_s;
    return a->pid == l->pid ? l->start_s : l->load_s; /* it does not sleep, nor what it becomes */
}

/* Counts of each process what setting up took, and no less than one costs that does nothing. */
static struct model_cost cost_of_processes(const struct run *r)
{
    const struct analyze_launch *l = &r->options->launch;
    double ns = 0;
    for (size_t i = 0; i < r->accounts.count; i++) {
        const struct account *a = &r->accounts.items[i];
        const struct cpu_moment *load = &a->at[TRACE_AT_LOAD];
        const double price = 1e9 * process_price(l, a),
                     set_up = cpu_between(load, &a->at[TRACE_AT_START]);
        ns += set_up > price ? set_up : price;
    }
    return cost_row("processes", ns, (double)r->accounts.count);
}

enum err build_overhead(struct run *r)
{
    struct model_quality *q = &r->m->quality;
    const double cpu = r->total.user + r->total.sys, more = times_more(&r->q),
                 samples = r->q.cost_calls[TRACE_PART_SAMPLER];
    double sum = 0;
    TRY(model_list(r->m, model_cost, q, overhead, COST_ROWS));
    for (int i = 0; i < TRACE_PARTS; i++)
        q->overhead[i] = cost_of_part(&r->q, i, more);
    q->overhead[COST_SIGNALS] =
        cost_row("signals", 1e9 * r->options->launch.signal_s * samples, samples);
    q->overhead[COST_PROCESSES] = cost_of_processes(r);
    for (int i = 0; i < COST_ROWS; i++)
        sum += q->overhead[i].s;
    if (cpu > 0)
        q->overhead_share = sum / ns_to_seconds(cpu);
    q->capture_bytes =
        r->q.capture_bytes < 1ull << 53 ? (int64_t)r->q.capture_bytes : MODEL_UNKNOWN;
    return ERR_OK;
}
