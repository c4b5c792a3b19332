/* Perfetto's own trace format: a track for each thread and stream, memory as counters, flows from
 * calls to what they started on a device. Smaller than the JSON of chrome.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/report/export/export.h"
#include "profiler/report/export/proto_write.h"

/* Fields of TracePacket, TrackDescriptor and TrackEvent, and values of the last one's type. */
enum { TIMESTAMP = 8, SEQUENCE = 10, TRACK_EVENT = 11, INTERNED = 12, FLAGS = 13, DESCRIPTOR = 60 };
enum { FLAG_BEGINS = 1, FLAG_NEEDS_IDS = 2 }; /* of FLAGS */
enum { UUID = 1, NAME = 2, PROCESS = 3, PARENT = 5, COUNTER = 8 };
enum { TEXT_IDS = 29 };                                                  /* of INTERNED */
enum { NOTE_UINT = 3, NOTE_NAME = 10, NOTE_TEXT_ID = 17, CHAIN = 1024 }; /* of EVENT_NOTE */
enum {
    EVENT_NOTE = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORIES = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER = 44,
    EVENT_FLOW = 47
};
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

#define LANES        64 /* of one track: events that overlap lie on different ones */
#define TRACK_UUID   1000
#define COUNTER_UUID 0x4000000
#define CALLS_UUID   0x8000000 /* of a thread: the calls that flows begin at */

struct flow_at {
    int64_t at;
    int index; /* in the model's flows */
};
struct out {
    struct proto_out trace, packet, inner, part;
    FILE *stream;
    int first;
    struct flow_at *flows; /* by track of the device and time */
    char *attached;        /* of the model's flows: 1 where the operation was written */
    char *told;            /* of the model's stacks: 1 where its text has an id */
    const struct model *m;
    int needs_ids;
};

static void end_packet(struct out *o)
{
    proto_number(&o->packet, SEQUENCE, 1);
    if (!o->first || o->needs_ids)
        proto_number(
            &o->packet, FLAGS,
            (uint64_t)((o->first ? 0 : FLAG_BEGINS) | (o->needs_ids ? FLAG_NEEDS_IDS : 0)));
    o->first = 1;
    o->needs_ids = 0;
    proto_message(&o->trace, 1, &o->packet);
    if (!o->trace.failed)
        fwrite(o->trace.data, 1, o->trace.bytes, o->stream);
    o->trace.bytes = 0;
}

static void describe_track(struct out *o, uint64_t uuid, uint64_t parent, const char *name,
                           int64_t pid, int counter)
{
    proto_number(&o->inner, UUID, uuid);
    if (parent)
        proto_number(&o->inner, PARENT, parent);
    proto_text(&o->inner, NAME, name);
    if (pid >= 0) {
        proto_number(&o->part, 1, (uint64_t)pid);
        proto_text(&o->part, 6, name);
        proto_message(&o->inner, PROCESS, &o->part);
    }
    if (counter) {
        proto_number(&o->part, 3, 3); /* unit: bytes */
        proto_message(&o->inner, COUNTER, &o->part);
    }
    proto_message(&o->packet, DESCRIPTOR, &o->inner);
    end_packet(o);
}

/* The text of a stack gets an id in the packet that names it first: "caller;function file.c:12". */
static void put_stack(struct out *o, int32_t node)
{
    const struct model *m = o->m;
    char text[CHAIN * 16] = "", label[2048];
    int32_t chain[CHAIN];
    int n = 0;
    size_t used = 0;
    for (int32_t s = node; s >= 0 && m->stacks[s].parent >= 0 && n < CHAIN; s = m->stacks[s].parent)
        if (m->stacks[s].frame >= 0)
            chain[n++] = m->stacks[s].frame;
    while (n > 0 && used < sizeof text) {
        export_frame_label(&m->frames[chain[--n]], label, sizeof label);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ";" : "", label);
    }
    proto_number(&o->part, 1, (uint64_t)node + 1);
    proto_text(&o->part, 2, text);
    proto_message(&o->inner, TEXT_IDS, &o->part);
    proto_message(&o->packet, INTERNED, &o->inner);
    o->told[node] = 1;
}

/* An event of a thread has this beside its name: its stack and its CPU time. */
struct perfetto_cpu {
    int32_t node; /* -1: nothing */
    int64_t busy_ns;
};

