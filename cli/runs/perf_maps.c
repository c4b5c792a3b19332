/* Keeps the perf maps of JIT compilers, which their processes left in /tmp, beside the trace files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/runs/run_files.h"
#include "profiler/analyze/symbols/jit.h"
#include "profiler/trace/reader.h"

static enum err copy_perf_map(const char *trace, const struct trace_header *h)
{
    char from[64], to[RUN_PATH + 64];
    size_t bytes;
    const char *why; /* the analysis tells it */
    struct outfile f;
    jit_map_path(h->pid, from);
    char *text = jit_file_read(from, h->start_realtime_ns, &bytes, &why);
    if (!text)
        return ERR_OK;
    snprintf(to, sizeof to, "%.*s/perf-%d.map", RUN_PATH, trace, (int)h->pid);
    enum err e = outfile_open(&f, to);
    if (!e)
        e = outfile_write(&f, text, bytes);
    if (!e)
        e = outfile_commit(&f);
    free(text);
    return e;
}

enum err perf_maps_keep(const char *trace)
{
    char **paths;
    size_t count;
    enum err e = ERR_OK;
    if (trace_list(trace, &paths, &count))
        return ERR_OK; /* the analysis tells that there are none */
    for (size_t i = 0; i < count && !e; i++) {
        struct trace_reader *reader;
        if (trace_open(paths[i], &reader))
            continue; /* the analysis counts it */
        e = copy_perf_map(trace, trace_reader_header(reader));
        trace_reader_free(reader);
    }
    trace_list_free(paths, count);
    return e;
}
