/* Nsight Compute's tables (ncu --csv): --page raw has a row per launch and a column per metric,
 * --page source is read by ncu_source.c, other pages have a row per launch and metric. One file may
 * hold several pages. Launches have lengths, not moments. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/import/read/csv.h"
#include "profiler/import/source/ncu_source.h"

#define HEAD     "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\""
#define HEAD_AT  65536 /* bytes before which it must begin */
#define DAY_NS   86400e9
#define NO_UNIT  "" /* of a count, or of none */
#define IS_SHARE "%"

/* Columns that say which launch a row is of. */
enum column {
    ID,
    PROCESS_ID,
    PROCESS_NAME,
    KERNEL,
    CONTEXT,
    STREAM,
    BLOCK,
    GRID,
    DEVICE,
    METRIC,
    UNIT,
    VALUE,
    COLUMNS
};
static const char *const column_names[COLUMNS] = {
    "ID",         "Process ID", "Process Name", "Kernel Name", "Context",     "Stream",
    "Block Size", "Grid Size",  "Device",       "Metric Name", "Metric Unit", "Metric Value"};

struct ncu_launch {
    int open;
    char id[32], process_id[32], kernel[4096], process[256];
    int64_t context, stream, device, grid[3], block[3];
    double ns, registers, static_shared, dynamic_shared;
    struct import_counters counters;
};

/* By identifier, and as the details page calls it. */
static const struct metric {
    const char *name, *label;
    size_t at;
    double scale;
} metrics[] = {
    {"gpu__time_duration.sum", "Duration", offsetof(struct ncu_launch, ns), 1},
    {"launch__registers_per_thread", "Registers Per Thread", offsetof(struct ncu_launch, registers),
     1},
    {"launch__shared_mem_per_block_static", "Static Shared Memory Per Block",
     offsetof(struct ncu_launch, static_shared), 1},
    {"launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block",
     offsetof(struct ncu_launch, dynamic_shared), 1},
    {"launch__waves_per_multiprocessor", "Waves Per SM",
     offsetof(struct ncu_launch, counters.waves), 1},
    {"sm__maximum_warps_per_active_cycle_pct", "Theoretical Occupancy",
     offsetof(struct ncu_launch, counters.occupancy), 0.01},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy",
     offsetof(struct ncu_launch, counters.achieved), 0.01},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput",
     offsetof(struct ncu_launch, counters.compute), 0.01},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "Memory Throughput",
     offsetof(struct ncu_launch, counters.memory), 0.01},
    {"dram__bytes_read.sum", NULL, offsetof(struct ncu_launch, counters.dram_read), 1},
    {"dram__bytes_write.sum", NULL, offsetof(struct ncu_launch, counters.dram_write), 1},
};
#define METRICS (sizeof metrics / sizeof *metrics)

struct ncu_reader {
    struct builder *b;
    struct csv row;
    int column[COLUMNS];     /* -1: the table has none */
    int metric_at[METRICS];  /* of a wide table: columns */
    char units[METRICS][16]; /* likewise, from its second line */
    int wide, has_units;
    struct ncu_launch now;
    struct ncu_source source;
    int64_t launches, damaged, no_time, unknown_unit;
};

static const struct {
    const char *unit;
    double factor; /* to ns, bytes, or none */
} units[] = {{NO_UNIT, 1},         {IS_SHARE, 1},         {"ns", 1},       {"nsecond", 1},
             {"us", 1e3},          {"usecond", 1e3},      {"ms", 1e6},     {"msecond", 1e6},
             {"s", 1e9},           {"second", 1e9},       {"byte", 1},     {"Kbyte", 1e3},
             {"Mbyte", 1e6},       {"Gbyte", 1e9},        {"Tbyte", 1e12}, {"byte/block", 1},
             {"Kbyte/block", 1e3}, {"register/thread", 1}};

static double factor_of(const char *unit)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].unit, unit))
            return units[i].factor;
    return NAN;
}

/* "1,605.5": NaN where it is not a number ("n/a"). */
static double ncu_number(const char *text)
{
    char plain[64];
    size_t n = 0;
    for (; *text && n + 1 < sizeof plain; text++)
        if (*text != ',')
            plain[n++] = *text;
    plain[n] = 0;
    char *end;
    double v = strtod(plain, &end);
    return n && !*end && !*text && isfinite(v) && v >= 0 ? v : (double)NAN;
}

static int64_t ncu_integer(const char *text, int64_t otherwise)
{
    double v = text ? ncu_number(text) : (double)NAN;
    return v < 9e15 ? (int64_t)v : otherwise; /* false for NaN */
}

