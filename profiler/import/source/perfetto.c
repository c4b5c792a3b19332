/* Perfetto's trace format: slices of tracks become the same events as those of Chrome's JSON. It
 * holds names alone, no stacks but those of slices that lie in each other. */
#include <stdio.h>
#include <string.h>

#include "profiler/import/read/protobuf.h"
#include "profiler/import/source/source.h"
#include "profiler/import/source/trace_events.h"

/* Fields of TracePacket, TrackDescriptor, TrackEvent and InternedData. */
enum { TIMESTAMP = 8, SEQUENCE = 10, TRACK_EVENT = 11, INTERNED = 12, CLOCK = 58, DESCRIPTOR = 60 };
enum { UUID = 1, NAME = 2, PROCESS = 3, THREAD = 4, PARENT = 5 };
enum { TEXT_IDS = 29, NOTE_UINT = 3, NOTE_NAME = 10, NOTE_TEXT_ID = 17 };
enum {
    CATEGORY_ID = 3,
    NOTE = 4,
    TYPE = 9,
    NAME_ID = 10,
    TRACK = 11,
    CATEGORY = 22,
    EVENT_NAME = 23
};
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

#define DEPTH 8 /* of tracks in tracks, up to their process */

struct trace_row {
    uint64_t uuid, parent;
    const char *name;
    int64_t pid, tid; /* -1: not said */
    int32_t device;
    int64_t stream; /* -1: not of a device */
};
struct perfetto {
    struct trace_events t;
    VECTOR(struct trace_row) rows;
    VECTOR(const char *) texts;
    struct table tracks, names, categories; /* uuid to rows; sequence and id to texts */
    struct table stacks;                    /* sequence and id to the innermost frame */
    int64_t counters, instants, clocks;
};

static uint64_t sequence_key(uint64_t sequence, uint64_t id)
{
    uint64_t key[] = {sequence, id};
    return table_hash(key, sizeof key);
}

static const char *perfetto_text(struct perfetto *p, const struct proto_field *f)
{
    return f->type == 2 ? import_text(p->t.b, f->data, f->bytes) : NULL;
}

/* "caller;function file.c:12" to frames, each the parent of the next. */
static enum err stack_text(struct perfetto *p, const struct proto_field *f, uint64_t key)
{
    const char *at = (const char *)f->data, *end = at + f->bytes;
    int64_t parent = -1;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        const struct trace_frame frame = {.parent = parent,
                                          .name = import_text(p->t.b, at, (size_t)(stop - at))};
        parent = (int64_t)p->t.frames.count;
        TRY(trace_events_frame(&p->t, parent, &frame));
        at = stop + 1;
    }
    return parent < 0 ? ERR_OK : table_put(&p->stacks, key, (uint32_t)parent);
}

/* Ids of names hold within one sequence of packets. */
static enum err perfetto_interned(struct perfetto *p, const struct proto_field *data,
                                  uint64_t sequence)
{
    struct proto m = proto_in(data);
    struct proto_field f, g;
    while (proto_next(&m, &f)) {
        uint64_t id = 0;
        const char *name = NULL;
        if ((f.number != 1 && f.number != 2 && f.number != TEXT_IDS) || f.type != 2)
            continue;
        for (struct proto entry = proto_in(&f); proto_next(&entry, &g);) {
            if (g.number == 1 && g.type == 0)
                id = g.value;
            if (g.number == 2 && f.number == TEXT_IDS && g.type == 2)
                TRY(stack_text(p, &g, sequence_key(sequence, id)));
            else if (g.number == 2)
                name = perfetto_text(p, &g);
        }
        if (f.number == TEXT_IDS)
            continue;
        TRY(table_put(f.number == 1 ? &p->categories : &p->names, sequence_key(sequence, id),
                      (uint32_t)p->texts.count));
        TRY(vector_add(&p->texts, name));
    }
    return ERR_OK;
}

