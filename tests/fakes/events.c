/* Calls of the pretended runtime that make no work of their own: events, pinned memory, the rest of
 * a program's usual calls. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

struct event {
    uint64_t busy;
};

enum { PINNED = 16 };
static struct pinned {
    char *at;
    size_t bytes;
} pinned[PINNED];

FAKE_API long fake_option(const char *key, long otherwise)
{
    static const char *text;
    if (!text) /* asked with each call: what it costs would pass for the recorder's */
        text = getenv("FAKE") ? getenv("FAKE") : "";
    const char *at = text;
    size_t n = *at ? strlen(key) : 0;
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, key, n) && at[n] == '=')
            return strtol(at + n + 1, NULL, 0);
    return otherwise;
}

FAKE_API uint8_t fake_host_kind(const void *a, const void *b)
{
    for (int i = 0; i < PINNED; i++) {
        uintptr_t at = (uintptr_t)pinned[i].at, end = at + pinned[i].bytes;
        if (at && (((uintptr_t)a >= at && (uintptr_t)a < end) ||
                   ((uintptr_t)b >= at && (uintptr_t)b < end)))
            return 2;
    }
    return 1;
}

FAKE_API int cudaMallocHost(void **at, size_t bytes)
{
    cudaSetDevice(0);
    *at = calloc(1, bytes);
    for (int i = 0; i < PINNED && *at; i++)
        if (!pinned[i].at) {
            pinned[i] = (struct pinned){*at, bytes};
            return 0;
        }
    return 2;
}

FAKE_API int cudaFreeHost(void *at)
{
    for (int i = 0; i < PINNED; i++)
        if (pinned[i].at == at)
            pinned[i] = (struct pinned){NULL, 0};
    free(at);
    return 0;
}

FAKE_API int cudaFreeAsync(void *at, void *stream)
{
    (void)stream;
    return cudaFree(at);
}

FAKE_API int cudaEventCreate(void **event)
{
    *event = calloc(1, sizeof(struct event));
    return *event ? 0 : 2;
}

FAKE_API int cudaEventRecord(void *event, void *stream)
{
    ((struct event *)event)->busy = fake_stream_busy(stream);
    return 0;
}

FAKE_API int cudaEventSynchronize(void *event)
{
    (void)event;
    return cudaDeviceSynchronize();
}

FAKE_API int cudaEventElapsedTime(float *ms, void *from, void *to)
{
    double ns = (double)(((struct event *)to)->busy - ((struct event *)from)->busy);
    *ms = (float)(ns * 1e-6 * (1 + 0.01 * (double)fake_option("event", 0)));
    return 0;
}

FAKE_API int cudaMemGetInfo(size_t *left, size_t *all)
{
    *all = (size_t)8 << 30;
    *left = (size_t)7 << 30;
    return 0;
}

FAKE_API int cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}

FAKE_API int cuDeviceGet(int *device, int i)
{
    *device = i;
    return 0;
}

/* FAKE chip=120: compute capability 12.0. */
FAKE_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    const int chip = (int)fake_option("chip", 86);
    *value = attribute == 75 ? chip / 10 : attribute == 76 ? chip % 10 : 0;
    return 0;
}

FAKE_API int cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

FAKE_API const char *cudaGetErrorString(int error)
{
    return error ? "an error" : "no error";
}
