/* The threads of the target: their slots, how a thread enters and leaves the library, begins and
 * ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/core/unwind/unwind.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/mapping.h"
#include "profiler/capture/raw/system.h"

/* Destructors of keys run up to PTHREAD_DESTRUCTOR_ITERATIONS (4) times: ours puts itself off, so
 * that what the target's do is still recorded. */
#define KEY_ROUNDS 3

__thread struct thread_slot *thread_own;
static struct thread_slot closed = {.t.busy = 1}; /* the thread is being registered, or has ended */
static struct thread_slot *first;
static pthread_key_t key;
static int key_made;

struct thread_slot *thread_first(void)
{
    return __atomic_load_n(&first, __ATOMIC_ACQUIRE);
}

struct thread_slot *thread_self(void)
{
    return thread_own == &closed ? NULL : thread_own;
}

struct capture_thread *capture_self(void)
{
    struct thread_slot *s = thread_self();
    return s ? &s->t : NULL;
}

static void (*put_off)(int makes_thread); /* atomic */

void thread_put_off(void (*work)(int makes_thread))
{
    __atomic_store_n(&put_off, work, __ATOMIC_RELEASE);
}

int thread_is_put_off(void)
{
    return __atomic_load_n(&put_off, __ATOMIC_RELAXED) != NULL;
}

int thread_take_off(void)
{
    return __atomic_exchange_n(&put_off, NULL, __ATOMIC_ACQUIRE) != NULL;
}

void thread_late(int makes_thread)
{
    capture_wake();
    void (*work)(int) = __atomic_load_n(&put_off, __ATOMIC_RELAXED);
    if (__builtin_expect(work != NULL, 0))
        work(makes_thread);
}

int thread_live(void)
{
    return capture.on && capture.writer.alive && *capture.writer.alive;
}

void thread_left(struct thread_slot *s)
{
    trace_stream_interrupted(&s->t.stream);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    s->t.busy = 0;
}

static int on_own_stack(const struct thread_slot *s, uintptr_t address)
{
    stack_t other;
    if (address < s->t.stack_low || address >= s->t.stack_high)
        return 0;
    if (syscall(SYS_sigaltstack, NULL, &other) || other.ss_flags & SS_DISABLE)
        return 1; /* a target may well have its stack for signals inside the thread's */
    return address - (uintptr_t)other.ss_sp >= other.ss_size;
}

/* A handler of the target has jumped out of the library: what entered has no place at or above
 * `sp`, or the target has made another call where it made that into the library. */
static int is_left(const struct thread_slot *s, uintptr_t sp)
{
    const struct capture_thread *t = &s->t;
    if (!t->frame || !on_own_stack(s, t->frame) || !on_own_stack(s, sp))
        return 0;
    return sp > t->frame || (t->call && *t->call != t->returns);
}

/* Functions that were entered, by their place on the stack. */
struct entry {
    uintptr_t frame, returns;
    const uintptr_t *call;
};

/* The target's call into the library, by the frame pointers that all of it keeps. */
static void find_call(const struct capture_thread *t, const uintptr_t *frame, struct entry *e)
{
    for (int depth = 0; modules_own.end && depth < 8; depth++) {
        const uintptr_t *next = (const uintptr_t *)frame[0]; /* and frame[1] the return address */
        if (frame[1] < modules_own.start || frame[1] >= modules_own.end) {
            e->call = frame + 1;
            e->returns = frame[1];
            return;
        }
        if (next <= frame || (uintptr_t)next >= t->stack_high || (uintptr_t)next < t->stack_low)
            return;
        frame = next;
    }
}

