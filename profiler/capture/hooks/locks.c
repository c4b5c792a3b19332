/* Locks of pthreads and C11, semaphores and futexes: what is free goes straight to the C library's
 * function; a wait is timed, with what held the lock before it. Nothing here changes what the call
 * does: a lock that looks free and is not is only a wait that nobody saw. The words that are looked
 * at are those of the C library's public headers. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/next_symbol.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/failure/exception.h"

#define CALLER      __builtin_return_address(0)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef const struct timespec *deadline_t;

/* Name, type of the lock, what follows it. */
#define LOCK_LIST(X)                                                                               \
    X(pthread_mutex_lock, pthread_mutex_t, (m), (pthread_mutex_t * m))                             \
    X(pthread_mutex_timedlock, pthread_mutex_t, (m, t), (pthread_mutex_t * m, deadline_t t))       \
    X(pthread_mutex_clocklock, pthread_mutex_t, (m, c, t),                                         \
      (pthread_mutex_t * m, clockid_t c, deadline_t t))                                            \
    X(mtx_lock, mtx_t, (m), (mtx_t * m))                                                           \
    X(mtx_timedlock, mtx_t, (m, t), (mtx_t * m, deadline_t t))
#define RWLOCK_LIST(X)                                                                             \
    X(pthread_rwlock_rdlock, READ, (l), (pthread_rwlock_t * l))                                    \
    X(pthread_rwlock_wrlock, WRITE, (l), (pthread_rwlock_t * l))                                   \
    X(pthread_rwlock_timedrdlock, READ, (l, t), (pthread_rwlock_t * l, deadline_t t))              \
    X(pthread_rwlock_timedwrlock, WRITE, (l, t), (pthread_rwlock_t * l, deadline_t t))             \
    X(pthread_rwlock_clockrdlock, READ, (l, c, t),                                                 \
      (pthread_rwlock_t * l, clockid_t c, deadline_t t))                                           \
    X(pthread_rwlock_clockwrlock, WRITE, (l, c, t),                                                \
      (pthread_rwlock_t * l, clockid_t c, deadline_t t))
#define CONDITION_LIST(X)                                                                          \
    X(pthread_cond_wait, (v, m), (pthread_cond_t * v, pthread_mutex_t * m))                        \
    X(pthread_cond_timedwait, (v, m, t), (pthread_cond_t * v, pthread_mutex_t * m, deadline_t t))  \
    X(pthread_cond_clockwait, (v, m, c, t),                                                        \
      (pthread_cond_t * v, pthread_mutex_t * m, clockid_t c, deadline_t t))                        \
    X(cnd_wait, (v, m), (cnd_t * v, mtx_t * m))                                                    \
    X(cnd_timedwait, (v, m, t), (cnd_t * v, mtx_t * m, deadline_t t))
#define SEMAPHORE_LIST(X)                                                                          \
    X(sem_wait, (s), (sem_t * s))                                                                  \
    X(sem_timedwait, (s, t), (sem_t * s, deadline_t t))                                            \
    X(sem_clockwait, (s, c, t), (sem_t * s, clockid_t c, deadline_t t))                            \
    X(sem_trywait, (s), (sem_t * s))                                                               \
    X(sem_post, (s), (sem_t * s))

/* Before the C library's functions are known: a constructor of another library was first, or the
 * process is asleep and this is its first lock. An allocator of the program's that is called by what finds them has the locks to itself. */
static int find_late(void);
#define LATE(name, otherwise, arguments, parameters)                                               \
    static __attribute__((noinline, cold)) int late_##name parameters                              \
    {                                                                                              \
        return find_late() && next.name != late_##name ? next.name arguments : (otherwise);        \
    }
#define NEXT(name, ...) static __typeof(name) late_##name;
LOCK_LIST(NEXT)
RWLOCK_LIST(NEXT)
CONDITION_LIST(NEXT)
SEMAPHORE_LIST(NEXT)
#undef NEXT

static struct {
#define NEXT(name, ...) __typeof(name) *name;
    LOCK_LIST(NEXT) RWLOCK_LIST(NEXT) CONDITION_LIST(NEXT) SEMAPHORE_LIST(NEXT)
#undef NEXT
} next CAPTURE_NEAR = {
#define NEXT(name, ...) .name = late_##name,
    LOCK_LIST(NEXT) RWLOCK_LIST(NEXT) CONDITION_LIST(NEXT) SEMAPHORE_LIST(NEXT)
#undef NEXT
};

static call_fn *next_call; /* syscall() */

