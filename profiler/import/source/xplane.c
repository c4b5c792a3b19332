/* XLA's xplane.pb, as JAX and TensorFlow write it: planes of host and devices, lines of threads and
 * streams, nested events. */
#include <string.h>

#include "profiler/import/source/slices.h"
#include "profiler/import/read/protobuf.h"
#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

struct xplane {
    struct builder *b;
    struct table names; /* of the plane's events: id -> index in texts */
    VECTOR(const char *) texts;
    struct import_slices slices;
    VECTOR(struct import_operation) operations;
    int64_t first, events, damaged, left_out;
    int32_t device; /* of the plane; -1: the host */
};

static const char *text_in(struct builder *b, const struct proto_field *message, uint32_t number)
{
    struct proto m = proto_in(message);
    struct proto_field f;
    return proto_next_bytes(&m, number, &f) ? import_text(b, f.data, f.bytes) : NULL;
}

/* An entry of the map id -> metadata. */
static enum err xplane_name(struct xplane *x, const struct proto_field *entry)
{
    struct proto m = proto_in(entry);
    struct proto_field f;
    uint64_t id = 0;
    const char *name = NULL;
    while (proto_next(&m, &f)) {
        if (f.number == 1 && f.type == 0)
            id = f.value;
        if (f.number != 2 || f.type != 2)
            continue;
        name = text_in(x->b, &f, 4); /* the name for people, where there is one */
        name = name ? name : text_in(x->b, &f, 2);
    }
    TRY(table_put(&x->names, id, (uint32_t)x->texts.count));
    return vector_add(&x->texts, name);
}

static enum err xplane_event(struct xplane *x, const struct proto_field *e, int64_t base_ns,
                             int32_t thread, int64_t stream)
{
    struct proto m = proto_in(e);
    struct proto_field f;
    uint64_t id = 0, offset = 0, duration = 0;
    while (proto_next(&m, &f)) {
        if (f.number == 1 && f.type == 0)
            id = f.value;
        else if (f.number == 2 && f.type == 0)
            offset = f.value;
        else if (f.number == 3 && f.type == 0)
            duration = f.value;
    }
    if (m.bad || offset > 1ull << 60 || duration > 1ull << 60) {
        x->damaged++;
        return ERR_OK;
    }
    uint32_t at = table_get(&x->names, id);
    const char *name = at != TABLE_NONE ? x->texts.items[at] : NULL;
    int64_t start = base_ns + (int64_t)(offset / 1000),
            end = base_ns + (int64_t)((offset + duration) / 1000);
    x->first = start < x->first ? start : x->first;
    x->events++;
    if (x->device >= 0) {
        struct import_operation o = {.kind = "kernel",
                                     .name = name,
                                     .device = x->device,
                                     .node = -1,
                                     .context = MODEL_UNKNOWN,
                                     .stream = stream,
                                     .start = start,
                                     .end = end,
                                     .bytes = -1,
                                     .grid = {-1},
                                     .registers = -1};
        if (name && !strncmp(name, "Memcpy", 6))
            o.kind = "copy", name_copy(name, &o);
        else if (name && !strncmp(name, "Memset", 6))
            o.kind = "set", o.name = "memset";
        return vector_add(&x->operations, o);
    }
    struct import_slice s = {.start = start, .end = end, .thread = thread};
    name_frame(x->b, name, &s.frame);
    return vector_add(&x->slices.list, s);
}

static enum err xplane_line(struct xplane *x, const struct proto_field *l, int32_t process)
{
    struct proto m = proto_in(l);
    struct proto_field f;
    int64_t id = 0, base = 0;
    int32_t thread = -1;
    const char *name = text_in(x->b, l, 11);
    name = name ? name : text_in(x->b, l, 2);
    /* On a device, lines besides streams repeat what the streams hold: steps, modules, operations.
     */
    if (x->device >= 0 && (!name || strncmp(name, "Stream", 6))) {
        x->left_out++;
        return ERR_OK;
    }
    while (proto_next(&m, &f)) {
        if (f.number == 1 && f.type == 0)
            id = (int64_t)f.value;
        if (f.number == 3 && f.type == 0)
            base = (int64_t)f.value;
    }
    if (base < 0 || base > 1ll << 62) {
        x->damaged++;
        return ERR_OK;
    }
    if (x->device < 0)
        TRY(builder_thread(x->b, process, id, name, &thread));
    for (m = proto_in(l); proto_next_bytes(&m, 4, &f);)
        TRY(xplane_event(x, &f, base, thread, id));
    return ERR_OK;
}