static enum err perfetto_descriptor(struct perfetto *p, const struct proto_field *data)
{
    struct proto m = proto_in(data);
    struct proto_field f, g;
    struct trace_row r = {.pid = -1, .tid = -1, .device = -1, .stream = -1};
    const char *inner = NULL;
    while (proto_next(&m, &f)) {
        if (f.number == UUID)
            r.uuid = f.value;
        else if (f.number == PARENT)
            r.parent = f.value;
        else if (f.number == NAME)
            r.name = perfetto_text(p, &f);
        else if (f.number == PROCESS || f.number == THREAD)
            for (struct proto part = proto_in(&f); proto_next(&part, &g);) {
                if (g.number == 1 && g.type == 0)
                    r.pid = (int64_t)(g.value & INT32_MAX);
                if (g.number == 2 && g.type == 0 && f.number == THREAD)
                    r.tid = (int64_t)(g.value & INT32_MAX);
                if (g.number == (f.number == THREAD ? 5 : 6))
                    inner = perfetto_text(p, &g);
            }
    }
    r.name = r.name ? r.name : inner;
    int device;
    long long stream;
    if (r.name && sscanf(r.name, "device %d stream %lld:", &device, &stream) == 2 && device >= 0 &&
        stream >= 0) {
        r.device = device & 255;
        r.stream = stream;
    }
    TRY(table_put(&p->tracks, r.uuid, (uint32_t)p->rows.count));
    return vector_add(&p->rows, r);
}

/* Debug annotations of our own export: the stack and the CPU time of a slice. */
static void perfetto_note(const struct perfetto *p, const struct proto_field *data,
                          uint64_t sequence, struct trace_event *e)
{
    struct proto m = proto_in(data);
    struct proto_field f;
    uint64_t value = 0, id = 0;
    int is_stack = 0, is_cpu = 0;
    while (proto_next(&m, &f)) {
        if (f.number == NOTE_NAME && f.type == 2) {
            is_stack = f.bytes == 5 && !memcmp(f.data, "stack", 5);
            is_cpu = f.bytes == 6 && !memcmp(f.data, "cpu_ns", 6);
        } else if (f.number == NOTE_UINT && f.type == 0)
            value = f.value;
        else if (f.number == NOTE_TEXT_ID && f.type == 0)
            id = f.value;
    }
    uint32_t at = is_stack ? table_get(&p->stacks, sequence_key(sequence, id)) : TABLE_NONE;
    if (at != TABLE_NONE)
        e->stack = at;
    if (is_cpu && value < 1ull << 53)
        e->busy = (int64_t)value;
}

static enum err perfetto_slice(struct perfetto *p, const struct proto_field *data, int64_t at,
                               uint64_t sequence)
{
    struct proto m = proto_in(data);
    struct proto_field f;
    struct trace_event e = trace_event_at(at);
    uint64_t type = 0, track = 0;
    while (proto_next(&m, &f)) {
        const struct table *ids = f.number == NAME_ID ? &p->names : &p->categories;
        if (f.number == TYPE)
            type = f.value;
        else if (f.number == TRACK)
            track = f.value;
        else if (f.number == EVENT_NAME)
            e.name = perfetto_text(p, &f);
        else if (f.number == CATEGORY)
            e.category = perfetto_text(p, &f);
        else if (f.number == NOTE && f.type == 2)
            perfetto_note(p, &f, sequence, &e);
        else if ((f.number == NAME_ID || f.number == CATEGORY_ID) && f.type == 0) {
            uint32_t i = table_get(ids, sequence_key(sequence, f.value));
            *(f.number == NAME_ID ? &e.name : &e.category) =
                i == TABLE_NONE ? NULL : p->texts.items[i];
        }
    }
    p->counters += type == TYPE_COUNTER;
    p->instants += type == TYPE_INSTANT;
    if (type != TYPE_BEGIN && type != TYPE_END)
        return ERR_OK;
    e.phase = type == TYPE_BEGIN ? 'B' : 'E';
    e.tid = (int64_t)(track & INT64_MAX); /* its row until all rows are known */
    return trace_events_add(&p->t, &e);
}

static enum err perfetto_packet(struct perfetto *p, const struct proto_field *data)
{
    struct proto m = proto_in(data);
    struct proto_field f, event = {0}, described = {0}, names = {0};
    uint64_t at = UINT64_MAX, sequence = 0, clock = 0;
    while (proto_next(&m, &f)) {
        if (f.number == TIMESTAMP && f.type == 0)
            at = f.value;
        else if (f.number == SEQUENCE)
            sequence = f.value;
        else if (f.number == CLOCK)
            clock = f.value;
        else if (f.number == TRACK_EVENT)
            event = f;
        else if (f.number == INTERNED)
            names = f;
        else if (f.number == DESCRIPTOR)
            described = f;
    }
    if (names.bytes)
        TRY(perfetto_interned(p, &names, sequence));
    if (described.bytes)
        TRY(perfetto_descriptor(p, &described));
    p->t.damaged += m.bad;
    if (!event.bytes)
        return ERR_OK;
    if (clock >= 64 || at > 1ull << 62) { /* a clock of the sequence, by steps */
        p->clocks++;
        return ERR_OK;
    }
    return perfetto_slice(p, &event, (int64_t)at, sequence);
}

