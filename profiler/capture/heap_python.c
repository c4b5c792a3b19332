/* Python's objects of up to 512 bytes live in arenas, so malloc and mmap do not see the line that
 * makes them. A wrapper in front of the interpreter's own allocator does: PyMem_SetAllocator allows
 * one that only forwards to be installed at any time by a thread that holds the interpreter. It
 * returns the same pointers, so blocks made before it need no care. Larger objects go on to malloc,
 * which counts them.
 *
 * Only the object and memory domains: the raw one is malloc, and is called without the interpreter.
 * Not in free-threaded builds, where no thread holds the interpreter: there the memory of small
 * objects appears as the mappings of their allocator. */
#include <dlfcn.h>

#include "profiler/capture/capture.h"
#include "profiler/capture/heap.h"

#define CALLER __builtin_return_address(0)

struct allocator { /* PyMemAllocatorEx, unchanged since 3.5 */
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t count, size_t bytes);
    void *(*realloc)(void *context, void *p, size_t bytes);
    void (*free)(void *context, void *p);
};
enum domain { MEM = 1, OBJ = 2, DOMAINS };

static struct allocator next[DOMAINS];
static struct {
    void *(*own_state)(void);     /* the calling thread's Python state, NULL none */
    void *(*running_state)(void); /* of the thread that holds the interpreter */
    int (*initialized)(void);
    void (*get)(int domain, struct allocator *);
    void (*set)(int domain, struct allocator *);
} python;
static int found, installed;

/* What reached malloc was counted there: then the countdown has moved. */
static inline void counted(int64_t before, void *p, size_t bytes, const void *caller)
{
    heap_thread.inside_python--;
    if (heap_thread.alloc.left == before && p && heap_due(bytes))
        heap_allocated(p, bytes, TRACE_PYTHON_HEAP, caller);
}

static inline int64_t begin(void)
{
    heap_thread.inside_python++;
    return heap_thread.alloc.left;
}

/* Looks up the old block only afterwards: nobody else gets its address while this thread holds the
 * interpreter. */
static void *moved(const struct allocator *a, void *p, size_t bytes, const void *caller)
{
    int64_t before = begin();
    void *q = a->realloc(a->context, p, bytes);
    if (q && live_maybe(p))
        heap_freed(p, TRACE_PYTHON_HEAP);
    counted(before, q, bytes, caller);
    return q;
}

/* One set per domain, for which the context is not looked at. */
#define HOOKS(domain)                                                                              \
    static void *domain##_malloc(void *context, size_t bytes)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        int64_t before = begin();                                                                  \
        void *p = next[domain].malloc(next[domain].context, bytes);                                \
        counted(before, p, bytes, CALLER);                                                         \
        return p;                                                                                  \
    }                                                                                              \
    static void *domain##_calloc(void *context, size_t count, size_t bytes)                        \
    {                                                                                              \
        (void)context;                                                                             \
        int64_t before = begin();                                                                  \
        void *p = next[domain].calloc(next[domain].context, count, bytes);                         \
        counted(before, p, count *bytes, CALLER);                                                  \
        return p;                                                                                  \
    }                                                                                              \
    static void *domain##_realloc(void *context, void *p, size_t bytes)                            \
    {                                                                                              \
        (void)context;                                                                             \
        return moved(&next[domain], p, bytes, CALLER);                                             \
    }                                                                                              \
    static void domain##_free(void *context, void *p)                                              \
    {                                                                                              \
        (void)context;                                                                             \
        if (HEAP_UNLIKELY(live_maybe(p)))                                                          \
            heap_freed(p, TRACE_PYTHON_HEAP);                                                      \
        next[domain].free(next[domain].context, p);                                                \
    }
HOOKS(MEM)
HOOKS(OBJ)

void heap_python_look(void)
{
    if (found || !(capture.config.modes & CAPTURE_PYTHON))
        return;
    static const char *const names[] = {"PyGILState_GetThisThreadState",
                                        "_PyThreadState_UncheckedGet", "Py_IsInitialized",
                                        "PyMem_GetAllocator", "PyMem_SetAllocator"};
    void *at[5];
    for (int i = 0; i < 5; i++) {
        at[i] = dlsym(RTLD_DEFAULT, names[i]);
        if (!at[i] && i == 1)
            at[i] = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
        if (!at[i])
            return;
    }
    if (dlsym(RTLD_DEFAULT, "_Py_MergeZeroLocalRefcount")) /* of free-threaded builds only */
        return;
    python.own_state = at[0];
    python.running_state = at[1];
    python.initialized = at[2];
    python.get = at[3];
    python.set = at[4];
    __atomic_store_n(&found, 1, __ATOMIC_RELEASE);
}

void heap_python_install(void)
{
    static const struct allocator hooks[DOMAINS] = {
        [MEM] = {NULL, MEM_malloc, MEM_calloc, MEM_realloc, MEM_free},
        [OBJ] = {NULL, OBJ_malloc, OBJ_calloc, OBJ_realloc, OBJ_free},
    };
    if (installed || !__atomic_load_n(&found, __ATOMIC_ACQUIRE) || !python.initialized())
        return;
    void *own = python.own_state();
    if (!own || own != python.running_state())
        return;
    installed = 1;
    for (int d = MEM; d < DOMAINS; d++) {
        struct allocator mine = hooks[d];
        python.get(d, &next[d]);
        python.set(d, &mine);
    }
}