static enum err xplane_plane(struct xplane *x, const struct proto_field *p)
{
    struct proto m = proto_in(p);
    struct proto_field f;
    int32_t process = -1;
    const char *name = text_in(x->b, p, 2);
    int host = name && !strncmp(name, "/host:", 6) && strncmp(name, "/host:metadata", 14);
    int device = name && !strncmp(name, "/device:GPU:", 12);
    if (!host && !device) {
        x->left_out +=
            name && strcmp(name, "Task Environment") && strncmp(name, "/host:metadata", 14);
        return ERR_OK;
    }
    x->device = device ? (int32_t)(strtol(name + 12, NULL, 10) & 255) : -1;
    table_free(&x->names);
    x->names = (struct table){0};
    if (host)
        TRY(builder_process(x->b, (int64_t)x->b->run->processes.count, name, &process));
    while (proto_next_bytes(&m, 4, &f))
        TRY(xplane_name(x, &f));
    for (m = proto_in(p); proto_next_bytes(&m, 3, &f);)
        TRY(xplane_line(x, &f, process));
    return ERR_OK;
}

static enum err xplane_read_all(struct xplane *x, const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f;
    while (proto_next_bytes(&m, 1, &f))
        TRY(xplane_plane(x, &f));
    FAIL_IF(m.bad, ERR_INPUT, "%s: not a whole xplane.pb: a field is damaged at byte %zu", in->path,
            (size_t)(m.at - (const unsigned char *)in->data));
    FAIL_IF(!x->events, ERR_INPUT, "%s: an xplane.pb without events of a host or a GPU", in->path);
    x->b->origin = x->first;
    int64_t listed = (int64_t)(x->slices.list.count + x->operations.count);
    TRY(source_slices(x->b, &x->slices, IMPORT_CPU));
    for (size_t i = 0; i < x->operations.count; i++)
        TRY(builder_operation(x->b, &x->operations.items[i]));
    TRY(import_check(x->b, "events_kept", (double)x->events, (double)listed, 0,
                     "every event of host and GPU planes was taken"));
    TRY(import_note(x->b, x->damaged, "import_damaged", "warning",
                    "Events or lines had impossible times.", "They were left out."));
    TRY(import_note(
        x->b, x->left_out, "import_left_out", "info",
        "Planes or lines repeat what others hold, or belong to neither a host nor a GPU.",
        "They were left out."));
    TRY(import_note(
        x->b, x->slices.list.count > 0, "import_wall_as_cpu", "info",
        "Times of events are wall time on their thread: the capture does not tell computing "
        "from waiting.",
        "CPU columns hold the self time of events, waiting included."));
    return source_is(x->b, "XLA profiler (xplane)", NULL);
}

static enum err xplane_read(struct builder *b, const struct import_input *in,
                            const struct import_options *o)
{
    struct xplane x = {.b = b, .first = INT64_MAX};
    (void)o;
    enum err e = xplane_read_all(&x, in);
    table_free(&x.names);
    vector_free(&x.texts);
    vector_free(&x.slices.list);
    vector_free(&x.operations);
    return e;
}

/* The first plane has a name that begins with / or a capital letter. */
static int xplane_is_it(const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f, g;
    if (!proto_next(&m, &f) || f.number != 1 || f.type != 2)
        return 0;
    struct proto plane_ = proto_in(&f);
    while (proto_next(&plane_, &g))
        if (g.number == 2)
            return g.type == 2 && g.bytes > 3 &&
                   (*g.data == '/' || !memcmp(g.data, "Task", 4) || !memcmp(g.data, "Host", 4));
    return 0;
}

const struct import_source import_xplane = {"xplane", "XLA's xplane.pb of JAX and TensorFlow",
                                            xplane_is_it, xplane_read};