static void put_notes(struct out *o, const struct perfetto_cpu *cpu)
{
    proto_text(&o->part, NOTE_NAME, "stack");
    proto_number(&o->part, NOTE_TEXT_ID, (uint64_t)cpu->node + 1);
    proto_message(&o->inner, EVENT_NOTE, &o->part);
    proto_text(&o->part, NOTE_NAME, "cpu_ns");
    proto_number(&o->part, NOTE_UINT, (uint64_t)cpu->busy_ns);
    proto_message(&o->inner, EVENT_NOTE, &o->part);
    o->needs_ids = 1;
}

static void put_track_event(struct out *o, uint64_t uuid, int type, int64_t at, const char *name,
                            const char *category, const struct flow_at *flows,
                            const struct flow_at *end, const struct perfetto_cpu *cpu)
{
    proto_number(&o->packet, TIMESTAMP, (uint64_t)at);
    if (cpu->node >= 0 && !o->told[cpu->node])
        put_stack(o, cpu->node);
    if (cpu->node >= 0)
        put_notes(o, cpu);
    proto_number(&o->inner, EVENT_TYPE, (uint64_t)type);
    proto_number(&o->inner, EVENT_TRACK, uuid);
    for (; flows < end; flows++) {
        proto_fixed64(&o->inner, EVENT_FLOW, (uint64_t)flows->index + 1);
        o->attached[flows->index] = 1;
    }
    if (category)
        proto_text(&o->inner, EVENT_CATEGORIES, category);
    if (name)
        proto_text(&o->inner, EVENT_NAME, name);
    proto_message(&o->packet, TRACK_EVENT, &o->inner);
    end_packet(o);
}

/* The lane of an event that begins at `at`: the first that is over by then; the last one takes the
 * rest. */
static int lane_for(const int64_t ends[LANES], int64_t at)
{
    for (int i = 0; i < LANES - 1; i++)
        if (ends[i] <= at)
            return i;
    return LANES - 1;
}

static const struct perfetto_cpu nothing = {-1, 0};

static int event_selected(const struct export_options *o, int64_t at, int64_t length)
{
    double from = o->from_s * 1e9, to = o->to_s > 0 ? o->to_s * 1e9 : (double)INFINITY;
    return (double)(at + length) >= from && (double)at <= to && (double)length >= o->min_s * 1e9;
}

ARRAY_ORDER(by_time, struct flow_at, COMPARE(x->at, y->at) ?: COMPARE(x->index, y->index));

/* The flows that end on a device's track, by time; their number. */
static int flows_of(struct out *out, const struct model *m, const struct model_track *t)
{
    int n = 0;
    for (int i = 0; i < m->flows_count && t->device >= 0; i++) {
        const struct model_flow *f = &m->flows[i];
        if (f->device == t->device && f->context == t->context && f->stream == t->stream &&
            f->kind && t->kind && !strcmp(f->kind, t->kind))
            out->flows[n++] = (struct flow_at){f->began, i};
    }
    array_sort(out->flows, (size_t)n, sizeof *out->flows, by_time);
    return n;
}

/* The calls of a thread whose operations were written. */
static void put_calls(struct out *out, const struct model *m, int thread)
{
    int n = 0;
    char name[256];
    for (int i = 0; i < m->flows_count; i++)
        if (m->flows[i].thread == thread && out->attached[i])
            out->flows[n++] = (struct flow_at){m->flows[i].called, i};
    if (!n)
        return;
    array_sort(out->flows, (size_t)n, sizeof *out->flows, by_time);
    const struct model_thread *t = &m->threads[thread];
    uint64_t uuid = CALLS_UUID + (uint64_t)thread;
    snprintf(name, sizeof name, "%s: calls that started device operations",
             t->name ? t->name : "?");
    describe_track(out, uuid, t->process >= 0 ? (uint64_t)t->process + 1 : 0, name, -1, 0);
    for (int i = 0; i < n; i++)
        put_track_event(out, uuid, TYPE_INSTANT, out->flows[i].at,
                        m->flows[out->flows[i].index].kind, "call", out->flows + i,
                        out->flows + i + 1, &nothing);
}

