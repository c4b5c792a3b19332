/* pprof's profile.proto, always gzipped: CPU time, GPU time, waiting and allocations by stack. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "profiler/report/export/export.h"
#include "profiler/report/export/proto_write.h"

/* Fields of profile.proto. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING,
    DURATION = 10,
    PERIOD_TYPE,
    PERIOD,
    DEFAULT_TYPE = 14
};

struct texts { /* index 0 is "" */
    struct proto_out table;
    uint64_t count, mappings;
};

static uint64_t text_index(struct texts *t, const char *s)
{
    if (!s || !*s)
        return 0;
    proto_text(&t->table, STRING, s);
    return t->count++;
}

static void put_type(struct proto_out *out, struct proto_out *inner, struct texts *t, int field,
                     const struct export_unit *u)
{
    const int counted = !strcmp(u->unit, "none");
    proto_number(inner, 1, text_index(t, u->name));
    proto_number(inner, 2, text_index(t, counted ? "count" : u->unit));
    proto_message(out, field, inner);
}

/* The id of a module's mapping, written when it is new; 0: none. It has all names, so that nobody
 * looks for its file. */
static uint64_t put_mapping(struct proto_out *out, struct proto_out *inner, struct texts *t,
                            struct table *mappings, const char *module)
{
    if (!module)
        return 0;
    const uint64_t key = table_hash(module, strlen(module));
    const uint32_t known = table_get(mappings, key), id = (uint32_t)t->mappings + 1;
    if (known != TABLE_NONE || table_put(mappings, key, id))
        return known == TABLE_NONE ? 0 : known;
    t->mappings++;
    proto_number(inner, 1, id);
    proto_number(inner, 5, text_index(t, module));
    for (int has = 7; has <= 10; has++) /* functions, file names, lines, inlined frames */
        proto_number(inner, has, 1);
    proto_message(out, MAPPING, inner);
    return id;
}

/* Location and function i + 1 are frame i. */
static void pprof_put_frames(const struct model *m, struct proto_out *out, struct proto_out *inner,
                             struct texts *t)
{
    struct proto_out line = {0};
    struct table mappings = {0};
    for (int i = 0; i < m->frames_count; i++) {
        const struct model_frame *f = &m->frames[i];
        const char *name =
            f->kind && !strcmp(f->kind, "thread") && f->thread >= 0 && f->thread < m->threads_count
                ? m->threads[f->thread].name
                : NULL;
        const uint64_t mapping = put_mapping(out, inner, t, &mappings, f->module);
        proto_number(inner, 1, (uint64_t)i + 1);
        if (mapping)
            proto_number(inner, 2, mapping);
        proto_number(&line, 1, (uint64_t)i + 1);
        if (f->file && f->line > 0)
            proto_number(&line, 2, (uint64_t)f->line);
        proto_message(inner, 4, &line);
        proto_message(out, LOCATION, inner);
        proto_number(inner, 1, (uint64_t)i + 1);
        proto_number(inner, 2, text_index(t, name ? name : export_frame_name(f)));
        proto_number(inner, 4, text_index(t, f->file ? f->file : f->module));
        proto_message(out, FUNCTION, inner);
    }
    proto_out_free(&line);
    table_free(&mappings);
}

static void pprof_put_stacks(const struct model *m, struct proto_out *out, struct proto_out *inner)
{
    struct proto_out packed = {0};
    for (int i = 0; i < m->stacks_count; i++) {
        int64_t any = 0;
        for (int w = 0; w < EXPORT_WEIGHTS; w++)
            any |= export_weight(&m->stacks[i], (enum export_weight)w);
        if (!any)
            continue;
        for (int32_t s = i; s >= 0; s = m->stacks[s].parent) /* leaf first */
            if (m->stacks[s].frame >= 0)
                proto_varint(&packed, (uint64_t)m->stacks[s].frame + 1);
        proto_message(inner, 1, &packed);
        for (int w = 0; w < EXPORT_WEIGHTS; w++)
            proto_varint(&packed, (uint64_t)export_weight(&m->stacks[i], (enum export_weight)w));
        proto_message(inner, 2, &packed);
        proto_message(out, SAMPLE, inner);
    }
    proto_out_free(&packed);
}

static void pprof_write(const struct model *m, const struct export_options *o, FILE *stream)
{
    struct proto_out out = {0}, inner = {0};
    struct texts t = {.count = 1};
    (void)o;
    proto_text(&t.table, STRING, "");
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        put_type(&out, &inner, &t, SAMPLE_TYPE, export_unit_of(m, (enum export_weight)w));
    pprof_put_stacks(m, &out, &inner);
    pprof_put_frames(m, &out, &inner, &t);
    if (m->meta.wall_s > 0)
        proto_number(&out, DURATION, export_ns(m->meta.wall_s));
    put_type(&out, &inner, &t, PERIOD_TYPE, export_unit_of(m, EXPORT_CPU));
    if (m->meta.cpu_hz > 0)
        proto_number(&out, PERIOD, export_ns(1 / m->meta.cpu_hz));
    proto_number(&out, DEFAULT_TYPE, text_index(&t, export_unit_of(m, EXPORT_CPU)->name));
    if (!out.failed && !t.table.failed &&
        !inner.failed) { /* else the file stays empty, which no reader takes for a profile */
        fwrite(out.data, 1, out.bytes, stream);
        fwrite(t.table.data, 1, t.table.bytes, stream);
    }
    proto_out_free(&out);
    proto_out_free(&inner);
    proto_out_free(&t.table);
}

const struct exporter export_pprof = {"pprof", ".pb.gz", "profile.proto for go tool pprof",
                                      pprof_write};