/* "(8, 4, 1)" */
static void ncu_triple(const char *text, int64_t out[3])
{
    long long v[3];
    out[0] = out[1] = out[2] = -1;
    if (text && sscanf(text, "(%lld, %lld, %lld)", &v[0], &v[1], &v[2]) == 3 && v[0] > 0 &&
        v[1] > 0 && v[2] > 0)
        for (int i = 0; i < 3; i++)
            out[i] = v[i];
}

static const char *ncu_cell(const struct ncu_reader *r, enum column c)
{
    return r->column[c] >= 0 && r->column[c] < r->row.count ? r->row.field[r->column[c]] : NULL;
}

static void text_copy(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from ? from : "");
}

static void ncu_begin_launch(struct ncu_reader *r)
{
    struct ncu_launch *l = &r->now;
    l->open = 1;
    text_copy(l->id, sizeof l->id, ncu_cell(r, ID));
    text_copy(l->process_id, sizeof l->process_id, ncu_cell(r, PROCESS_ID));
    text_copy(l->kernel, sizeof l->kernel, ncu_cell(r, KERNEL));
    text_copy(l->process, sizeof l->process, ncu_cell(r, PROCESS_NAME));
    l->context = ncu_integer(ncu_cell(r, CONTEXT), MODEL_UNKNOWN);
    l->stream = ncu_integer(ncu_cell(r, STREAM), 0);
    l->device = ncu_integer(ncu_cell(r, DEVICE), 0);
    ncu_triple(ncu_cell(r, GRID), l->grid);
    ncu_triple(ncu_cell(r, BLOCK), l->block);
    for (size_t i = 0; i < METRICS; i++)
        *(double *)((char *)l + metrics[i].at) = NAN;
}

static int64_t or_unknown(double v)
{
    return v < 1e15 ? llround(v) : -1; /* false for NaN */
}

static enum err ncu_finish_launch(struct ncu_reader *r)
{
    struct ncu_launch *l = &r->now;
    int32_t process, thread, root;
    if (!l->open)
        return ERR_OK;
    l->open = 0;
    r->launches++;
    if (!(l->ns < DAY_NS)) {
        r->no_time++;
        return ERR_OK;
    }
    const char *program = base_name(l->process);
    TRY(builder_process(r->b, ncu_integer(l->process_id, 0),
                        import_text(r->b, program, strlen(program)), &process));
    TRY(builder_thread(r->b, process, 0, "launches", &thread));
    TRY(builder_call(r->b, IMPORT_ROOT(thread), NULL, &root));
    struct import_operation o = {
        .kind = "kernel",
        .name = import_text(r->b, l->kernel, strlen(l->kernel)),
        .device = (int32_t)(l->device < 256 ? l->device : 0),
        .node = root,
        .context = l->context,
        .stream = l->stream,
        .end = llround(l->ns),
        .bytes = -1,
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .registers = or_unknown(l->registers),
        .static_shared = or_unknown(l->static_shared),
        .dynamic_shared = or_unknown(l->dynamic_shared),
        .no_moment = 1,
        .counters = &l->counters,
    };
    return builder_operation(r->b, &o);
}

static void ncu_metric(struct ncu_reader *r, size_t metric, const char *unit, const char *value)
{
    double v = ncu_number(value), factor = factor_of(unit);
    r->unknown_unit += isfinite(v) && isnan(factor);
    if (isfinite(v * factor))
        *(double *)((char *)&r->now + metrics[metric].at) = v * factor * metrics[metric].scale;
}

/* The names of the columns; a table of another process has a head of its own. */
static void ncu_head(struct ncu_reader *r)
{
    r->has_units = 0;
    for (int c = 0; c < COLUMNS; c++)
        r->column[c] = -1;
    for (size_t k = 0; k < METRICS; k++)
        r->metric_at[k] = -1;
    for (int i = 0; i < r->row.count; i++) {
        for (int c = 0; c < COLUMNS; c++)
            if (!strcmp(r->row.field[i], column_names[c]))
                r->column[c] = i;
        for (size_t k = 0; k < METRICS; k++)
            if (!strcmp(r->row.field[i], metrics[k].name))
                r->metric_at[k] = i;
    }
    r->wide = r->column[METRIC] < 0;
}

/* A row of launch and metrics; of the wide table's first row, whose cells are units. */
static enum err wide_row(struct ncu_reader *r)
{
    int unit_row = !r->has_units && !*ncu_cell(r, ID);
    if (!unit_row) {
        TRY(ncu_finish_launch(r));
        ncu_begin_launch(r);
    }
    for (size_t k = 0; k < METRICS; k++) {
        int at = r->metric_at[k];
        if (at < 0 || at >= r->row.count)
            continue;
        if (unit_row)
            text_copy(r->units[k], sizeof r->units[k], r->row.field[at]);
        else
            ncu_metric(r, k, r->has_units ? r->units[k] : NO_UNIT, r->row.field[at]);
    }
    r->has_units |= unit_row;
    return ERR_OK;
}

