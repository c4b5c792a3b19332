/* The state that the files of this folder share, and how they enter the library and report
 * failures. */
#include <string.h>

#include "profiler/capture/recorders/cuda/cuda.h"

struct cuda cuda;

struct capture_thread *cuda_enter(int *entered)
{
    struct capture_thread *t = cuda.on ? capture_enter_in(entered) : NULL;
    *entered = t != NULL;
    return t || !cuda.on || !capture.on ? t : capture_self();
}

void cuda_leave(struct capture_thread *t, int entered, uint64_t since)
{
    if (entered)
        capture_leave(t, TRACE_PART_CUDA, since);
}

/* A call that fails once mostly fails for good: each is said at most once per process image. */
int cuda_check(struct capture_thread *t, int code, const char *call, const char *meaning)
{
    static const char *said[32];
    if (!code)
        return 1;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (said[i] && !strcmp(said[i], call))
            return 0;
        if (said[i])
            continue;
        said[i] = call;
        capture_note(t, 1, "cuda.call", "%s: %d, %s; %s", call, code, cuda_sentence(code), meaning);
        return 0;
    }
    return 0;
}

void cuda_name_stream(struct capture_thread *t, void *stream, uint64_t name)
{
    struct trace_gpu_stream r = {.r.kind = TRACE_GPU_STREAM, .name = name};
    if (cuda.on && !cuda.over && cuda.cupti.stream_id &&
        !cuda.cupti.stream_id(NULL, stream, 0, &r.id))
        trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}
