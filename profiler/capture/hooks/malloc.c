/* malloc and its family in front of the program's: each forwards to the next definition (the C
 * library's, or a jemalloc or tcmalloc that the program links) and counts what came back. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/next_symbol.h"
#include "profiler/capture/raw/one_thread.h"

#define CALLER __builtin_return_address(0)

/* dlsym may allocate during the search for the allocator. What it gets then is never given back. */
#define BOOTSTRAP_BYTES 16384
static _Alignas(64) char bootstrap[BOOTSTRAP_BYTES];
static size_t bootstrap_used, bootstrap_lent; /* lent: to the loader, which gives it back to us */
static __thread int resolving __attribute__((tls_model("initial-exec")));

static void *early_malloc(size_t bytes);
static void *early_calloc(size_t count, size_t bytes);
static void *early_realloc(void *p, size_t bytes);
static void *early_memalign(size_t alignment, size_t bytes);
static void *early_aligned_alloc(size_t alignment, size_t bytes);
static int early_posix_memalign(void **out, size_t alignment, size_t bytes);
static void *early_valloc(size_t bytes);
static void *early_pvalloc(size_t bytes);
static void early_free(void *p);

/* The next definitions; until the first call the ones that find them, so that no call asks. */
static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
} next CAPTURE_NEAR = {early_malloc,   early_calloc,        early_realloc,
                       early_memalign, early_aligned_alloc, early_posix_memalign,
                       early_valloc,   early_pvalloc,       early_free};

/* 1 when the next definitions are known, 0 inside the search for them. */
static int malloc_resolve_next(void)
{
    static const struct {
        const char *name;
        void *slot;
    } rows[] = {
        {"malloc", &next.malloc},
        {"calloc", &next.calloc},
        {"realloc", &next.realloc},
        {"memalign", &next.memalign},
        {"aligned_alloc", &next.aligned_alloc},
        {"posix_memalign", &next.posix_memalign},
        {"valloc", &next.valloc},
        {"pvalloc", &next.pvalloc},
        {"free", &next.free},
    };
    if (resolving)
        return 0;
    resolving = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = next_symbol(rows[i].name);
        if (found)
            __atomic_store_n((void **)rows[i].slot, found, __ATOMIC_RELAXED);
    }
    resolving = 0;
    return next.malloc != early_malloc;
}

static void malloc_resolve(void)
{
    if (next.malloc == early_malloc)
        malloc_resolve_next();
}

/* Returns 1 for a bootstrap pointer that live_is_near. */
static int from_bootstrap(const void *p)
{
    return HEAP_UNLIKELY((uintptr_t)p - (uintptr_t)bootstrap < BOOTSTRAP_BYTES);
}

/* Zeroed: nothing is handed out twice. */
static void *from_arena(size_t bytes)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;
    size_t at = __atomic_fetch_add(&bootstrap_used, rounded, __ATOMIC_RELAXED);
    if (rounded >= bytes && at <= BOOTSTRAP_BYTES && rounded <= BOOTSTRAP_BYTES - at) {
        live_keep(bootstrap + at);
        return bootstrap + at;
    }
    errno = ENOMEM;
    return NULL;
}

static void *early_malloc(size_t bytes)
{
    return malloc_resolve_next() ? next.malloc(bytes) : from_arena(bytes);
}

static void *early_calloc(size_t count, size_t bytes)
{
    size_t total;
    if (malloc_resolve_next())
        return next.calloc(count, bytes);
    return __builtin_mul_overflow(count, bytes, &total) ? NULL : from_arena(total);
}

static void *early_realloc(void *p, size_t bytes)
{
    return malloc_resolve_next() ? next.realloc(p, bytes) : NULL;
}

