/* Activity buffers. CUPTI asks for one whenever a thread or a context has none left, from any
 * thread, and hands it back filled on any thread, often inside a call of the target.
 *
 * 64 buffers of 256 KiB (1200 kernels each) in one mapping: pages cost memory only once CUPTI wrote
 * to them, and the lowest free buffer goes out first, so a program with few threads touches few.
 * There are that many, and small, since CUPTI keeps one per thread. When all 64 are out, a further
 * one is mapped for itself (at most 64 of these, each counted as cuda.buffers) and unmapped when
 * decoded; beyond, CUPTI gets none and counts what it drops.
 *
 * A buffer that comes back inside a call of the target is left to the flushing thread, unless half
 * of them are waiting already. One thread decodes at a time; nobody waits for it. */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cuda/call_state.h"

enum { BUFFERS = 64, BUFFER_BYTES = 256 * 1024, EXTRA = 64 };
static uint8_t *pool;
static uint64_t free_bits, ready_bits, used_bits; /* atomic; used: handed out at least once */
static size_t valid_bytes[BUFFERS];
static int extra_out, decoding; /* atomic */

int cuda_buffers_open(void)
{
    if (!pool) {
        pool = raw_map((size_t)BUFFERS * BUFFER_BYTES, MAP_NORESERVE);
        if (!pool)
            return ENOMEM;
    }
    __atomic_store_n(&ready_bits, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&free_bits, ~0ull, __ATOMIC_RELEASE);
    return 0;
}

/* In a forked child: the parent decodes what its CUPTI delivered. */
void cuda_buffers_abandon(void)
{
    ready_bits = 0;
    decoding = 0;
}

static int pool_take(uint64_t *bits)
{
    uint64_t seen = __atomic_load_n(bits, __ATOMIC_ACQUIRE);
    while (seen)
        if (__atomic_compare_exchange_n(bits, &seen, seen & (seen - 1), 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return __builtin_ctzll(seen);
    return -1;
}

static void pool_return(uint64_t *bits, int i)
{
    __atomic_fetch_or(bits, 1ull << i, __ATOMIC_ACQ_REL);
}

/* Counts the memory that CUPTI may have written to by now. */
static void count_memory(int64_t bytes)
{
    if (capture.on)
        capture_count_memory(bytes);
}

static uint8_t *map_extra(void)
{
    if (__atomic_add_fetch(&extra_out, 1, __ATOMIC_ACQ_REL) <= EXTRA) {
        void *at = raw_map(BUFFER_BYTES, 0);
        if (at) {
            count_memory(BUFFER_BYTES);
            return at;
        }
    }
    __atomic_sub_fetch(&extra_out, 1, __ATOMIC_ACQ_REL);
    return NULL;
}

void cuda_request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    int i = pool_take(&free_bits);
    *records = 0; /* as many as fit */
    *buffer = i >= 0 ? pool + (size_t)i * BUFFER_BYTES : map_extra();
    *bytes = *buffer ? BUFFER_BYTES : 0;
    if (i >= 0 && !(__atomic_fetch_or(&used_bits, 1ull << i, __ATOMIC_RELAXED) >> i & 1))
        count_memory(BUFFER_BYTES);
    if (i < 0 && !*buffer)
        trace_lost(&capture.writer, TRACE_LOST_GPU_BUFFERS, 1);
}

static int in_pool(const uint8_t *buffer)
{
    return buffer >= pool && buffer < pool + (size_t)BUFFERS * BUFFER_BYTES;
}

/* At most `limit` of what is ready, unless another thread is at it; the next flush takes the rest.
 */
void cuda_drain(struct capture_thread *t, int limit)
{
    while (limit > 0 && __atomic_load_n(&ready_bits, __ATOMIC_ACQUIRE)) {
        if (__atomic_exchange_n(&decoding, 1, __ATOMIC_ACQUIRE))
            return;
        for (int i; limit > 0 && (i = pool_take(&ready_bits)) >= 0; limit--) {
            cuda_decode(t, pool + (size_t)i * BUFFER_BYTES, valid_bytes[i]);
            pool_return(&free_bits, i);
        }
        __atomic_store_n(&decoding, 0, __ATOMIC_RELEASE);
    }
}

/* Counts the records of a buffer that nobody can write: the thread that brings it is unknown. */
static void count_unwritten(uint8_t *buffer, size_t valid)
{
    uint8_t *record = NULL;
    uint64_t n = 0;
    while (valid && !cuda.cupti.next(buffer, valid, &record))
        n++;
    trace_lost(&capture.writer, TRACE_LOST_GPU_DROPPED, n);
}

/* A buffer outside the pool has no place to wait: the thread that brings it decodes it, and yields
 * for the few hundred microseconds that another one may be decoding. */
static void decode_extra(struct capture_thread *t, uint8_t *buffer, size_t valid)
{
    while (t && __atomic_exchange_n(&decoding, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    if (t) {
        cuda_decode(t, buffer, valid);
        __atomic_store_n(&decoding, 0, __ATOMIC_RELEASE);
    } else {
        count_unwritten(buffer, valid);
    }
    raw_unmap(buffer, BUFFER_BYTES);
    count_memory(-BUFFER_BYTES);
    __atomic_sub_fetch(&extra_out, 1, __ATOMIC_ACQ_REL);
}

/* CUPTI forgets its count when it tells it. No lock may be held here. */
void cuda_count_dropped(void *context, uint32_t stream)
{
    size_t dropped = 0;
    if (!cuda.cupti.dropped(context, stream, &dropped) && dropped)
        trace_lost(&capture.writer, TRACE_LOST_GPU_DROPPED, dropped);
}

void cuda_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)bytes;
    int inside = cuda_call_depth(),
        i = in_pool(buffer) ? (int)((buffer - pool) / BUFFER_BYTES) : -1;
    if (!buffer)
        return;
    if (!cuda.on) { /* a forked child's copy of CUPTI */
        if (i >= 0)
            pool_return(&free_bits, i);
        return;
    }
    cuda_count_dropped(context, stream);
    if (valid > BUFFER_BYTES)
        valid = BUFFER_BYTES;
    if (i >= 0) {
        valid_bytes[i] = valid;
        pool_return(&ready_bits, i);
        uint64_t waiting = __atomic_load_n(&ready_bits, __ATOMIC_ACQUIRE);
        if (inside && __builtin_popcountll(waiting) < BUFFERS / 2)
            return;
    }
    uint64_t now = trace_now();
    int entered;
    struct capture_thread *t = cuda_enter(&entered);
    if (i < 0)
        decode_extra(t, buffer, valid);
    if (!t)
        return;
    cuda_drain(t, inside ? 2 : BUFFERS); /* two for one that came: 2400 records, under 1 ms */
    cuda_leave(t, entered, now);
}
