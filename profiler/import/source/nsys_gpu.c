/* The rest of Nsight Systems' export: NVTX ranges, and CUDA calls, kernels, copies and memsets. */
#include <string.h>

#include "profiler/import/source/nsys.h"

enum {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTX_PUSH_POP_OTHER = 70,
    NVTX_DOMAIN = 75
};

static enum err nsys_domains(struct nsys *n)
{
    static const char *const columns[] = {"eventType", "domainId", "text", "textId", "globalTid"};
    enum err e = database_select(n->d, "NVTX_EVENTS", columns, 5, NULL);
    while (!e && database_next(n->d, &e)) {
        const char *text = database_text(n->d, 2);
        if (database_int(n->d, 0, -1) != NVTX_DOMAIN)
            continue;
        text = text ? import_text(n->b, text, strlen(text))
                    : nsys_string(n, database_int(n->d, 3, -1));
        uint64_t key =
            table_mix((uint64_t)database_int(n->d, 4, 0) >> 24, (uint64_t)database_int(n->d, 1, 0));
        e = table_put(&n->domains, key, (uint32_t)n->texts.count);
        e = e ? e : vector_add(&n->texts, text);
    }
    return e;
}

enum err nsys_ranges(struct nsys *n)
{
    static const char *const columns[] = {"start",  "end",       "eventType", "text",
                                          "textId", "globalTid", "domainId"};
    enum err e = ERR_OK;
    if (!database_has(n->d, "NVTX_EVENTS"))
        return ERR_OK;
    TRY(nsys_domains(n));
    TRY(database_select(n->d, "NVTX_EVENTS", columns, 7, "start, \"end\" DESC"));
    while (!e && database_next(n->d, &e)) {
        int64_t start = database_int(n->d, 0, -1), type = database_int(n->d, 2, -1),
                end = database_int(n->d, 1, -1);
        uint64_t thread = (uint64_t)database_int(n->d, 5, 0);
        const char *text = database_text(n->d, 3);
        struct import_range r = {0};
        int32_t row;
        r.style = type == NVTX_MARK                                      ? "mark"
                  : type == NVTX_START_END                               ? "start_stop"
                  : type == NVTX_PUSH_POP || type == NVTX_PUSH_POP_OTHER ? "push_pop"
                                                                         : NULL;
        if (!r.style)
            continue;
        r.name = text ? import_text(n->b, text, strlen(text))
                      : nsys_string(n, database_int(n->d, 4, -1));
        uint32_t domain =
            table_get(&n->domains, table_mix(thread >> 24, (uint64_t)database_int(n->d, 6, 0)));
        r.domain = domain == TABLE_NONE ? NULL : n->texts.items[domain];
        if (!thread || start < n->b->origin) {
            n->damaged++;
            continue;
        }
        e = nsys_place(n, thread, &row);
        e = e ? e : builder_range(n->b, row, &r, start, type == NVTX_MARK ? start : end);
    }
    return e;
}

static enum err nsys_calls(struct nsys *n)
{
    static const char *const columns[] = {"start",         "end",    "globalTid",
                                          "correlationId", "nameId", "returnValue"};
    enum err e = ERR_OK;
    if (!database_has(n->d, "CUPTI_ACTIVITY_KIND_RUNTIME"))
        return ERR_OK;
    TRY(database_select(n->d, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, 6, "start, \"end\" DESC"));
    while (!e && database_next(n->d, &e)) {
        struct nsys_call c = {database_int(n->d, 0, -1), database_int(n->d, 1, -1), -1};
        uint64_t thread = (uint64_t)database_int(n->d, 2, 0);
        int64_t correlation = database_int(n->d, 3, -1);
        int32_t row;
        if (c.start < n->b->origin || c.end < c.start || !thread) {
            n->damaged++;
            continue;
        }
        const char *name = nsys_string(n, database_int(n->d, 4, -1));
        char plain[256]; /* cudaLaunchKernel_v7000 */
        snprintf(plain, sizeof plain, "%s", name ? name : "unknown call");
        char *version = strstr(plain, "_v");
        if (version && strspn(version + 2, "0123456789") == strlen(version + 2))
            *version = 0;
        name = import_text(n->b, plain, strlen(plain));
        struct model_frame f = {.function = name,
                                .line = MODEL_UNKNOWN,
                                .module = "[CUDA]",
                                .kind = "native",
                                .thread = -1};
        TRY(nsys_place(n, thread, &row));
        const struct import_range call = {
            .name = name, .is_call = 1, .failed = database_int(n->d, 5, 0) != 0};
        TRY(builder_range(n->b, row, &call, c.start, c.end));
        TRY(builder_call(n->b, IMPORT_ROOT(row), &f, &c.node));
        if (correlation >= 0) /* ids are those of a process */
            TRY(table_put(&n->correlations, table_mix(thread >> 24, (uint64_t)correlation),
                          (uint32_t)n->calls.count));
        TRY(vector_add(&n->calls, c));
    }
    return e;
}

