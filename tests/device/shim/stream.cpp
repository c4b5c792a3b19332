/* Streams: each is a queue of work that is done when somebody waits for it, or some of it at random
 * moments before. Who forgets to wait finds NaN, or what was there before. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/memory.h"
#include "tests/device/shim/shim.h"

#define PAGE ((size_t)4096)

namespace
{
struct queue {
    std::deque<std::function<void()>> work;
    int64_t given, done;
};
typedef std::shared_ptr<queue> queue_ref;
std::vector<queue_ref> queues; /* of living streams; the first is that of stream NULL */
std::map<const char *, size_t> pinned;
unsigned order;
int64_t busiest;
std::set<cudaStream_t> streams;
std::set<cudaEvent_t> events;
} // namespace

struct shim_stream {
    queue_ref q;
};
struct shim_event {
    queue_ref q; /* recorded after `position` pieces of its work; none: never recorded */
    int64_t position;
    std::shared_ptr<double> seconds;
};

static queue_ref queue_of(cudaStream_t stream)
{
    if (stream && !streams.count(stream))
        shim_die("stream %p was destroyed", static_cast<void *>(stream));
    if (queues.empty())
        queues.push_back(std::make_shared<queue>());
    return stream ? stream->q : queues[0];
}

static void run_one(queue *q)
{
    std::function<void()> work = std::move(q->work.front());
    q->work.pop_front();
    work();
    q->done++;
}

/* Device memory opens once for all of it: the host does nothing in between. */
static void run_to(queue *q, int64_t position)
{
    if (q->done >= position || q->work.empty())
        return;
    shim_unlock();
    while (q->done < position && !q->work.empty())
        run_one(q);
    shim_lock();
}

void shim_drain(void)
{
    for (size_t i = 0; i < queues.size(); i++)
        run_to(queues[i].get(), queues[i]->given);
}

/* Work that is not done yet never will be. */
static void forget_all(void)
{
    for (const queue_ref &q : queues) {
        q->work.clear();
        q->done = q->given;
    }
}

int64_t shim_busiest(void)
{
    return busiest;
}

void shim_reset_busiest(void)
{
    busiest = 0;
}

int64_t shim_streams_alive(void)
{
    return (int64_t)(queues.empty() ? 0 : queues.size() - 1) + (int64_t)events.size() +
           (int64_t)pinned.size();
}

void shim_streams(unsigned seed)
{
    order = seed;
}

static void note_busy(void)
{
    int64_t busy = 0;
    for (const queue_ref &q : queues)
        busy += !q->work.empty();
    busiest = busy > busiest ? busy : busiest;
}

void shim_enqueue(cudaStream_t stream, std::function<void()> work)
{
    if (shim_record(stream, work))
        return;
    const queue_ref q = queue_of(stream);
    q->work.push_back(std::move(work));
    q->given++;
    note_busy();
    for (int i = 0; order && i < 2; i++) {
        order = order * 1664525u + 1013904223u;
        queue *const any = queues[(order >> 16) % queues.size()].get();
        if (order >> 31 && !any->work.empty())
            run_one(any);
    }
}

static int is_pinned(const void *p, size_t bytes)
{
    const char *const at = static_cast<const char *>(p);
    auto next = pinned.upper_bound(at);
    return next != pinned.begin() && at + bytes <= (--next)->first + next->second;
}

int shim_is_pinned(const void *p)
{
    return is_pinned(p, 1);
}

/* Drivers pin whole pages, and some refuse one that is pinned already. */
static int shares_a_page(const char *p, size_t bytes)
{
    const uintptr_t first = (uintptr_t)p / PAGE, last = ((uintptr_t)p + bytes - 1) / PAGE;
    for (const auto &other : pinned)
        if ((uintptr_t)other.first / PAGE <= last &&
            first <= ((uintptr_t)other.first + other.second - 1) / PAGE)
            return 1;
    return 0;
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    *out = NULL;
    const cudaError_t code = shim_enter("cudaMallocHost");
    if (code || shim_forbid())
        return code ? code : cudaErrorStreamCaptureUnsupported;
    *out = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!*out)
        return shim_note(cudaErrorMemoryAllocation);
    pinned[static_cast<char *>(*out)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    shim_drain();
    pinned.erase(static_cast<char *>(p));
    free(p);
    return shim_enter("cudaFreeHost");
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    const cudaError_t code = shim_enter("cudaHostRegister");
    if (code || shim_forbid())
        return code ? code : cudaErrorStreamCaptureUnsupported;
    if ((shim_faults.pin > 0 && --shim_faults.pin == 0) ||
        (!shim_faults.pin && shim_faults.pin_all))
        return shim_note(cudaErrorMemoryAllocation);
    if (shares_a_page(static_cast<char *>(p), bytes))
        return shim_note(cudaErrorHostMemoryAlreadyRegistered);
    pinned[static_cast<char *>(p)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
    shim_drain();
    if (!pinned.erase(static_cast<char *>(p)))
        shim_die("cudaHostUnregister of %p, which was not registered", p);
    return shim_enter("cudaHostUnregister");
}

static void expect(const char *what, const void *p, size_t bytes, int device)
{
    if (shim_is_device(p, bytes) != device)
        shim_die("%s: %zu bytes at %p are %s memory", what, bytes, p,
                 device ? "not allocated device" : "device");
}

static void copy(void *to, const void *from, size_t bytes)
{
    shim_unlock();
    memcpy(to, from, bytes);
    shim_lock();
}

static uint64_t sum_of(const void *p, size_t bytes)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ static_cast<const unsigned char *>(p)[i]) * 1099511628211u;
    return sum;
}