static enum err long_row(struct ncu_reader *r)
{
    const char *name = ncu_cell(r, METRIC), *unit = ncu_cell(r, UNIT), *value = ncu_cell(r, VALUE);
    if (!value || !unit) {
        r->damaged++;
        return ERR_OK;
    }
    if (!r->now.open || strcmp(r->now.id, ncu_cell(r, ID)) ||
        strcmp(r->now.process_id, ncu_cell(r, PROCESS_ID))) {
        TRY(ncu_finish_launch(r));
        ncu_begin_launch(r);
    }
    for (size_t k = 0; k < METRICS; k++)
        if (!strcmp(name, metrics[k].name) || (metrics[k].label && !strcmp(name, metrics[k].label)))
            ncu_metric(r, k, unit, value);
    return ERR_OK;
}

/* A line that is not a row is the program's output, or ncu's own words (==PROF==). */
static enum err ncu_line(struct ncu_reader *r, const char *at, size_t n)
{
    if (!n || *at != '"')
        return ERR_OK;
    if (!csv_line(&r->row, at, n)) {
        r->damaged++;
        return ERR_OK;
    }
    if (n >= sizeof HEAD - 1 && !memcmp(at, HEAD, sizeof HEAD - 1)) {
        TRY(ncu_finish_launch(r));
        r->source.open = 0;
        ncu_head(r);
        return ERR_OK;
    }
    int taken;
    TRY(ncu_source_line(&r->source, r->b, &r->row, &taken));
    if (taken)
        return ERR_OK;
    if (r->column[ID] < 0 || !ncu_cell(r, KERNEL) || (!r->wide && !*ncu_cell(r, ID))) {
        r->damaged += r->column[ID] >= 0;
        return ERR_OK;
    }
    return r->wide ? wide_row(r) : long_row(r);
}

static enum err ncu_read_rows(struct ncu_reader *r, const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    for (int c = 0; c < COLUMNS; c++)
        r->column[c] = -1;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        TRY(ncu_line(r, at, (size_t)((stop ? stop : end) - at)));
        at = stop ? stop + 1 : end;
    }
    TRY(ncu_finish_launch(r));
    FAIL_IF(r->launches == r->no_time && !r->source.rows, ERR_INPUT,
            "%s: %lld launches, none with gpu__time_duration.sum (Duration); expected the output "
            "of `ncu --csv --page raw` with that metric, which every set has, or `ncu --csv --page "
            "source`",
            in->path, (long long)r->launches);
    TRY(source_is(r->b, "Nsight Compute", NULL));
    TRY(import_note(r->b, r->damaged, "import_damaged", "warning",
                    "Rows had fewer columns than the table, or longer ones than 256 KiB.",
                    "They were left out."));
    TRY(import_note(r->b, r->no_time, "import_no_time", "warning",
                    "Launches had no gpu__time_duration.sum.", "They were left out."));
    TRY(import_note(r->b, r->unknown_unit, "import_unit", "warning",
                    "Values had a unit that this version does not know.", "They are null."));
    return import_note(r->b, MODEL_UNKNOWN, "import_no_moments", "info",
                       "Nsight Compute runs each kernel alone, several times where it needs "
                       "passes: it says how long a launch took, not when.",
                       "The timeline is empty, and the device's busy time is unknown. Copies are "
                       "not in the capture.");
}

static enum err ncu_read(struct builder *b, const struct import_input *in,
                         const struct import_options *o)
{
    (void)o;
    struct ncu_reader *r = calloc(1, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "no memory for the import");
    r->b = b;
    b->kernels_only = 1;
    enum err e = ncu_read_rows(r, in);
    free(r);
    return e;
}

static int ncu_is_it(const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    static const char *const heads[] = {HEAD, "\"Kernel Name\",\"", "\"Function Name\",\""};
    while (at && at < end && at - in->data < HEAD_AT) {
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
            if ((size_t)(end - at) >= strlen(heads[i]) && !memcmp(at, heads[i], strlen(heads[i])))
                return 1;
        at = memchr(at, '\n', (size_t)(end - at));
        if (at)
            at++;
    }
    return 0;
}

const struct import_source import_ncu = {"ncu", "tables of Nsight Compute (ncu --csv)", ncu_is_it,
                                         ncu_read};