/* A function that the allocator lacks: its callers see what they would without us, a failure. */
#define EARLY(name, proto, args, none)                                                             \
    static void *early_##name proto                                                                \
    {                                                                                              \
        if (malloc_resolve_next() && next.name != early_##name)                                    \
            return next.name args;                                                                 \
        errno = ENOMEM;                                                                            \
        return none;                                                                               \
    }
EARLY(memalign, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
EARLY(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
EARLY(valloc, (size_t bytes), (bytes), NULL)
EARLY(pvalloc, (size_t bytes), (bytes), NULL)

static int early_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (malloc_resolve_next() && next.posix_memalign != early_posix_memalign)
        return next.posix_memalign(out, alignment, bytes);
    return ENOMEM;
}

static void early_free(void *p)
{
    if (malloc_resolve_next())
        next.free(p);
}

/* The countdown comes first, so that a call which is not due goes on by a jump: no frame, no
 * register kept. NAME_due is entered by one (a sibling call) as well, so its caller is the
 * program's. */
#define WRAPPED(name, proto, args, bytes)                                                          \
    static __attribute__((noinline, cold)) void *name##_due proto                                  \
    {                                                                                              \
        void *block = next.name args;                                                              \
        heap_allocated(block, bytes, TRACE_MALLOC, CALLER);                                        \
        return block;                                                                              \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API void *name proto                                                  \
    {                                                                                              \
        return heap_due(bytes) ? name##_due args : next.name args;                                 \
    }
WRAPPED(malloc, (size_t bytes), (bytes), bytes)
WRAPPED(memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
WRAPPED(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
WRAPPED(valloc, (size_t bytes), (bytes), bytes)
WRAPPED(pvalloc, (size_t bytes), (bytes), bytes)

static __attribute__((noinline, cold)) void *calloc_recorded(size_t count, size_t bytes)
{
    void *block = next.calloc(count, bytes);
    heap_allocated(block, count * bytes, TRACE_MALLOC, CALLER);
    return block;
}

/* Serves the loader's data of the library's own thread, some 290 bytes: not from the program's
 * heap, whose blocks lie as in a bare run. A storm of mallocs took 1.05 times as long in a heap
 * that somebody else had begun. NULL: no room, or not of the process's only thread. */
static __attribute__((noinline, cold)) void *calloc_for_loader(size_t total)
{
    size_t before = bootstrap_used;
    if (total > BOOTSTRAP_BYTES / 4 || before > BOOTSTRAP_BYTES / 2)
        return NULL;
    void *block = from_arena(total);
    bootstrap_lent += bootstrap_used - before;
    return block;
}

CAPTURE_HOT_CODE CAPTURE_API void *calloc(size_t count, size_t bytes)
{
    size_t total;
    void *lent;
    if (__builtin_mul_overflow(count, bytes, &total))
        return next.calloc(count, bytes); /* which refuses */
    if (HEAP_UNLIKELY(one_thread_making) && (lent = calloc_for_loader(total)))
        return lent;
    return heap_due(total) ? calloc_recorded(count, bytes) : next.calloc(count, bytes);
}

static void *bootstrap_moved(void *p, size_t bytes)
{
    size_t most = BOOTSTRAP_BYTES - (size_t)((char *)p - bootstrap);
    char *q = next.malloc(bytes);
    for (size_t i = 0; q && i < bytes && i < most; i++)
        q[i] = ((char *)p)[i];
    return q;
}

/* A block that may be recorded, or a call that is due. */
static __attribute__((noinline, cold)) void *realloc_recorded(void *p, size_t bytes)
{
    struct heap_move m = {0};
    if (from_bootstrap(p))
        return bootstrap_moved(p, bytes);
    if (live_is_near(p) && live_maybe(p))
        heap_move_begin(&m, p, TRACE_MALLOC);
    void *q = next.realloc(p, bytes);
    heap_move_end(&m, q, bytes, TRACE_MALLOC, CALLER);
    return q;
}

/* The countdown is asked where the block is not near a recorded one, else by `realloc_recorded`. What is due
 * was not counted down, so `realloc_recorded` may ask again. */
CAPTURE_HOT_CODE CAPTURE_API void *realloc(void *p, size_t bytes)
{
    if (HEAP_UNLIKELY(live_is_near(p)) || heap_due(bytes))
        return realloc_recorded(p, bytes);
    return next.realloc(p, bytes);
}

/* Never forwarded: the C library's would come back to our realloc. */
CAPTURE_API void *reallocarray(void *p, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    if (HEAP_UNLIKELY(live_is_near(p)) || heap_due(total))
        return realloc_recorded(p, total);
    return next.realloc(p, total);
}

CAPTURE_API int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    int e = next.posix_memalign(out, alignment, bytes);
    if (!e && heap_due(bytes))
        heap_allocated(*out, bytes, TRACE_MALLOC, CALLER);
    return e;
}

static __attribute__((noinline, cold)) void free_recorded(void *p)
{
    if (from_bootstrap(p))
        return;
    if (live_maybe(p))
        heap_freed(p, TRACE_MALLOC);
    next.free(p);
}

CAPTURE_HOT_CODE CAPTURE_API void free(void *p)
{
    if (HEAP_UNLIKELY(live_is_near(p)))
        free_recorded(p);
    else
        next.free(p);
}

void cfree(void *p);
CAPTURE_API void cfree(void *p) /* of programs built against a C library before 2.26 */
{
    free(p);
}

extern __typeof(malloc) own_malloc
    __attribute__((alias("malloc"), copy(malloc), visibility("hidden")));
extern __typeof(calloc) own_calloc
    __attribute__((alias("calloc"), copy(calloc), visibility("hidden")));
extern __typeof(realloc) own_realloc
    __attribute__((alias("realloc"), copy(realloc), visibility("hidden")));
extern __typeof(free) own_free __attribute__((alias("free"), copy(free), visibility("hidden")));

static int malloc_is_ours(void)
{
    Dl_info theirs, rare;
    void *found = dlsym(RTLD_DEFAULT, "malloc"), *pvalloc_found = dlsym(RTLD_DEFAULT, "pvalloc");
    ElfW(Sym) *symbol = NULL;
    if (found == (void *)own_malloc)
        return 1;
    /* A program at a fixed address that takes malloc's has an entry of its own, which leads on to
     * the first library that has one. */
    return dladdr1(found, &theirs, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx == SHN_UNDEF && dladdr(pvalloc_found, &rare) &&
           dladdr((void *)own_malloc, &theirs) && theirs.dli_fbase == rare.dli_fbase;
}

static const void *malloc_next(void)
{
    return (const void *)next.malloc;
}

/* malloc's wrapper in front of nothing: measured without the program's heap. */
static __attribute__((noinline)) void *malloc_of_nothing(size_t bytes)
{
    __asm__ volatile("" : : "r"(bytes));
    return NULL;
}
static void *(*volatile no_malloc)(size_t) = malloc_of_nothing;

static __attribute__((noinline)) void *malloc_of_nothing_counted(size_t bytes)
{
    return heap_due(bytes) ? malloc_of_nothing(bytes) : no_malloc(bytes);
}

static void malloc_measure_cost(double ns[HEAP_CALLS])
{
    calls_measure(malloc_of_nothing, malloc_of_nothing_counted, next.free, own_free, own_memcpy,
                  ns);
}

static unsigned malloc_remove_wrappers(enum heap_group group)
{
    static const struct rebind malloc_rows[] = {
        {(void *)own_malloc, (void *const *)&next.malloc},
        {(void *)own_calloc, (void *const *)&next.calloc},
        {(void *)own_realloc, (void *const *)&next.realloc},
        {(void *)own_free, (void *const *)&next.free},
    };
    if (group == HEAP_GROUP_COPY)
        return rebind_all(copy_rebinds, copy_rebind_count);
    /* A block of the bootstrap must come to our free; the loader's always does. */
    return bootstrap_used != bootstrap_lent
               ? 0
               : rebind_all(malloc_rows, sizeof malloc_rows / sizeof *malloc_rows);
}

const struct heap_allocator malloc_hooks = {malloc_resolve, malloc_is_ours, malloc_next,
                                            malloc_measure_cost, malloc_remove_wrappers};