static void perfetto_put_track(struct out *out, const struct model *m,
                               const struct export_options *o, int index)
{
    const struct model_track *t = &m->timeline[index];
    int64_t ends[LANES], at = 0;
    int made[LANES] = {0};
    char name[256];
    for (int i = 0; i < LANES; i++)
        ends[i] = INT64_MIN;
    export_track_name(m, t, name);
    const uint64_t first = TRACK_UUID + (uint64_t)index * LANES,
                   parent = t->process >= 0 ? (uint64_t)t->process + 1 : 0;
    int flows = flows_of(out, m, t), flow = 0;
    for (int i = 0; i < t->events_count; i++) {
        const struct model_event *e = &t->events[i];
        at += e->start;
        if (!event_selected(o, at, e->length))
            continue;
        int lane = lane_for(ends, at);
        uint64_t uuid = first + (uint64_t)lane;
        if (!made[lane]++)
            describe_track(out, uuid, parent, name, -1, 0);
        int64_t begin = at > ends[lane] ? at : ends[lane]; /* on the last lane alone it moves */
        int64_t end = at + e->length > begin ? at + e->length : begin;
        ends[lane] = end;
        while (flow < flows && out->flows[flow].at < at) /* of an operation that was left out */
            flow++;
        const int stack = (!strcmp(t->kind, "cpu") || !strcmp(t->kind, "wait")) && e->what >= 0 &&
                          e->what < m->stacks_count;
        const struct perfetto_cpu cpu = {stack ? e->what : -1, export_busy(e)};
        int last = flow;
        while (last < flows && out->flows[last].at <= at + e->length)
            last++;
        put_track_event(out, uuid, TYPE_BEGIN, begin, export_event_name(m, t, e->what), t->kind,
                        out->flows + flow, out->flows + last, &cpu);
        put_track_event(out, uuid, TYPE_END, end, NULL, NULL, NULL, NULL, &nothing);
        flow = last;
    }
}

static void put_series(struct out *out, uint64_t uuid, const double *t_s, const double *mb,
                       int count)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(mb[i]) || !isfinite(t_s[i]) || t_s[i] < 0)
            continue;
        proto_number(&out->packet, TIMESTAMP, export_ns(t_s[i]));
        proto_number(&out->inner, EVENT_TYPE, TYPE_COUNTER);
        proto_number(&out->inner, EVENT_TRACK, uuid);
        proto_real(&out->inner, EVENT_COUNTER, mb[i] * 1048576);
        proto_message(&out->packet, TRACK_EVENT, &out->inner);
        end_packet(out);
    }
}

static void perfetto_write(const struct model *m, const struct export_options *o, FILE *stream)
{
    struct out out = {.stream = stream, .m = m};
    for (int i = 0; i < m->processes_count; i++)
        describe_track(&out, (uint64_t)i + 1, 0, export_process_name(&m->processes[i]),
                       export_pid(m, i), 0);
    out.flows = calloc((size_t)m->flows_count + 1, sizeof *out.flows);
    out.attached = calloc((size_t)m->flows_count + 1, 1);
    out.told = calloc((size_t)m->stacks_count + 1, 1);
    out.trace.failed = !out.flows || !out.attached || !out.told; /* no memory */
    for (int i = 0; i < m->timeline_count && !out.trace.failed; i++)
        perfetto_put_track(&out, m, o, i);
    for (int i = 0; i < m->threads_count && !out.trace.failed; i++)
        put_calls(&out, m, i);
    for (int i = 0; i < m->memory.series_count; i++) {
        const struct model_series *s = &m->memory.series[i];
        uint64_t uuid = COUNTER_UUID + 2 * (uint64_t)i,
                 parent = s->process >= 0 ? (uint64_t)s->process + 1 : 0;
        describe_track(&out, uuid, parent, "resident memory", -1, 1);
        put_series(&out, uuid, s->t_s, s->rss_mb,
                   s->t_s_count < s->rss_mb_count ? s->t_s_count : s->rss_mb_count);
        describe_track(&out, uuid + 1, parent, "live heap", -1, 1);
        put_series(&out, uuid + 1, s->t_s, s->heap_mb,
                   s->t_s_count < s->heap_mb_count ? s->t_s_count : s->heap_mb_count);
    }
    proto_out_free(&out.trace);
    proto_out_free(&out.packet);
    proto_out_free(&out.inner);
    proto_out_free(&out.part);
    free(out.flows);
    free(out.attached);
    free(out.told);
}

const struct exporter export_perfetto = {
    "perfetto", ".pftrace", "Perfetto's trace format for ui.perfetto.dev", perfetto_write};