static void set_entry(struct capture_thread *t, const struct entry *e)
{
    t->call = e->call;
    t->returns = e->returns;
    t->frame = e->frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* `sp`: what lies below is not of an earlier call that is still going on. */
static struct capture_thread *thread_enter(int may, uintptr_t sp, uintptr_t frame,
                                           const uintptr_t *pointer)
{
    struct thread_slot *s = thread_own;
    struct entry e = {.frame = frame};
    if (!may || !s)
        return NULL;
    if (s->t.busy) {
        if (!is_left(s, sp))
            return NULL;
        thread_left(s);
    }
    if (frame)
        find_call(&s->t, pointer, &e);
    set_entry(&s->t, &e); /* before, for handlers that jump; and again for those that came back */
    s->t.busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    set_entry(&s->t, &e);
    return &s->t;
}

#define FRAME_POINTER __builtin_frame_address(0)
#define CALLERS_STACK (uintptr_t) __builtin_dwarf_cfa()

static void thread_prepare_caller(void)
{
    capture_wake();
    if (thread_live() && !thread_own)
        thread_register(NULL, 0);
    if (thread_live())
        thread_late(0);
}

/* A call from the same depth is not from inside: + 1. */
__attribute__((noinline)) struct capture_thread *capture_enter(void)
{
    thread_prepare_caller();
    return thread_enter(thread_live(), CALLERS_STACK + 1, CALLERS_STACK, FRAME_POINTER);
}

__attribute__((noinline)) struct capture_thread *capture_enter_in(const void *object)
{
    thread_prepare_caller();
    return thread_enter(thread_live(), CALLERS_STACK + 1, object ? (uintptr_t)object + 1 : 0,
                        FRAME_POINTER);
}

__attribute__((noinline)) struct capture_thread *capture_enter_handler(const void *ucontext)
{
    if (!ucontext)
        return thread_enter(thread_live(), CALLERS_STACK + 1, CALLERS_STACK, FRAME_POINTER);
    return thread_enter(thread_live(), unwind_stack_pointer(ucontext), 0, NULL);
}

__attribute__((noinline)) struct capture_thread *asleep_enter(void)
{
    return thread_enter(asleep.on && asleep.counts, CALLERS_STACK + 1, CALLERS_STACK,
                        FRAME_POINTER);
}

void capture_leave(struct capture_thread *t, enum trace_part part, uint64_t entered_ns)
{
    if (entered_ns) {
        t->cost_ns[part] += trace_now() - entered_ns;
        t->cost_calls[part]++;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->busy = 0;
}

/* A free slot, claimed; everything in it but the list is zero. Lock-free, no libc. */
struct thread_slot *thread_claim(void)
{
    for (struct thread_slot *s = thread_first(); s; s = s->next) {
        int none = 0;
        if (__atomic_compare_exchange_n(&s->used, &none, 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            struct thread_slot *next = s->next;
            memset(&s->t, 0, sizeof s->t);
            memset((char *)s + offsetof(struct thread_slot, key_rounds), 0,
                   offsetof(struct thread_slot, scratch) -
                       offsetof(struct thread_slot, key_rounds));
            s->next = next;
            s->t.scratch = s->scratch;
            return s;
        }
    }
    /* Most processes have one thread: a mapping less for them. */
    static struct thread_slot main_slot;
    static int main_taken;
    struct thread_slot *s = __atomic_exchange_n(&main_taken, 1, __ATOMIC_RELAXED)
                                ? raw_map(sizeof *s, MAP_NORESERVE)
                                : &main_slot;
    if (!s)
        return NULL;
    capture_count_memory(sizeof *s);
    s->used = 1;
    s->t.scratch = s->scratch;
    s->next = thread_first();
    while (!__atomic_compare_exchange_n(&first, &s->next, s, 1, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        ;
    return s;
}

static void thread_slot_release(struct thread_slot *s)
{
    __atomic_store_n(&s->t.tid, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
}

/* The first thread of a program: above its frames the kernel puts the name of the program's file,
 * last of all. Nothing else is mapped in 120 MiB below (trim_bounds). 0: it is another one. */
static int find_first_stack(struct capture_thread *t, uintptr_t address)
{
    uintptr_t name = getauxval(AT_EXECFN);
    if (t->tid != (uint32_t)getpid() || address >= name || name - address > 100ul << 20)
        return 0;
    t->stack_low = address & ~(uintptr_t)4095;
    t->stack_high = (name + strlen((const char *)name) + 4096) & ~(uintptr_t)4095;
    return 1;
}

static void errand_mapping(struct errand *e)
{
    uintptr_t low = 0, high = 0;
    raw_mapping_find((uintptr_t)e->pointer, NULL, e->text, &low, &high);
    e->number[0] = low;
    e->number[1] = high;
}

/* Not by pthread_getattr_np, which takes locks. */
static void find_stack(struct capture_thread *t, uintptr_t address)
{
    struct errand *e = errands_wanted() ? errand_begin(errand_mapping) : NULL;
    if (e)
        e->pointer = (void *)address;
    if (!e || !errand_do(e)) {
        raw_mapping_find(address, NULL, t->scratch, &t->stack_low, &t->stack_high);
        return;
    }
    t->stack_low = e->number[0];
    t->stack_high = e->number[1];
    errand_end(e);
}

/* It may have been found in /proc before it came here. */
static void drop_adopted(uint32_t tid)
{
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->adopted && s->t.tid == tid) {
            recorders_thread_lost(s);
            thread_slot_release(s);
        }
}

/* Async-signal-safe but for pthread_setspecific, which allocates only above 32 keys. */
struct thread_slot *thread_register(struct thread_slot *given, uint32_t parent_tid)
{
    int saved = errno;
    thread_own = &closed;
    const int begins = given && !given->t.ours;
    const uint64_t began = begins ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    struct thread_slot *s = given ? given : thread_claim();
    if (!s) {
        trace_lost(&capture.writer, TRACE_LOST_THREADS, 1);
        errno = saved;
        return NULL;
    }
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    drop_adopted(tid);
    s->t.busy = 1;
    if (s->t.ours)
        raw_chars_uncounted();
    s->parent_tid = parent_tid;
    s->t.random = trace_now() ^ (uintptr_t)s;
    trace_stream_open(&s->t.stream, &capture.writer, tid);
    __atomic_store_n(&s->t.tid, s->t.stream.tid, __ATOMIC_RELEASE);
    if (!s->t.stack_high && !find_first_stack(&s->t, (uintptr_t)__builtin_frame_address(0)))
        find_stack(&s->t, (uintptr_t)__builtin_frame_address(0));
    if (key_made && !s->t.ours) /* which ends by itself, and must not allocate */
        pthread_setspecific(key, s);
    char name[16] = "";
    syscall(SYS_prctl, PR_GET_NAME, name);
    thread_name(&s->t, s, name);
    thread_own = s;
    thread_account(s, 1);
    if (!s->t.ours)
        recorders_thread_start(&s->t);
    if (begins)
        thread_cost_later(began, 1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    s->t.busy = 0;
    errno = saved;
    return s;
}

int thread_adopt(struct thread_slot *s)
{
    if (thread_own || !s->adopted || s->t.tid != (uint32_t)syscall(SYS_gettid))
        return 0;
    thread_own = s;
    if (key_made)
        pthread_setspecific(key, s);
    trace_stream_open(&s->t.stream, &capture.writer, s->t.tid);
    find_stack(&s->t, (uintptr_t)__builtin_frame_address(0));
    recorders_thread_start(&s->t);
    s->adopted = 0;
    s->t.busy = 0;
    return 1;
}

void thread_end(struct thread_slot *s)
{
    int saved = errno;
    s->t.busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const int recorded = thread_live() && !s->t.ours;
    const uint64_t began = recorded ? thread_poll_cpu(0) : THREAD_POLL_UNKNOWN;
    if (thread_live()) {
        if (!s->t.ours) {
            if ((s->wait_known || s->sleep_pending > 0) && poll_gate_try()) {
                recorders_thread_pending(&s->t, s);
                poll_gate_unlock();
            }
            recorders_thread_end(&s->t);
        }
        thread_put_end(&s->t, s);
    }
    thread_own = &closed;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (capture.on) { /* else: no system call, the program may have forbidden it */
        trace_stream_close(&s->t.stream);
        if (recorded)
            recorders_thread_gone();
        thread_slot_release(s);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two that end, one sees the other gone */
        if (!thread_count())                     /* ours ends with the last */
            poll_gate_wake();
        if (recorded)
            thread_cost_later(began, 0);
    }
    errno = saved;
}

/* A thread that is gone without a word (raw exit), or was only in the parent of a fork. */
void thread_forget(struct thread_slot *s)
{
    trace_stream_close(&s->t.stream);
    thread_slot_release(s);
}

static void key_destructor(void *value)
{
    struct thread_slot *s = value;
    if (s != thread_own)
        return;
    if (++s->key_rounds < KEY_ROUNDS && pthread_setspecific(key, s) == 0)
        return;
    thread_end(s);
}

uint32_t thread_count(void)
{
    uint32_t n = 0;
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        n += s->used && s->t.tid && !s->t.ours;
    return n;
}

void thread_cost_reset(struct capture_thread *t)
{
    memset(t->cost_ns, 0, sizeof t->cost_ns);
    memset(t->cost_calls, 0, sizeof t->cost_calls);
}

struct thread_slot *thread_fork_child(int ends)
{
    struct thread_slot *keep = thread_self();
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (ends && s->used) /* each mapping takes 3 us to go, and a page fault */
            trace_stream_leave(&s->t.stream);
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s != keep)
            thread_forget(s);
    if (!keep)
        return NULL;
    keep->t.busy = 1;
    thread_records_close(1);
    trace_stream_close(&keep->t.stream); /* the parent's chunk: unmapped, not sealed */
    if (!asleep.counts)
        thread_cost_reset(&keep->t);
    keep->t.io_ns = keep->t.io_cpu = 0;
    keep->parent_tid = 0;
    keep->timer_on = 0;
    keep->start = NULL; /* it is the main thread there */
    keep->before = 0;
    keep->sampled_ns = 0;
    keep->begin_user = keep->begin_system = 0; /* the child's accounts begin at zero */
    keep->system_seen = keep->system_owed = 0;
    keep->faults_seen = keep->sleeps_seen = 0;
    keep->seen_ns = keep->seen_cpu = keep->seen_delay = 0;
    keep->sleep_pending = 0;
    keep->runnable_pending = keep->woken_pending = keep->wait_stack = 0;
    keep->wait_known = 0;
    keep->t.tid = (uint32_t)syscall(SYS_gettid);
    keep->t.random ^= trace_now();
    return keep;
}

int thread_setup(void)
{
    int failed = pthread_key_create(&key, key_destructor);
    key_made = !failed;
    return failed;
}
