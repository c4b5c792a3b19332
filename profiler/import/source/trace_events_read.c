/* Chrome's trace JSON to a list of events. Unknown keys are passed over. */
#include <string.h>

#include "profiler/import/source/trace_events.h"

/* A number, also where it stands in quotes, times 10^shift; `otherwise` where it is none. */
static int64_t events_number(struct pull *p, enum pull_kind kind, int shift, int64_t otherwise)
{
    int64_t v;
    if (kind != PULL_NUMBER && kind != PULL_TEXT)
        return pull_skip(p, kind), otherwise;
    return decimal(p->text, shift, &v) ? v : otherwise;
}

static const char *events_text(struct trace_events *t, struct pull *p, enum pull_kind kind)
{
    if (kind != PULL_TEXT)
        return pull_skip(p, kind), NULL;
    return import_text(t->b, p->text, p->length);
}

static enum err pid_of(struct trace_events *t, struct pull *p, enum pull_kind kind, int64_t *pid)
{
    *pid = events_number(p, kind, 0, INT64_MIN);
    if (*pid != INT64_MIN || kind != PULL_TEXT)
        return ERR_OK;
    const char *text = import_text(t->b, p->text, p->length);
    size_t at = 0;
    while (at < t->pid_texts.count && t->pid_texts.items[at] != text)
        at++;
    if (at == t->pid_texts.count && at < 1000)
        TRY(vector_add(&t->pid_texts, text));
    *pid = -1001 - (int64_t)at;
    return ERR_OK;
}

static void events_triple(struct pull *p, enum pull_kind kind, int64_t out[3])
{
    if (kind != PULL_ARRAY) {
        pull_skip(p, kind);
        return;
    }
    for (int i = 0; pull_more(p); i++) {
        int64_t v = events_number(p, pull_next(p), 0, -1);
        if (i < 3)
            out[i] = v;
    }
}

static void events_args(struct trace_events *t, struct pull *p, struct trace_event *e)
{
    const struct {
        const char *key;
        int64_t *to;
    } numbers[] = {{"correlation", &e->correlation},
                   {"device", &e->device},
                   {"stream", &e->stream},
                   {"context", &e->context},
                   {"bytes", &e->bytes},
                   {"Bytes", &e->bytes},
                   {"Device Type", &e->device_type},
                   {"Total Allocated", &e->total_allocated},
                   {"registers per thread", &e->registers},
                   {"shared memory", &e->shared}};
    while (pull_key(p)) {
        char key[32];
        pull_copy(p, key, sizeof key);
        enum pull_kind kind = pull_next(p);
        size_t i = 0;
        while (i < sizeof numbers / sizeof *numbers && strcmp(key, numbers[i].key))
            i++;
        if (i < sizeof numbers / sizeof *numbers)
            *numbers[i].to = events_number(p, kind, 0, -1);
        else if (!strcmp(key, "grid"))
            events_triple(p, kind, e->grid);
        else if (!strcmp(key, "block"))
            events_triple(p, kind, e->block);
        else if (!strcmp(key, "name"))
            e->label = events_text(t, p, kind);
        else if (!pull_skip(p, kind))
            return;
    }
}

static enum err events_field(struct trace_events *t, struct pull *p, struct trace_event *e)
{
    char key[16];
    pull_copy(p, key, sizeof key);
    enum pull_kind kind = pull_next(p);
    if (!strcmp(key, "ph") && kind == PULL_TEXT)
        e->phase = *p->text;
    else if (!strcmp(key, "name"))
        e->name = events_text(t, p, kind);
    else if (!strcmp(key, "cat"))
        e->category = events_text(t, p, kind);
    else if (!strcmp(key, "pid"))
        TRY(pid_of(t, p, kind, &e->pid));
    else if (!strcmp(key, "tid"))
        TRY(pid_of(t, p, kind, &e->tid));
    else if (!strcmp(key, "ts"))
        e->ts = events_number(p, kind, 3, INT64_MIN);
    else if (!strcmp(key, "dur"))
        e->duration = events_number(p, kind, 3, -1);
    else if (!strcmp(key, "tdur"))
        e->busy = events_number(p, kind, 3, -1);
    else if (!strcmp(key, "sf"))
        e->stack = events_number(p, kind, 0, -1);
    else if (!strcmp(key, "id"))
        e->id = events_number(p, kind, 0, -1);
    else if (!strcmp(key, "args") && kind == PULL_OBJECT)
        events_args(t, p, e);
    else
        pull_skip(p, kind);
    return ERR_OK;
}

