/* Reads boxes of arrays for loading.py: a line "PATH ARRAY START,... COUNT,..." (ARRAY - : the
 * first; START - : all) gives "SECONDS CPU_SECONDS SUM", of opening, reading into new memory and
 * closing; SUM is that of the array's bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void parse(const char *text, int64_t *out)
{
    for (int i = 0; i < STORE_DIMS && *text; i++) {
        char *end;
        out[i] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
}

static enum err read_box(const char *path, const char *name, const char *start, const char *count,
                         unsigned char **out, size_t *bytes)
{
    struct store *s;
    struct store_array *a;
    TRY(store_open(path, &s));
    enum err e = store_find(s, strcmp(name, "-") ? name : NULL, &a);
    if (!e) {
        struct engine_box b = engine_all(a);
        struct store_dtype type = a->dtype;
        int64_t stride[STORE_DIMS];
        type.swap = 0;
        if (strcmp(start, "-") != 0) {
            parse(start, b.start);
            parse(count, b.count);
        }
        *bytes = type.bytes;
        for (int d = 0; d < a->dims; d++)
            *bytes *= (size_t)b.count[d];
        engine_strides(a, &b, type.bytes, 1, stride); /* as nibabel: the order of the file */
        void *memory = NULL;
        e = mem_alloc(path, *bytes, &memory);
        *out = memory;
        if (!e)
            e = engine_read(s, a, &b, type, *out, stride);
    }
    store_close(s);
    return e;
}

int main(void)
{
    char path[4096], name[512], start[256], count[256];
    while (scanf("%4095s %511s %255s %255s", path, name, start, count) == 4) {
        unsigned char *out = NULL;
        size_t bytes = 0;
        unsigned long long sum = 0;
        const double cpu = cpu_seconds();
        const int64_t begin = clock_ns();
        const enum err e = read_box(path, name, start, count, &out, &bytes);
        const double seconds = clock_seconds_since(begin), used = cpu_seconds() - cpu;
        for (size_t i = 0; i < bytes && !e; i++)
            sum += out[i];
        if (e)
            printf("error %s\n", err_text());
        else
            printf("%.9f %.6f %llu\n", seconds, used, sum);
        fflush(stdout);
        mem_free(out);
    }
    return 0;
}