/* A handler of the program may be the first to call these. */
static __attribute__((constructor)) void locks_find_early(void)
{
    next_call = (call_fn *)next_symbol("syscall");
    void *f = next_symbol("sem_post");
    if (f)
        __atomic_store_n((void **)&next.sem_post, f, __ATOMIC_RELAXED);
}

void lock_hooks_find(void)
{
    static const struct {
        const char *name;
        void *slot;
    } rows[] = {
#define ROW(name, ...) {#name, &next.name},
        LOCK_LIST(ROW) RWLOCK_LIST(ROW) CONDITION_LIST(ROW) SEMAPHORE_LIST(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *f = NULL;
#ifdef __x86_64__ /* conditions of before 2003 are others, of the same name; clockwait is newer */
        if (strstr(rows[i].name, "cond_") && !strstr(rows[i].name, "clockwait"))
            f = dlvsym(RTLD_NEXT, rows[i].name, "GLIBC_2.3.2");
#endif
        f = f ? f : next_symbol(rows[i].name);
        if (f)
            __atomic_store_n((void **)rows[i].slot, f, __ATOMIC_RELAXED);
    }
}

static int find_late(void)
{
    static __thread int finding;
    if (finding)
        return 0;
    finding = 1;
    if (!next_call)
        locks_find_early();
    lock_hooks_find();
    finding = 0;
    return 1;
}

#define LATE_LOCK(name, type, arguments, parameters)                                               \
    LATE(name, pthread_mutex_trylock((pthread_mutex_t *)m), arguments, parameters)
#define LATE_RWLOCK(name, kind, arguments, parameters) LATE(name, ENOSYS, arguments, parameters)
#define LATE_CONDITION(name, arguments, parameters)    LATE(name, ENOSYS, arguments, parameters)
#define LATE_SEMAPHORE(name, arguments, parameters)    LATE(name, -1, arguments, parameters)
LOCK_LIST(LATE_LOCK)
RWLOCK_LIST(LATE_RWLOCK)
CONDITION_LIST(LATE_CONDITION)
SEMAPHORE_LIST(LATE_SEMAPHORE)

/* NULL: it is the thread's own already (recursive), or this is not recorded. */
static __attribute__((noinline)) struct capture_thread *mutex_begins(const pthread_mutex_t *m)
{
    uint32_t owner = (uint32_t)m->__data.__owner & FUTEX_TID_MASK;
    if (owner && owner == locks_thread.tid)
        return NULL;
    return locks_begin(TRACE_LOCK_MUTEX, m, owner == FUTEX_TID_MASK ? 0 : owner, 0);
}

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "one is the other in the C library");

/* The waiting part is a function of its own, so that the other one is a jump. The owner tells as
 * much as the lock's own word, and a read of that costs 3 ns after an atomic operation on it. */
#define LOCK(name, type, arguments, parameters)                                                    \
    static __attribute__((noinline, cold)) int name##_waits parameters;                            \
    CAPTURE_HOT_CODE CAPTURE_API int name parameters                                               \
    {                                                                                              \
        locks_thread.calls++;                                                                      \
        if (UNLIKELY(((const pthread_mutex_t *)m)->__data.__owner))                                \
            return name##_waits arguments;                                                         \
        return next.name arguments;                                                                \
    }                                                                                              \
    static int name##_waits parameters                                                             \
    {                                                                                              \
        struct capture_thread *me = mutex_begins((const pthread_mutex_t *)m);                      \
        int r = next.name arguments;                                                               \
        return me ? locks_end(me, r, r == 0 || r == EOWNERDEAD, CALLER) : r;                       \
    }
LOCK_LIST(LOCK)

/* Bits of __readers, since glibc 2.25: the number of readers is above them. In a write phase they
 * are readers that wait. */
enum { WRITE_PHASE = 1, WRITE_LOCKED = 2, READER_SHIFT = 3 };

/* A reader sleeps on the word of the phase while that is 1; a writer that the lock was handed to
 * has not signed before it runs. Flags: a kind of which writers that wait go first. */
static struct capture_thread *rwlock_begins(const pthread_rwlock_t *l, enum trace_lock_kind kind)
{
    if (kind == TRACE_LOCK_READ && !l->__data.__cur_writer && !l->__data.__wrphase_futex &&
        !l->__data.__flags)
        return NULL;
    uint32_t state = l->__data.__readers, readers = state >> READER_SHIFT;
    int free =
        kind == TRACE_LOCK_READ ? !(state & WRITE_LOCKED) : !(state & WRITE_LOCKED) && !readers;
    if (free)
        return NULL;
    return locks_begin(kind, l, (uint32_t)l->__data.__cur_writer,
                       state & WRITE_PHASE ? 0 : readers);
}