static const char *memory_kind(int64_t kind)
{
    static const char *const names[] = {"pageable", "pinned", "device", "array", "managed"};
    return kind >= 0 && kind < (int64_t)(sizeof names / sizeof *names) ? names[kind] : "unknown";
}

static const char *copy_direction(int64_t kind)
{
    switch (kind) {
    case 1:
        return "h2d";
    case 2:
        return "d2h";
    case 8:
        return "d2d";
    case 9:
        return "h2h";
    case 10:
        return "p2p";
    default:
        return "other";
    }
}

enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, PROCESS_ID, SHARED_COLUMNS };
#define COLUMNS "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"

/* Reads the common part of kernels, copies, memsets and graphs; 0: damaged. */
static int nsys_operation(struct nsys *n, struct import_operation *o)
{
    *o = (struct import_operation){.start = database_int(n->d, START, -1),
                                   .end = database_int(n->d, END, -1),
                                   .device = (int32_t)database_int(n->d, DEVICE, 0),
                                   .context = database_int(n->d, CONTEXT, MODEL_UNKNOWN),
                                   .stream = database_int(n->d, STREAM, 0),
                                   .node = -1,
                                   .bytes = -1,
                                   .grid = {-1, -1, -1},
                                   .block = {-1, -1, -1},
                                   .registers = -1,
                                   .static_shared = -1,
                                   .dynamic_shared = -1};
    if (o->start < n->b->origin || o->end < o->start || o->device < 0 || o->device > 255) {
        n->damaged++;
        return 0;
    }
    uint64_t process = (uint64_t)database_int(n->d, PROCESS_ID, 0) >> 24;
    uint32_t at = table_get(&n->correlations,
                            table_mix(process, (uint64_t)database_int(n->d, CORRELATION, -1)));
    if (at != TABLE_NONE) {
        const struct nsys_call *c = &n->calls.items[at];
        o->node = c->node;
        o->api_start = c->start;
        o->api_end = c->end;
    }
    return 1;
}

static void nsys_kernel(struct nsys *n, struct import_operation *o)
{
    o->kind = "kernel";
    o->name = nsys_string(n, database_int(n->d, SHARED_COLUMNS, -1));
    o->name = o->name ? o->name : nsys_string(n, database_int(n->d, SHARED_COLUMNS + 1, -1));
    o->mangled = nsys_string(n, database_int(n->d, SHARED_COLUMNS + 2, -1));
    o->registers = database_int(n->d, SHARED_COLUMNS + 3, -1);
    o->static_shared = database_int(n->d, SHARED_COLUMNS + 4, -1);
    o->dynamic_shared = database_int(n->d, SHARED_COLUMNS + 5, -1);
    for (int i = 0; i < 3; i++) {
        o->grid[i] = database_int(n->d, SHARED_COLUMNS + 6 + i, -1);
        o->block[i] = database_int(n->d, SHARED_COLUMNS + 9 + i, -1);
    }
}

static void nsys_copy(struct nsys *n, struct import_operation *o)
{
    o->kind = "copy";
    o->bytes = database_int(n->d, SHARED_COLUMNS, -1);
    o->name = copy_direction(database_int(n->d, SHARED_COLUMNS + 1, -1));
    o->from = memory_kind(database_int(n->d, SHARED_COLUMNS + 2, -1));
    o->to = memory_kind(database_int(n->d, SHARED_COLUMNS + 3, -1));
}

static void nsys_set(struct nsys *n, struct import_operation *o)
{
    o->kind = "set";
    o->name = "memset";
    o->bytes = database_int(n->d, SHARED_COLUMNS, -1);
    o->to = memory_kind(database_int(n->d, SHARED_COLUMNS + 1, -1));
}

static void nsys_graph(struct nsys *n, struct import_operation *o)
{
    char name[64];
    snprintf(name, sizeof name, "CUDA graph %lld",
             (long long)database_int(n->d, SHARED_COLUMNS, -1));
    o->kind = "kernel";
    o->name = import_text(n->b, name, strlen(name));
}

