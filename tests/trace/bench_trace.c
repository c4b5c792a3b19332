/* Measures the CPU time of writing and reading a trace. Not a test: build/tests/bench_trace FOLDER
 * MIB (ninja -C build bench_trace) writes that much with 4 threads into FOLDER and reads it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "profiler/trace/reader.h"
#include "profiler/trace/writer.h"

enum { THREADS = 4 };

static struct trace_writer writer;
static uint64_t bytes_each;

struct job {
    pthread_t thread;
    uint32_t tid;
    uint64_t records;
    double seconds;
};

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Records of 40 bytes, times taken anew. */
static void *work(void *argument)
{
    struct job *job = argument;
    struct trace_stream s;
    double start = cpu();
    trace_stream_open(&s, &writer, job->tid);
    for (uint64_t bytes = 0; bytes < bytes_each; bytes += 80, job->records += 2) {
        struct trace_sample sample = {.r.kind = TRACE_SAMPLE, .stack = bytes, .tid = job->tid};
        struct trace_text text = {.r.kind = TRACE_STRING, .id = bytes, .bytes = 8};
        trace_put(&s, &sample.r, sizeof sample, NULL, 0);
        trace_put(&s, &text.r, sizeof text, "12345678", 8);
    }
    trace_stream_close(&s);
    job->seconds = cpu() - start;
    return NULL;
}

static int read_back(const char *path)
{
    struct trace_reader *r;
    struct trace_item item;
    int more = 1;
    uint64_t records = 0;
    double start = cpu();
    enum err e = trace_open(path, &r);
    while (!e && !(e = trace_next(r, &item, &more)) && more)
        records++;
    if (e) {
        fprintf(stderr, "%s\n", err_text());
        return 1;
    }
    double seconds = cpu() - start;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("read: %.0f MB, %llu records, %.0f MB/s, peak resident %.1f MB\n",
           1e-6 * (double)trace_reader_position(r), (unsigned long long)records,
           1e-6 * (double)trace_reader_position(r) / seconds, 1e-3 * (double)usage.ru_maxrss);
    trace_reader_free(r);
    return 0;
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS] = {0};
    double seconds = 0, records = 0;
    if (argc != 3 || trace_create(&writer, argv[1], (const uint8_t *)"0123456789abcdef", 0)) {
        fprintf(stderr, "usage: %s FOLDER MIB (FOLDER must exist)\n", argv[0]);
        return 2;
    }
    bytes_each = strtoull(argv[2], NULL, 10) * 1024 * 1024 / THREADS;
    for (uint32_t i = 0; i < THREADS; i++) {
        jobs[i].tid = i + 1;
        pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        seconds += jobs[i].seconds;
        records += (double)jobs[i].records;
    }
    printf("write: %.0f MB, %.1f ns a record, %llu lost\n", 1e-6 * (double)writer.taken,
           1e9 * seconds / records, (unsigned long long)writer.header->lost[TRACE_LOST_RECORDS]);
    int result = read_back(writer.path);
    unlink(writer.path);
    return result;
}