#define RWLOCK(name, kind, arguments, parameters)                                                  \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        struct capture_thread *me = rwlock_begins(l, TRACE_LOCK_##kind);                           \
        int r = next.name arguments;                                                               \
        return UNLIKELY(me != NULL) ? locks_end(me, r, r == 0, CALLER) : r;                        \
    }
RWLOCK_LIST(RWLOCK)

#define CONDITION(name, arguments, parameters)                                                     \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        struct capture_thread *me = locks_begin(TRACE_LOCK_CONDITION, v, 0, 0);                    \
        int r = next.name arguments;                                                               \
        return me ? locks_end(me, r, r == 0, CALLER) : r;                                          \
    }
CONDITION_LIST(CONDITION)

/* Its value is in the lower half of the word, on 64-bit machines. */
static struct capture_thread *semaphore_begins(const sem_t *s)
{
    if (__atomic_load_n((const uint32_t *)s, __ATOMIC_RELAXED))
        return NULL;
    return locks_begin(TRACE_LOCK_SEMAPHORE, s, locks_taker(s), 0);
}

CAPTURE_API int sem_wait(sem_t *s)
{
    struct capture_thread *me = semaphore_begins(s);
    exception_may_end();
    int r = next.sem_wait(s);
    if (r == 0)
        locks_took(s);
    return me ? locks_end(me, r, r == 0, CALLER) : r;
}

/* SA_RESTART does not hold for these, see eintr_restart.c. */
#define TIMED(name, arguments, parameters)                                                         \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        struct capture_thread *me = semaphore_begins(s);                                           \
        uint32_t before = interrupts_seen();                                                       \
        int r;                                                                                     \
        phase_pause();                                                                             \
        do                                                                                         \
            r = next.name arguments;                                                               \
        while (r < 0 && interrupted(errno, &before));                                              \
        phase_resume();                                                                            \
        if (r == 0)                                                                                \
            locks_took(s);                                                                         \
        return me ? locks_end(me, r, r == 0, CALLER) : r;                                          \
    }
TIMED(sem_timedwait, (s, t), (sem_t * s, deadline_t t))
TIMED(sem_clockwait, (s, c, t), (sem_t * s, clockid_t c, deadline_t t))

CAPTURE_API int sem_trywait(sem_t *s)
{
    int r = next.sem_trywait(s);
    if (r == 0)
        locks_took(s);
    return r;
}

/* Before it is posted: the thread that gets it then is the next holder. */
CAPTURE_API int sem_post(sem_t *s)
{
    locks_released(s);
    return next.sem_post(s);
}

/* syscall() of the program, where `number` is that of futex. */
long hook_futex(long number, long a, long b, long c, long d, long e, long f)
{
    int op = (int)b & FUTEX_CMD_MASK;
    int waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
                op == FUTEX_WAIT_REQUEUE_PI || op == 13 /* FUTEX_LOCK_PI2, Linux 5.14 */;
    if (UNLIKELY(!next_call) && (!find_late() || !next_call)) {
        errno = ENOSYS;
        return -1;
    }
    if (!waits)
        return next_call(number, a, b, c, d, e, f);
    struct capture_thread *me = locks_begin(TRACE_LOCK_FUTEX, (const void *)a, 0, 0);
    long r = next_call(number, a, b, c, d, e, f);
    return me ? locks_end_call(me, r, r == 0, CALLER) : r;
}

/* Pairs of lock and unlock, ns each. */
static double locks_time_pairs(__typeof(pthread_mutex_lock) *volatile lock)
{
    enum { LOOP = 300 };
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    uint64_t begin = trace_now();
    for (int i = 0; i < LOOP; i++) {
        lock(&m);
        pthread_mutex_unlock(&m);
    }
    return (double)(trace_now() - begin) / LOOP;
}

extern __typeof(pthread_mutex_lock) own_mutex_lock
    __attribute__((alias("pthread_mutex_lock"), copy(pthread_mutex_lock), visibility("hidden")));

static double locks_measure_cost(void)
{
    enum { ROUNDS = 8 };
    double bare = 1e9, ours = 1e9, ns;
    for (int i = 0; i < ROUNDS; i++) {
        ns = locks_time_pairs(next.pthread_mutex_lock);
        bare = ns < bare ? ns : bare;
        ns = locks_time_pairs(own_mutex_lock);
        ours = ns < ours ? ns : ours;
    }
    return ours - bare > 0.25 ? ours - bare : 0.25;
}

static unsigned locks_remove_wrapper(void)
{
    static const struct rebind row = {(void *)own_mutex_lock,
                                      (void *const *)&next.pthread_mutex_lock};
    return rebind_all(&row, 1);
}

const struct lock_calls lock_hooks = {locks_measure_cost, locks_remove_wrapper};
