/* Writes a large trace: `bench_analyze FOLDER LAUNCHES` makes FOLDER/trace with that many launches
 * (each an API record, a kernel and the ranges of a loop) and as many CPU samples, of 8 threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/trace/writer.h"

enum { THREADS = 8, STACKS = 2000, NAMES = 50 };

static uint64_t stacks[STACKS], names[NAMES];

static void define(struct trace_stream *s)
{
    for (uint64_t i = 0; i < STACKS; i++) {
        uint64_t words[40];
        for (uint64_t k = 0; k < 40; k++)
            words[k] = 0x400000 + 16 * (i * 40 + k);
        struct trace_stack d = {.r = {.kind = TRACE_STACK}, .id = stacks[i] = i + 1, .native = 40};
        trace_put(s, &d.r, sizeof d, words, sizeof words);
    }
    for (uint64_t i = 0; i < NAMES; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "_Z10kernel_%03dPfi", (int)i);
        struct trace_text d = {
            .r = {.kind = TRACE_STRING}, .id = names[i] = i + 100, .bytes = (uint32_t)n};
        trace_put(s, &d.r, sizeof d, text, (size_t)n);
    }
    struct trace_text m = {.r = {.kind = TRACE_META}, .bytes = 22};
    trace_put(s, &m.r, sizeof m, "cupti.clock\0monotonic", 22);
}

static void one(struct trace_stream *s, struct trace_stream *activities, uint32_t i, uint64_t now)
{
    uint32_t tid = s->tid;
    struct trace_sample sample = {.r = {.kind = TRACE_SAMPLE, .time_ns = now},
                                  .stack = stacks[i * 7 % STACKS],
                                  .weight_ns = 1000,
                                  .tid = tid};
    trace_put(s, &sample.r, sizeof sample, NULL, 0);
    struct trace_api api = {.r = {.kind = TRACE_API, .time_ns = now + 900},
                            .start_ns = now,
                            .end_ns = now + 900,
                            .stack = stacks[i % STACKS],
                            .name = names[0],
                            .tid = tid,
                            .api_class = TRACE_API_LAUNCH,
                            .correlations = 2,
                            .correlation = {2 * i + 1, 2 * i + 2}};
    trace_put(s, &api.r, sizeof api, NULL, 0);
    struct trace_kernel k = {.r = {.kind = TRACE_KERNEL, .time_ns = now + 100000},
                             .start = now + 1000,
                             .end = now + 1000 + 500 + i % 300,
                             .name = names[i % NAMES],
                             .correlation = 2 * i + 2,
                             .stream = 7 + i % 4,
                             .context = 1,
                             .grid = {1 + i % 5, 1, 1},
                             .block = {256, 1, 1},
                             .registers = 32};
    trace_put(activities, &k.r, sizeof k, NULL, 0);
}

int main(int argc, char **argv)
{
    static const uint8_t run[16] = {1};
    char path[4096];
    struct trace_writer w = {0};
    struct trace_stream s[THREADS + 1] = {0};
    if (argc != 3)
        return 2;
    mkdir(argv[1], 0777);
    snprintf(path, sizeof path, "%s/trace", argv[1]);
    mkdir(path, 0777);
    if (trace_create(&w, path, run, 0))
        return 1;
    uint64_t start = w.header->start_ns;
    for (uint32_t i = 0; i <= THREADS; i++)
        trace_stream_open(&s[i], &w, (uint32_t)w.header->pid + i);
    define(&s[0]);
    uint32_t n = (uint32_t)strtoul(argv[2], NULL, 10);
    for (uint32_t i = 0; i < n; i++)
        one(&s[i % THREADS], &s[THREADS], i,
            start + 2000 * (uint64_t)i + (i * 2654435761u >> 22)); /* no regular rhythm */
    for (int i = 0; i <= THREADS; i++)
        trace_stream_close(&s[i]);
    trace_finish(&w, TRACE_EXIT, 0);
    return w.failed;
}