struct trace_event trace_event_at(int64_t ts)
{
    return (struct trace_event){.ts = ts,
                                .duration = -1,
                                .id = -1,
                                .correlation = -1,
                                .device = -1,
                                .stream = -1,
                                .context = -1,
                                .bytes = -1,
                                .device_type = -1,
                                .total_allocated = -1,
                                .total_reserved = -1,
                                .registers = -1,
                                .shared = -1,
                                .grid = {-1, -1, -1},
                                .block = {-1, -1, -1},
                                .stack = -1,
                                .busy = -1};
}

enum err trace_events_frame(struct trace_events *t, int64_t id, const struct trace_frame *f)
{
    FAIL_IF(t->frames.count >= 1 << 24, ERR_INPUT, "%s: more than 16 million frames", t->b->base);
    TRY(table_put(&t->frame_by_id, (uint64_t)id, (uint32_t)t->frames.count));
    return vector_add(&t->frames, *f);
}

void trace_events_free(struct trace_events *t)
{
    vector_free(&t->list);
    vector_free(&t->pid_texts);
    vector_free(&t->frames);
    table_free(&t->frame_by_id);
}

/* "stackFrames": {"7": {"name": "main", "category": "program", "parent": 3}} */
static enum err stack_frames(struct trace_events *t, struct pull *p)
{
    while (pull_key(p)) {
        struct trace_frame f = {.parent = -1};
        int64_t id;
        int known = decimal(p->text, 0, &id) && id >= 0;
        enum pull_kind kind = pull_next(p);
        if (kind != PULL_OBJECT) {
            if (!pull_skip(p, kind))
                return ERR_OK;
            continue;
        }
        while (pull_key(p)) {
            char key[16];
            pull_copy(p, key, sizeof key);
            kind = pull_next(p);
            if (!strcmp(key, "name"))
                f.name = events_text(t, p, kind);
            else if (!strcmp(key, "category"))
                f.module = events_text(t, p, kind);
            else if (!strcmp(key, "parent"))
                f.parent = events_number(p, kind, 0, -1);
            else if (!pull_skip(p, kind))
                return ERR_OK;
        }
        if (known)
            TRY(trace_events_frame(t, id, &f));
    }
    return ERR_OK;
}

enum err trace_events_add(struct trace_events *t, const struct trace_event *e)
{
    FAIL_IF(t->list.count >= 100000000, ERR_INPUT, "%s: more than 100 million events", t->b->base);
    return vector_add(&t->list, *e);
}

static enum err events_event(struct trace_events *t, struct pull *p)
{
    struct trace_event e = trace_event_at(INT64_MIN);
    int depth = p->depth;
    while (pull_key(p))
        TRY(events_field(t, p, &e));
    if (p->depth != depth - 1) { /* the file ends within it */
        t->repaired = 1;
        return ERR_OK;
    }
    if (!e.phase && !e.name) /* JAX ends its list with an empty one */
        return ERR_OK;
    if (!e.phase || (e.phase != 'M' && e.ts == INT64_MIN) || (e.phase == 'X' && e.duration < 0)) {
        t->damaged++;
        return ERR_OK;
    }
    return trace_events_add(t, &e);
}

static enum err events_list(struct trace_events *t, struct pull *p)
{
    int depth = p->depth;
    while (pull_more(p)) {
        enum pull_kind kind = pull_next(p);
        if (kind == PULL_OBJECT)
            TRY(events_event(t, p));
        else if (!pull_skip(p, kind))
            break;
        if (t->repaired)
            return ERR_OK;
    }
    t->repaired = p->depth != depth - 1;
    return ERR_OK;
}

static enum err events_whole(struct trace_events *t, struct pull *p)
{
    enum pull_kind kind = pull_next(p);
    if (kind == PULL_ARRAY)
        return events_list(t, p);
    while (kind == PULL_OBJECT && pull_key(p)) {
        char key[32];
        pull_copy(p, key, sizeof key);
        enum pull_kind value = pull_next(p);
        if (!strcmp(key, "traceEvents") && value == PULL_ARRAY)
            TRY(events_list(t, p));
        else if (!strcmp(key, "stackFrames") && value == PULL_OBJECT)
            TRY(stack_frames(t, p));
        else if (!strcmp(key, "schemaVersion") && value == PULL_NUMBER)
            t->schema = import_text(t->b, p->text, p->length);
        else if (!pull_skip(p, value))
            break;
    }
    return ERR_OK;
}

enum err trace_events_read(struct trace_events *t, const struct import_input *in)
{
    struct pull *p = malloc(sizeof *p);
    FAIL_IF(!p, ERR_MEMORY, "no memory for the import");
    pull_start(p, in->data, in->bytes);
    enum err e = events_whole(t, p);
    free(p);
    return e;
}