static const struct trace_row *perfetto_track_row(const struct perfetto *p, uint64_t uuid)
{
    uint32_t at = table_get(&p->tracks, uuid);
    return at == TABLE_NONE ? NULL : &p->rows.items[at];
}

/* The process of a track; -1 where none of its parents has one. */
static int64_t perfetto_process(const struct perfetto *p, const struct trace_row *r)
{
    for (int depth = 0; r && depth < DEPTH; depth++) {
        if (r->pid >= 0)
            return r->pid;
        r = r->parent ? perfetto_track_row(p, r->parent) : NULL;
    }
    return -1;
}

/* Tracks that are not of a thread have numbers below 0. */
static int64_t perfetto_thread(const struct perfetto *p, const struct trace_row *r)
{
    return !r ? 0 : r->tid >= 0 ? r->tid : -1 - (int64_t)(r - p->rows.items);
}

static enum err perfetto_label(struct perfetto *p, const char *what, int64_t pid, int64_t tid,
                               const char *name)
{
    return name ? vector_add(&p->t.list,
                             (struct trace_event){
                                 .phase = 'M', .name = what, .pid = pid, .tid = tid, .label = name})
                : ERR_OK;
}

/* Tracks to processes and threads: each track is a thread, also where several are of one. */
static enum err perfetto_place_tracks(struct perfetto *p)
{
    size_t events = p->t.list.count;
    for (size_t i = 0; i < events; i++) {
        struct trace_event *e = &p->t.list.items[i];
        const struct trace_row *r = perfetto_track_row(p, (uint64_t)e->tid);
        e->pid = perfetto_process(p, r);
        e->pid = e->pid >= 0 ? e->pid : 0;
        e->device = r ? r->device : -1;
        e->stream = r ? r->stream : -1;
        e->tid = perfetto_thread(p, r);
    }
    for (size_t i = 0; i < p->rows.count; i++) {
        const struct trace_row *r = &p->rows.items[i];
        int64_t pid = perfetto_process(p, r);
        TRY(perfetto_label(p, r->pid >= 0 && r->tid < 0 ? "process_name" : "thread_name",
                           pid >= 0 ? pid : 0, perfetto_thread(p, r),
                           r->device < 0 ? r->name : NULL));
    }
    return ERR_OK;
}

static enum err perfetto_read_all(struct perfetto *p, const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f;
    while (proto_next_bytes(&m, 1, &f))
        TRY(perfetto_packet(p, &f));
    p->t.repaired = m.bad;
    TRY(perfetto_place_tracks(p));
    TRY(trace_events_import(&p->t));
    TRY(import_note(p->t.b, p->counters, "import_counters", "info",
                    "Counters have no place among lines and functions.", "They were left out."));
    TRY(import_note(p->t.b, p->instants, "import_instants", "info",
                    "Events without a length, and the flows that begin at them, have no time.",
                    "They were left out."));
    return import_note(p->t.b, p->clocks, "import_clocks", "warning",
                       "Events have a clock of their own sequence, which is not read.",
                       "They were left out.");
}

static enum err perfetto_read(struct builder *b, const struct import_input *in,
                              const struct import_options *o)
{
    struct perfetto p = {.t = {.b = b, .format = "Perfetto"}};
    (void)o;
    enum err e = perfetto_read_all(&p, in);
    trace_events_free(&p.t);
    vector_free(&p.rows);
    vector_free(&p.texts);
    table_free(&p.tracks);
    table_free(&p.names);
    table_free(&p.categories);
    table_free(&p.stacks);
    return e;
}

/* A first packet with the sequence that every packet has, or a track. */
static int perfetto_is_it(const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f, g;
    if (!proto_next(&m, &f) || f.number != 1 || f.type != 2)
        return 0;
    int found = 0;
    struct proto first = proto_in(&f);
    while (proto_next(&first, &g))
        found |= (g.number == SEQUENCE && g.type == 0) || (g.number == DESCRIPTOR && g.type == 2);
    return found && !first.bad;
}

const struct import_source import_perfetto = {"perfetto", "Perfetto's trace format", perfetto_is_it,
                                              perfetto_read};
