/* Loaded by stack_case.py: takes stacks with the capture library's own code, and says them as text
 * instead of writing a trace. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/python/python.h"

CAPTURE_API int probe_start(void);
CAPTURE_API void probe_here(char *out, size_t room);
CAPTURE_API int probe_other(int tid, char *out, size_t room);
CAPTURE_API int probe_sampling(const char *root, int every_us);
CAPTURE_API void probe_sampled(char *out, size_t room);
CAPTURE_API void probe_cost(int rounds, char *out, size_t room);

static __thread struct capture_thread self;

struct capture_thread *capture_self(void)
{
    return self.tid ? &self : NULL;
}

/* A trace that keeps the code objects and the last stack. In memory of its own: a sample may have
 * interrupted malloc. */
enum { CODES = 65536, TEXTS = 16 << 20, WORDS = 4096 };
static struct probe_code {
    uint64_t id;
    int first_line;
    const char *file, *name;
} codes[CODES];
static size_t code_count; /* atomic: two threads may find code objects at a time */
static char texts[TEXTS];
static size_t text_bytes; /* atomic */

static const char *keep(const char *text, size_t n)
{
    size_t at = __atomic_fetch_add(&text_bytes, n + 1, __ATOMIC_RELAXED);
    if (at + n + 1 > TEXTS)
        return "?";
    memcpy(texts + at, text, n);
    texts[at + n] = 0;
    return texts + at;
}
static struct trace_stack stack;
static uint64_t words[WORDS];
static uint64_t lost[TRACE_LOSSES];

uint64_t trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int trace_put2(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
               const void *tail, size_t tail_bytes, const void *more, size_t more_bytes)
{
    (void)s;
    if (record->kind == TRACE_CODE) {
        const struct trace_code *c = (const void *)record;
        size_t i = __atomic_fetch_add(&code_count, 1, __ATOMIC_RELAXED);
        if (i < CODES)
            codes[i] = (struct probe_code){c->id, c->first_line, keep(tail, tail_bytes),
                                           keep(more, more_bytes)};
    }
    if (record->kind == TRACE_STACK) {
        memcpy(&stack, record, record_bytes);
        memcpy(words, tail, tail_bytes);
        memcpy((char *)words + tail_bytes, more, more_bytes);
        return 0; /* as lost: the next one like it is wanted again */
    }
    return 1;
}

int trace_put(struct trace_stream *s, struct trace_record *record, size_t record_bytes,
              const void *tail, size_t tail_bytes)
{
    return trace_put2(s, record, record_bytes, tail, tail_bytes, NULL, 0);
}

void trace_lost(struct trace_writer *w, enum trace_loss what, uint64_t n)
{
    (void)w;
    lost[what] += n;
}

void capture_meta(struct capture_thread *t, const char *key, const char *value)
{
    (void)t;
    fprintf(stderr, "%s %s\n", key, value);
}

void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    (void)t;
    (void)severity;
    fprintf(stderr, "note %s: %s\n", key, format);
}

static void enter_thread(void)
{
    pthread_attr_t a;
    void *low;
    size_t bytes;
    if (self.tid)
        return;
    self.tid = (uint32_t)gettid();
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &low, &bytes);
    pthread_attr_destroy(&a);
    self.stack_low = (uintptr_t)low;
    self.stack_high = (uintptr_t)low + bytes;
    stack_recorder.thread_start(&self);
}

int probe_start(void)
{
    capture.config.modes = ~0u;
    self.tid = (uint32_t)gettid();
    int why = stack_recorder.start();
    if (!why)
        why = python_recorder.start();
    self.tid = 0;
    enter_thread();
    return why;
}

static const struct probe_code *code_of(uint64_t id)
{
    for (size_t i = code_count < CODES ? code_count : CODES; i-- > 0;)
        if (codes[i].id == id)
            return &codes[i];
    return NULL;
}

/* "flags natives" and a line "line entry first-line file name" for each Python frame. */
static void describe(char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%u %u\n", stack.flags, stack.native);
    for (unsigned i = 0; i < stack.python && n < room; i++) {
        const uint64_t *pair = words + stack.native + 2 * i;
        const struct probe_code *c = code_of(pair[1]);
        n += (size_t)snprintf(out + n, room - n, "%u\t%d\t%d\t%s\t%s\n", (unsigned)pair[0],
                              (pair[0] & TRACE_PYTHON_ENTRY) != 0, c ? c->first_line : -1,
                              c ? c->file : "?", c ? c->name : "?");
    }
}

void probe_here(char *out, size_t room)
{
    enter_thread();
    capture_stack(&self, NULL, __builtin_return_address(0));
    describe(out, room);
}

/* Another thread, which must be in a system call. 1: it is. */
int probe_other(int tid, char *out, size_t room)
{
    char path[64], text[256] = "";
    unsigned long pc = 0, sp = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    const char *last = strrchr(text, ' ');
    if (!n || !last || sscanf(last, "%lx", &pc) != 1)
        return 0;
    while (last > text && last[-1] != ' ')
        last--;
    if (sscanf(last, "%lx", &sp) != 1 || !sp)
        return 0;
    enter_thread();
    capture_stack_of(&self, tid, pc, sp);
    describe(out, room);
    return 1;
}

/* Samples of the calling thread by its CPU clock. */
static timer_t timer;
static int samples, cut, python_cut, rootless;
static uint64_t cost_ns, frames;
static char wanted[256];

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (!self.tid || self.busy)
        return;
    self.busy = 1;
    uint64_t begin = cpu_ns();
    capture_stack(&self, context, NULL);
    cost_ns += cpu_ns() - begin;
    self.busy = 0;
    samples++;
    frames += stack.native + stack.python;
    cut += (stack.flags & TRACE_STACK_CUT) != 0;
    python_cut += (stack.flags & TRACE_STACK_PYTHON_CUT) != 0;
    const struct probe_code *root =
        stack.python ? code_of(words[stack.native + 2 * stack.python - 1]) : NULL;
    rootless += !root || strcmp(root->name, wanted);
}

int probe_sampling(const char *root, int every_us)
{
    enter_thread();
    snprintf(wanted, sizeof wanted, "%s", root);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN + 3, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3};
    event._sigev_un._tid = gettid();
    struct itimerspec when = {{0, every_us * 1000}, {0, every_us * 1000}};
    samples = cut = python_cut = rootless = 0;
    cost_ns = frames = 0;
    /* The wall clock: it ticks finer than the thread's CPU clock does. */
    return timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL);
}

void probe_sampled(char *out, size_t room)
{
    timer_delete(timer);
    snprintf(out, room, "%d %d %d %d %lu %lu", samples, cut, python_cut, rootless,
             (unsigned long)cost_ns, (unsigned long)frames);
}

/* CPU time of one stack of this thread, and how many frames it has. */
void probe_cost(int rounds, char *out, size_t room)
{
    enter_thread();
    double of[2];
    for (int native = 0; native < 2; native++) {
        stack_add_frames(native ? NULL : python_frames);
        uint64_t begin = cpu_ns();
        for (int i = 0; i < rounds; i++)
            capture_stack(&self, NULL, __builtin_return_address(0));
        of[native] = (double)(cpu_ns() - begin) / rounds;
    }
    stack_add_frames(python_frames);
    capture_stack(&self, NULL, __builtin_return_address(0));
    snprintf(out, room, "%.0f %u %.0f %u", of[1], stack.native, of[0] - of[1], stack.python);
}
