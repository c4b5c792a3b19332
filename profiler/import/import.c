/* Finds the source by what the bytes are, never by the file's name, and lets it fill the builder.
 */
#include <string.h>

#include "profiler/findings/findings.h"
#include "profiler/import/import.h"
#include "profiler/import/build/builder.h"

/* Text formats without a mark of their own come last. */
const struct import_source *const import_sources[] = {
    &import_nsys,  &import_speedscope, &import_firefox, &import_trace_events,
    &import_pprof, &import_perfetto,   &import_xplane,  &import_callgrind,
    &import_ncu,   &import_perf,       &import_folded,  NULL};

static enum err source_unknown(const struct import_input *in)
{
    const unsigned char *p = (const unsigned char *)in->data;
    if (in->bytes > 7 && !memcmp(p, "PERFILE2", 8))
        return FAIL(ERR_INPUT,
                    "%s: perf.data, which only perf can read, and perf was not found. Install it "
                    "(Debian: linux-perf), or import the "
                    "output of `perf script --ns -F +pid -i %s`.",
                    in->path, in->path);
    if (in->bytes < 8)
        return FAIL(
            ERR_INPUT,
            "%s: %zu bytes; expected a capture of Nsight Systems (SQLite), Nsight Compute (CSV), "
            "PyTorch, JAX, perf script, speedscope, pprof, callgrind, Firefox, Perfetto or folded "
            "stacks",
            in->path, in->bytes);
    return FAIL(
        ERR_INPUT,
        "%s: unknown format (first bytes %02x %02x %02x %02x); expected a capture of "
        "Nsight Systems (export it: nsys export "
        "--type sqlite) or Nsight Compute (ncu --csv), PyTorch, JAX, perf script, speedscope, "
        "pprof, callgrind, Firefox, Perfetto or folded stacks",
        in->path, p[0], p[1], p[2], p[3]);
}

/* Notes the columns that a source does not measure. */
static enum err import_unknowns(struct builder *b)
{
    static const struct {
        enum import_cost kind;
        const char *id, *text;
    } rows[] = {
        {IMPORT_CPU, "import_no_cpu", "This capture holds no CPU time by stack."},
        {IMPORT_SYS, "import_no_system",
         "This capture does not tell user from system time: all of it is in user."},
        {IMPORT_WAIT, "import_no_wait", "This capture holds no waiting by stack."},
        {IMPORT_GPU, "import_no_gpu", "This capture holds no operations of a GPU."},
        {IMPORT_ALLOC, "import_no_memory", "This capture holds no allocations by stack."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (b->known[rows[i].kind] || (rows[i].kind == IMPORT_SYS && !b->known[IMPORT_CPU]))
            continue;
        TRY(import_note(b, MODEL_UNKNOWN, rows[i].id, "info", rows[i].text,
                        "The columns are empty, which means unknown, not zero."));
    }
    return ERR_OK;
}

struct import_from {
    const struct import_input *in;
    const struct import_options *options;
    const struct import_source *source;
};

static enum err import_fill(struct builder *b, const void *context)
{
    const struct import_from *from = context;
    TRY(from->source->read(b, from->in, from->options));
    TRY(import_fact(b, "import.format", from->source->name));
    return import_unknowns(b);
}

static enum err with_input(const struct import_input *in, const struct import_options *o,
                           struct model **out)
{
    int i = 0;
    while (import_sources[i] && !import_sources[i]->is_it(in))
        i++;
    if (!import_sources[i])
        return source_unknown(in);
    enum err e =
        builder_model(in->path, import_fill, &(struct import_from){in, o, import_sources[i]}, out);
    if (!e && (e = findings_add(*out))) {
        model_destroy(*out);
        *out = NULL;
    }
    return e;
}

enum err import_file(const char *path, const struct import_options *o, struct model **out)
{
    struct import_input in;
    TRY(input_open(&in, path));
    enum err e = with_input(&in, o, out);
    input_close(&in);
    return e;
}