/* Memory of the host is read when the copy's turn comes: CUDA may read what is not pinned at once,
 * but does not promise to. Memory that is written to holds NaN until the copy has been waited for.
 */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const cudaError_t code = shim_enter("cudaMemcpyAsync");
    if (code || !bytes)
        return code;
    expect("copy to", to, bytes, kind != cudaMemcpyDeviceToHost);
    expect("copy from", from, bytes, kind != cudaMemcpyHostToDevice);
    shim_count_copy(kind, bytes);
    shim_name_memory(kind == cudaMemcpyDeviceToHost ? from : to);
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes)) {
        if (shim_recording(stream))
            shim_die("a graph would read %p, which is not pinned, whenever it is launched", from);
        const uint64_t sum = sum_of(from, bytes);
        shim_enqueue(stream, [=] {
            if (sum_of(from, bytes) != sum)
                shim_die("%p is not pinned, and changed before it was copied", from);
            copy(to, from, bytes);
        });
        return cudaSuccess;
    }
    if (kind == cudaMemcpyDeviceToHost)
        memset(to, 0xff, bytes);
    shim_enqueue(stream, [=] { copy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    const cudaError_t code = shim_enter("cudaMemsetAsync");
    if (code)
        return code;
    expect("memset", to, bytes, 1);
    shim_name_memory(to);
    shim_enqueue(stream, [=] {
        shim_unlock();
        memset(to, value, bytes);
        shim_lock();
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    const cudaError_t code = shim_enter("cudaStreamCreate");
    if (code)
        return code;
    queue_of(NULL);
    *out = new shim_stream{std::make_shared<queue>()};
    queues.push_back((*out)->q);
    streams.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const queue_ref q = queue_of(stream);
    run_to(q.get(), q->given);
    streams.erase(stream);
    for (size_t i = 1; i < queues.size(); i++)
        if (queues[i] == q)
            queues.erase(queues.begin() + (ptrdiff_t)i);
    delete stream;
    return shim_enter("cudaStreamDestroy");
}

/* The host waits. */
static cudaError_t wait_for(queue *q, int64_t position)
{
    shim_totals.waits++;
    if (shim_faults.lost > 0 && --shim_faults.lost == 0)
        shim_lose();
    const cudaError_t code = shim_enter("a wait");
    if (shim_lost())
        forget_all();
    else
        run_to(q, position);
    return code;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (shim_forbid())
        return cudaErrorStreamCaptureUnsupported;
    const queue_ref q = queue_of(stream);
    return wait_for(q.get(), q->given);
}

static void living(cudaEvent_t event)
{
    if (!events.count(event))
        shim_die("event %p was destroyed", static_cast<void *>(event));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    living(event);
    const queue_ref q = event->q;
    const int64_t position = event->position;
    if (shim_recording(stream))
        shim_die("a graph would wait for an event that was recorded outside of it");
    const cudaError_t code = shim_enter("cudaStreamWaitEvent");
    if (q && !code)
        shim_enqueue(stream, [=] { run_to(q.get(), position); });
    return code;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    const cudaError_t code = shim_enter("cudaEventCreate");
    if (code)
        return code;
    *out = new shim_event{NULL, 0, std::make_shared<double>(0)};
    events.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    living(event);
    events.erase(event);
    delete event;
    return shim_enter("cudaEventDestroy");
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    living(event);
    if (shim_recording(stream))
        shim_die("an event is recorded in a graph: whoever waits for it outside never ends");
    const cudaError_t code = shim_enter("cudaEventRecord");
    if (code)
        return code;
    event->q = queue_of(stream);
    event->position = event->q->given + 1;
    const std::shared_ptr<double> seconds = event->seconds;
    shim_enqueue(stream, [seconds] {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        *seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    living(event);
    if (shim_forbid())
        return cudaErrorStreamCaptureUnsupported;
    return event->q ? wait_for(event->q.get(), event->position)
                    : shim_enter("cudaEventSynchronize");
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    living(from);
    living(to);
    for (const cudaEvent_t event : {from, to})
        if (!event->q || event->q->done < event->position)
            shim_die("the time of event %p is asked for, which nobody waited for",
                     static_cast<void *>(event));
    *ms = (float)(1e3 * (*to->seconds - *from->seconds));
    return shim_enter("cudaEventElapsedTime");
}
