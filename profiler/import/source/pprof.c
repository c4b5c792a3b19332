/* pprof's profile.proto, usually gzipped: samples with their stacks, leaf first. */
#include <math.h>
#include <string.h>

#include "profiler/import/read/protobuf.h"
#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

struct pprof {
    struct builder *b;
    VECTOR(const char *) texts;
    VECTOR(struct model_frame) frames; /* of lines */
    VECTOR(int32_t) chain;             /* of locations: frames innermost first, -1 ends each */
    struct table locations, functions, mappings;
    VECTOR(struct proto_field) function_list, location_list, mapping_list, samples, types;
    int64_t period, duration, damaged;
    int32_t root;
};

static const char *pprof_string(const struct pprof *p, uint64_t i)
{
    return i && i < p->texts.count ? p->texts.items[i] : NULL;
}

/* Returns the number of field `number` in a message, 0: not there. */
static uint64_t message_value(const struct proto_field *message, uint32_t number)
{
    struct proto m = proto_in(message);
    struct proto_field f;
    while (proto_next(&m, &f))
        if (f.number == number && f.type == 0)
            return f.value;
    return 0;
}

static enum err pprof_top(struct pprof *p, const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f;
    while (proto_next(&m, &f)) {
        if (f.number == 6 && f.type == 2)
            TRY(vector_add(&p->texts, f.bytes ? import_text(p->b, f.data, f.bytes) : NULL));
        else if (f.number == 1 && f.type == 2)
            TRY(vector_add(&p->types, f));
        else if (f.number == 2 && f.type == 2)
            TRY(vector_add(&p->samples, f));
        else if (f.number == 3 && f.type == 2)
            TRY(vector_add(&p->mapping_list, f));
        else if (f.number == 4 && f.type == 2)
            TRY(vector_add(&p->location_list, f));
        else if (f.number == 5 && f.type == 2)
            TRY(vector_add(&p->function_list, f));
        else if (f.number == 10 && f.type == 0)
            p->duration = (int64_t)f.value;
        else if (f.number == 12 && f.type == 0)
            p->period = (int64_t)f.value;
    }
    FAIL_IF(m.bad, ERR_INPUT, "%s: not whole pprof data: a field is damaged at byte %zu", in->path,
            (size_t)(m.at - (const unsigned char *)in->data));
    return ERR_OK;
}

static enum err pprof_line(struct pprof *p, const struct proto_field *line, const char *module)
{
    uint32_t at = table_get(&p->functions, message_value(line, 1));
    struct model_frame f = {
        .line = MODEL_UNKNOWN, .module = module, .kind = "native", .thread = -1};
    if (at != TABLE_NONE) {
        const struct proto_field *function = &p->function_list.items[at];
        const char *file = pprof_string(p, message_value(function, 4));
        int64_t number = (int64_t)message_value(line, 2);
        f.function = pprof_string(p, message_value(function, 2));
        f.file = file ? import_path(p->b, file, strlen(file)) : NULL;
        f.line = number > 0 && number < INT32_MAX ? number : MODEL_UNKNOWN;
        f.kind = name_kind(f.file);
        if (f.line == MODEL_UNKNOWN && f.file) {
            f.module = f.module ? f.module : f.file;
            f.file = NULL;
        }
    }
    TRY(vector_add(&p->chain, (int32_t)p->frames.count));
    return vector_add(&p->frames, f);
}

static enum err pprof_location(struct pprof *p, const struct proto_field *l)
{
    uint32_t at = table_get(&p->mappings, message_value(l, 2));
    const char *module =
        at != TABLE_NONE ? pprof_string(p, message_value(&p->mapping_list.items[at], 5)) : NULL;
    struct proto m = proto_in(l);
    struct proto_field f;
    int lines = 0;
    TRY(table_put(&p->locations, message_value(l, 1), (uint32_t)p->chain.count));
    for (; proto_next(&m, &f); lines += f.number == 4)
        if (f.number == 4 && f.type == 2)
            TRY(pprof_line(p, &f, module));
    if (!lines)
        TRY(pprof_line(p, &(struct proto_field){.type = 2}, module));
    return vector_add(&p->chain, -1);
}

static enum err pprof_tables(struct pprof *p)
{
    for (size_t i = 0; i < p->function_list.count; i++)
        TRY(table_put(&p->functions, message_value(&p->function_list.items[i], 1), (uint32_t)i));
    for (size_t i = 0; i < p->mapping_list.count; i++)
        TRY(table_put(&p->mappings, message_value(&p->mapping_list.items[i], 1), (uint32_t)i));
    for (size_t i = 0; i < p->location_list.count; i++)
        TRY(pprof_location(p, &p->location_list.items[i]));
    return ERR_OK;
}

#define NUMBERS 4096

/* Numbers of a repeated field, packed or not. */
static size_t message_numbers(const struct proto_field *message, uint32_t number,
                              uint64_t out[NUMBERS])
{
    struct proto m = proto_in(message);
    struct proto_field f;
    size_t n = 0;
    while (proto_next(&m, &f)) {
        if (f.number != number)
            continue;
        struct proto packed = proto_in(&f);
        if (f.type == 0 && n < NUMBERS)
            out[n++] = f.value;
        while (f.type == 2 && n < NUMBERS && packed.at < packed.end &&
               proto_packed(&packed, &out[n]))
            n++;
    }
    return n;
}