static enum err nsys_operations(struct nsys *n, const char *table, const char *const *columns,
                                int count, void (*fill)(struct nsys *, struct import_operation *))
{
    enum err e = ERR_OK;
    int64_t rows = 0;
    double ns = 0, before = (double)n->b->added[IMPORT_GPU];
    if (!database_has(n->d, table))
        return ERR_OK;
    TRY(database_select(n->d, table, columns, count, "start, \"end\""));
    while (!e && database_next(n->d, &e)) {
        struct import_operation o;
        if (!nsys_operation(n, &o))
            continue;
        fill(n, &o);
        rows++;
        ns += (double)(o.end - o.start);
        e = builder_operation(n->b, &o);
    }
    TRY(e);
    if (fill == nsys_graph)
        TRY(import_note(
            n->b, rows, "import_graphs", "warning",
            "CUDA graphs were traced whole: their kernels, copies and memsets are not in "
            "the capture.",
            "Each launch of a graph is one row. Capture their kernels with "
            "`nsys profile --cuda-graph-trace=node`."));
    return rows ? import_check(n->b, "gpu_rows_kept", ns, (double)n->b->added[IMPORT_GPU] - before,
                               1e-12, "durations of a table's rows are in the stacks, ns")
                : ERR_OK;
}

static enum err nsys_devices(struct nsys *n)
{
    static const char *const columns[] = {"id",      "name",         "totalMemory",
                                          "smCount", "computeMajor", "computeMinor"};
    enum err e = ERR_OK;
    if (!n->b->has_gpu || !database_has(n->d, "TARGET_INFO_GPU"))
        return ERR_OK;
    TRY(database_select(n->d, "TARGET_INFO_GPU", columns, 6, "id"));
    while (!e && database_next(n->d, &e)) {
        int64_t id = database_int(n->d, 0, -1);
        const char *name = database_text(n->d, 1);
        if (id < 0 || (size_t)id >= n->b->run->gpu.devices.count)
            continue;
        struct run_device *d = &n->b->run->gpu.devices.items[id];
        const int64_t memory = database_int(n->d, 2, 0), processors = database_int(n->d, 3, 0);
        d->name = name ? import_text(n->b, name, strlen(name))
                       : nsys_string(n, database_int(n->d, 1, -1));
        d->d.memory_bytes = memory > 0 ? (uint64_t)memory : 0;
        d->d.multiprocessors = processors > 0 && processors < UINT16_MAX ? (uint32_t)processors : 0;
    }
    return e;
}

/* How often the capture itself reported a loss; its texts may hold paths. */
static enum err nsys_diagnostics(struct nsys *n)
{
    static const char *const columns[] = {"severity"};
    enum err e = ERR_OK;
    int64_t count = 0;
    if (!database_has(n->d, "DIAGNOSTIC_EVENT"))
        return ERR_OK;
    TRY(database_select(n->d, "DIAGNOSTIC_EVENT", columns, 1, NULL));
    while (!e && database_next(n->d, &e))
        count += database_int(n->d, 0, 0) >= 2; /* warnings and errors */
    TRY(e);
    return import_note(n->b, count, "import_diagnostics", "warning",
                       "Nsight Systems reported warnings or errors of its own.",
                       "Open the report in nsys-ui for their texts.");
}

enum err nsys_cuda(struct nsys *n)
{
    static const char *const kernels[] = {COLUMNS,
                                          "demangledName",
                                          "shortName",
                                          "mangledName",
                                          "registersPerThread",
                                          "staticSharedMemory",
                                          "dynamicSharedMemory",
                                          "gridX",
                                          "gridY",
                                          "gridZ",
                                          "blockX",
                                          "blockY",
                                          "blockZ"};
    static const char *const copies[] = {COLUMNS, "bytes", "copyKind", "srcKind", "dstKind"};
    static const char *const sets[] = {COLUMNS, "bytes", "memKind"};
    static const char *const graphs[] = {COLUMNS, "graphId"};
    TRY(nsys_calls(n));
    TRY(nsys_operations(n, "CUPTI_ACTIVITY_KIND_KERNEL", kernels, SHARED_COLUMNS + 12,
                        nsys_kernel));
    TRY(nsys_operations(n, "CUPTI_ACTIVITY_KIND_MEMCPY", copies, SHARED_COLUMNS + 4, nsys_copy));
    TRY(nsys_operations(n, "CUPTI_ACTIVITY_KIND_MEMSET", sets, SHARED_COLUMNS + 2, nsys_set));
    TRY(nsys_operations(n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphs, SHARED_COLUMNS + 1,
                        nsys_graph));
    TRY(nsys_devices(n));
    return nsys_diagnostics(n);
}
