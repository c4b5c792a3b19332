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

static enum err with_input(const struct import_input *in, const struct import_options *o,
                           struct model **out)
{
    int i = 0;
    while (import_sources[i] && !import_sources[i]->is_it(in))
        i++;
    if (!import_sources[i])
        return source_unknown(in);
    struct builder b;
    TRY(builder_create(&b, in->path));
    enum err e = import_sources[i]->read(&b, in, o);
    if (!e)
        e = builder_fact(&b, "import.format", import_sources[i]->name);
    if (!e)
        e = builder_finish(&b, out);
    builder_free(&b);
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

enum err import_bytes(const char *path, const void *data, size_t bytes,
                      const struct import_options *o, struct model **out)
{
    struct import_input in;
    TRY(input_bytes(&in, path, data, bytes));
    enum err e = with_input(&in, o, out);
    input_close(&in);
    return e;
}
