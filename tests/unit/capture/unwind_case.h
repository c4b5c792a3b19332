/* Shared by tests of the unwinder: doubles of the library's core, this thread's stack, and memory
 * to unwind in. */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "profiler/capture/core/capture.h"
#include "profiler/capture/core/unwind/cfi.h"
#include "profiler/capture/core/unwind/unwind.h"
#include "profiler/capture/raw/safe_read.h"
#include "tests/unit/check.h"

/* what the library's core would have */
struct capture_thread *capture_self(void)
{
    return NULL;
}
void capture_meta(struct capture_thread *t, const char *key, const char *value)
{
    (void)t;
    (void)key;
    (void)value;
}
void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    (void)t;
    (void)severity;
    (void)key;
    (void)format;
}

static uint8_t window[16384];
static struct cfi_scratch scratch;
static uintptr_t stack_low, stack_high;

static inline struct unwind_memory memory(void)
{
    return (struct unwind_memory){.low = stack_low,
                                  .high = stack_high,
                                  .window = window,
                                  .window_room = sizeof window,
                                  .scratch = &scratch};
}

static void find_stack(void)
{
    pthread_attr_t a;
    void *low;
    size_t bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &a), 0);
    assert_int_equal(pthread_attr_getstack(&a, &low, &bytes), 0);
    pthread_attr_destroy(&a);
    stack_low = (uintptr_t)low;
    stack_high = stack_low + bytes;
}

static uint64_t random_state = 88172645463325252ull;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int set_up(void **state)
{
    (void)state;
    find_stack();
    size_t mapped = 0;
    return safe_read_start() || modules_start(&mapped) || cfi_start(&mapped);
}