/* Returns the unit of a column of values: its cost, and one unit in ns or bytes; 0: not of use
 * here. */
static double pprof_unit(const struct pprof *p, const struct proto_field *type,
                         enum import_cost *cost)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
    const char *name = pprof_string(p, message_value(type, 1)),
               *unit = pprof_string(p, message_value(type, 2));
    *cost = IMPORT_CPU;
    if (!name || !unit)
        return 0;
    if (!strcmp(name, "wait") || !strcmp(name, "delay"))
        *cost = IMPORT_WAIT;
    else if (!strcmp(name, "gpu"))
        *cost = IMPORT_GPU;
    else if (!strcmp(name, "alloc_space") || !strcmp(name, "alloc"))
        *cost = IMPORT_ALLOC;
    else if (strcmp(name, "cpu") && strcmp(name, "wall"))
        return 0;
    if (*cost == IMPORT_ALLOC)
        return !strcmp(unit, "bytes");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit))
            return units[i].ns;
    return 0;
}

static enum err pprof_sample(struct pprof *p, const struct proto_field *s, uint64_t *room,
                             double sums[IMPORT_COSTS])
{
    size_t n = message_numbers(s, 1, room);
    int32_t node = p->root;
    while (n-- > 0) { /* leaf first: from the root on */
        uint32_t at = table_get(&p->locations, room[n]);
        if (at == TABLE_NONE) {
            p->damaged++;
            continue;
        }
        uint32_t end = at;
        while (p->chain.items[end] >= 0)
            end++;
        while (end-- > at)
            TRY(builder_call(p->b, node, &p->frames.items[p->chain.items[end]], &node));
    }
    n = message_numbers(s, 2, room);
    for (size_t i = 0; i < n && i < p->types.count; i++) {
        enum import_cost cost;
        double unit = pprof_unit(p, &p->types.items[i], &cost),
               amount = (double)(int64_t)room[i] * unit;
        if (unit == 0)
            continue;
        if (!(amount >= 0 && amount < 9e15)) {
            p->damaged++;
            continue;
        }
        sums[cost] += amount;
        TRY(builder_cost(p->b, node, cost, llround(amount), 0));
    }
    return ERR_OK;
}

static enum err pprof_read_all(struct pprof *p, const struct import_input *in)
{
    double sums[IMPORT_COSTS] = {0};
    int32_t process, thread;
    TRY(pprof_top(p, in));
    TRY(pprof_tables(p));
    TRY(builder_process(p->b, 0, NULL, &process));
    TRY(builder_thread(p->b, process, 0, "all threads", &thread));
    TRY(builder_call(p->b, IMPORT_ROOT(thread), NULL, &p->root));
    uint64_t *room = malloc(NUMBERS * sizeof *room);
    FAIL_IF(!room, ERR_MEMORY, "no memory for the import");
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->samples.count && !e; i++)
        e = pprof_sample(p, &p->samples.items[i], room, sums);
    free(room);
    TRY(e);
    int any = 0;
    for (int k = 0; k < IMPORT_COSTS; k++)
        any |= p->b->known[k];
    FAIL_IF(!any, ERR_INPUT,
            "%s: pprof data without a column of time or memory that is known (cpu, wall, wait, "
            "delay, gpu, alloc_space)",
            in->path);
    TRY(import_check(p->b, "pprof_kept", sums[IMPORT_CPU], (double)p->b->added[IMPORT_CPU], 1e-9,
                     "CPU values of all samples are in the stacks, ns"));
    if (p->duration > 0 && p->duration < 1ll << 53)
        p->b->run->m->meta.wall_s = (double)p->duration * 1e-9;
    TRY(import_note(p->b, p->damaged, "import_damaged", "warning",
                    "Locations were missing, or values out of range.", "They were left out."));
    return source_is(p->b, "pprof", NULL);
}

static enum err pprof_read(struct builder *b, const struct import_input *in,
                           const struct import_options *o)
{
    struct pprof p = {.b = b};
    (void)o;
    enum err e = pprof_read_all(&p, in);
    vector_free(&p.texts);
    vector_free(&p.frames);
    vector_free(&p.chain);
    vector_free(&p.function_list);
    vector_free(&p.location_list);
    vector_free(&p.mapping_list);
    vector_free(&p.samples);
    vector_free(&p.types);
    table_free(&p.locations);
    table_free(&p.functions);
    table_free(&p.mappings);
    return e;
}

/* A text table whose first entry is empty, and a sample type of two numbers. */
static int pprof_is_it(const struct import_input *in)
{
    struct proto m = proto_start(in->data, in->bytes);
    struct proto_field f, g;
    int types = 0;
    while (proto_next(&m, &f)) {
        if (f.number == 6 && f.type == 2)
            return types > 0 && f.bytes == 0;
        if (f.number == 1) {
            struct proto type = proto_in(&f);
            if (!f.bytes || !proto_next(&type, &g) || g.type != 0)
                return 0;
            types++;
        }
    }
    return 0;
}

const struct import_source import_pprof = {"pprof", "pprof's profile.proto", pprof_is_it,
                                           pprof_read};
