/* Measures the peak of this machine: arithmetic in registers and copies past the caches, best of
 * many short tests. */
#include <string.h>
#include <unistd.h>

#include "host/backend/registry.h"
#include "base/clock.h"
#include "base/memory.h"
#include "host/cpu/common/peak.h"
#include "base/mark/mark.h"

/* Seconds of one test. Many short repeats: one of them finds the CPUs free. */
#define SECONDS       0.1
#define BRIEF_SECONDS 0.004
#define BRIEF_STEPS   400000 /* 0.6 ms at 4 GHz */
#define BRIEF_BYTES   ((size_t)2 << 20)

/* Bytes of each of the two arrays of a copy: twice the last cache, yet no more than 128 MiB,
 * because the first touch of fresh pages is slow in some virtual machines (2 s/GiB seen) and a
 * share of a server's 480 MiB cache is not ours alone; and an eighth of the memory for both. */
static size_t copy_bytes(void)
{
    const size_t least = (size_t)1 << 20, usual = (size_t)32 << 20, most = (size_t)128 << 20;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const size_t allowed = mem_available() / 16;
    size_t bytes = cache > 0 ? 2 * (size_t)cache : 0;
    bytes = bytes > most ? most : bytes < usual ? usual : bytes;
    bytes = bytes < allowed ? bytes : allowed;
    if (bytes > BRIEF_BYTES && backend_calibration_is_brief())
        bytes = BRIEF_BYTES;
    return bytes > least ? bytes : least;
}

/* A test: thread t of `threads` runs `part` once. */
struct test {
    void (*part)(const struct test *test, int t, int threads);
    const struct peak_kernels *kernels;
    int64_t steps;
    float *from, *to;
    size_t floats;
};

static void part_arithmetic(const struct test *test, int t, int threads)
{
    (void)threads;
    test->kernels->multiply_add(test->steps, 0.5f, (float)t);
}

static size_t test_first_float(const struct test *test, int t, int threads)
{
    return test->floats / 64 * (size_t)t / (size_t)threads * 64;
}

static void part_fill(const struct test *test, int t, int threads)
{
    const size_t from = test_first_float(test, t, threads),
                 end = test_first_float(test, t + 1, threads);
    memset(test->from + from, 1, (end - from) * sizeof(float));
    memset(test->to + from, 1, (end - from) * sizeof(float));
}

static void part_stream(const struct test *test, int t, int threads)
{
    const size_t from = test_first_float(test, t, threads),
                 end = test_first_float(test, t + 1, threads);
    test->kernels->stream(test->from + from, test->to + from, end - from);
}

static void part_copy(const struct test *test, int t, int threads)
{
    const size_t from = test_first_float(test, t, threads),
                 end = test_first_float(test, t + 1, threads);
    memcpy(test->to + from, test->from + from, (end - from) * sizeof(float));
}

/* Seconds from the first thread's start to the last one's end. */
static double test_once(const struct test *test, int threads)
{
    int64_t start = INT64_MAX, end = 0;
#pragma omp parallel for num_threads(threads) reduction(min : start) reduction(max : end)
    for (int t = 0; t < threads; t++) {
        start = clock_ns();
        test->part(test, t, threads);
        end = clock_ns();
    }
    return (double)(end - start) * 1e-9;
}

static double test_best(const struct test *test, int threads)
{
    const double enough = backend_calibration_is_brief() ? BRIEF_SECONDS : SECONDS;
    const int64_t start = clock_ns();
    double least = test_once(test, threads);
    while (clock_seconds_since(start) < enough) {
        const double took = test_once(test, threads);
        least = took < least ? took : least;
    }
    return least;
}

static enum err measure_copy(struct test *test, int threads, struct peak *out)
{
    void *from = NULL, *to = NULL;
    const size_t bytes = copy_bytes() / 256 * 256;
    enum err e = ERR_OK;
    TRY_OUT(mem_alloc("calibration of the copy bandwidth", bytes, &from));
    TRY_OUT(mem_alloc("calibration of the copy bandwidth", bytes, &to));
    test->from = from;
    test->to = to;
    test->floats = bytes / sizeof(float);
    test->part = part_fill;
    test_once(test, threads);
    test->part = part_stream;
    const double streamed = test_best(test, threads);
    test->part = part_copy;
    const double plain = test_best(test, threads);
    out->bytes_per_s = 2.0 * (double)bytes / (streamed < plain ? streamed : plain);
out:
    mem_free(from);
    mem_free(to);
    return e;
}

enum err cpu_measure_peak(struct backend *be, struct peak *out)
{
    struct test test = {.part = part_arithmetic, .kernels = ISA_PICK(peak_kernels)};
    mark_push("measure_peak", 0);
    test.steps = backend_calibration_is_brief() ? BRIEF_STEPS : 5 * BRIEF_STEPS;
    const double took = test_best(&test, be->threads);
    out->flops_per_s =
        (double)test.steps * test.kernels->flops_per_step * (double)be->threads / took;
    enum err e = measure_copy(&test, be->threads, out);
    mark_pop();
    return e;
}

enum err cpu_glance_peak(struct backend *be, double enough, double *flops_per_s)
{
    const struct test test = {
        .part = part_arithmetic, .kernels = ISA_PICK(peak_kernels), .steps = BRIEF_STEPS};
    const double flops = (double)test.steps * test.kernels->flops_per_step * (double)be->threads;
    const int64_t begin = clock_ns();
    *flops_per_s = 0;
    mark_push("measure_peak", 0);
    do {
        const double rate = flops / test_once(&test, be->threads);
        *flops_per_s = rate > *flops_per_s ? rate : *flops_per_s;
    } while (*flops_per_s < enough && clock_seconds_since(begin) < BRIEF_SECONDS);
    mark_pop();
    return ERR_OK;
}
