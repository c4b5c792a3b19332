/* The last flush: before CUDA's own handlers at exit take CUPTI down, or at _exit and exec. */
#include <stdlib.h>
#include <unistd.h>

#include "profiler/capture/recorders/cuda/cuda.h"

/* Another user of CUPTI's activities in this process replaces our buffers without a word. A few
 * launches may have failed in ways that no call tells. */
static void cuda_note_silence(struct capture_thread *t)
{
    const struct trace_header *h = capture.writer.header;
    int counted = h && (h->lost[TRACE_LOST_GPU_DROPPED] || h->lost[TRACE_LOST_GPU_BUFFERS]);
    if (cuda.unanswered >= 8 && !counted && !cuda_flush_hangs())
        capture_note(t, 2, "cuda.silent",
                     "CUPTI gave no record of %d launches and counted no loss: another profiler in "
                     "this process (torch.profiler, jax.profiler) took its buffers, and that GPU "
                     "work is missing",
                     cuda.unanswered);
}

static void cuda_last_flush(void)
{
    if (!cuda.on || getpid() != cuda.pid)
        return;
    int entered;
    uint64_t now = trace_now();
    struct capture_thread *t = cuda_enter(&entered);
    if (!t)
        return;
    cuda_flush_now(t, CUPTI_FLUSH_FORCED);
    cuda_note_silence(t);
    cuda_leave(t, entered, now);
}

/* Serves exec, which may fail and go on, and _exit. A process that ends by exit comes here too, but
 * then the destructors of CUPTI and of the driver have run. */
void cuda_stop(void)
{
    if (!cuda.over)
        cuda_last_flush();
}

static void cuda_on_exit(void)
{
    if (!cuda.over) {
        cuda.over = 1;
        cuda_last_flush();
    }
}

void cuda_at_exit(void)
{
    atexit(cuda_on_exit);
}
