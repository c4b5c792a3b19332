/* links: tp_trace */
/* Counts the records of an activity buffer that no thread can decode. */
#include "profiler/capture/recorders/cuda/buffer.c"
#include "tests/unit/check.h"

enum { RECORD_BYTES = 64, POOL = 64 };

struct capture capture;
struct cuda cuda;
__thread struct cuda_api_call cuda_call_now;
static struct capture_thread known;
static int thread_is_known, decoded;

/* In the place of the recorder's other files. */
int cuda_call_depth(void)
{
    return 0;
}

struct capture_thread *cuda_enter(int *entered)
{
    *entered = thread_is_known;
    return thread_is_known ? &known : NULL;
}

void cuda_leave(struct capture_thread *t, int entered, uint64_t since)
{
    (void)t, (void)entered, (void)since;
}

void cuda_decode(struct capture_thread *t, uint8_t *buffer, size_t bytes)
{
    (void)t, (void)buffer;
    decoded += (int)(bytes / RECORD_BYTES);
}

void capture_count_memory(int64_t bytes)
{
    (void)bytes;
}

void *raw_map(size_t bytes, int flags)
{
    (void)flags;
    return calloc(1, bytes);
}

void raw_unmap(void *at, size_t bytes)
{
    (void)bytes;
    free(at);
}

static int next_record(uint8_t *buffer, size_t valid, uint8_t **record)
{
    uint8_t *next = *record ? *record + RECORD_BYTES : buffer;
    if (next >= buffer + valid)
        return CUPTI_MAX_LIMIT;
    *record = next;
    return 0;
}

static int none_dropped(void *context, uint32_t stream, size_t *n)
{
    (void)context, (void)stream;
    *n = 0;
    return 0;
}

static void an_extra_buffer_is_decoded_or_counted(void **state)
{
    static struct trace_header header;
    static volatile int alive = 1;
    uint8_t *buffer[POOL + 2];
    size_t bytes, records;
    (void)state;
    capture.writer.header = &header;
    capture.writer.alive = &alive;
    cuda.on = 1;
    cuda.cupti.next = next_record;
    cuda.cupti.dropped = none_dropped;
    assert_int_equal(cuda_buffers_open(), 0);
    for (int i = 0; i < POOL + 2; i++)
        cuda_request(&buffer[i], &bytes, &records);
    assert_non_null(buffer[POOL + 1]);
    thread_is_known = 1;
    cuda_complete(NULL, 0, buffer[POOL], bytes, 5 * RECORD_BYTES);
    assert_int_equal(decoded, 5);
    assert_int_equal(header.lost[TRACE_LOST_GPU_DROPPED], 0);
    thread_is_known = 0;
    cuda_complete(NULL, 0, buffer[POOL + 1], bytes, 7 * RECORD_BYTES);
    assert_int_equal(decoded, 5);
    assert_int_equal(header.lost[TRACE_LOST_GPU_DROPPED], 7);
    cuda_complete(NULL, 0, buffer[0], bytes, 3 * RECORD_BYTES);
    assert_int_equal(header.lost[TRACE_LOST_GPU_DROPPED], 7);
    thread_is_known = 1; /* one of the pool waits for a thread that can */
    cuda_drain(&known, POOL);
    assert_int_equal(decoded, 8);
    free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_extra_buffer_is_decoded_or_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
