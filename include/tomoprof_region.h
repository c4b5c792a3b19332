/* Regions: parts of a C or C++ program that a recording of `tomoprof record` names. A region becomes
 * a row and a band of the report, with its own lines. Without the recorder a region is one load and
 * one branch; nothing is to be linked. -DTOMOPROF_REGION_OFF leaves them out of the program.
 *
 *     #include <tomoprof_region.h>
 *
 *     TOMOPROF_REGION_BEGIN("load");
 *     read_scan();
 *     TOMOPROF_REGION_END();
 *
 *     {
 *         TOMOPROF_REGION("filter"); // ends with the block: gcc and clang
 *         filter_rows();
 *     }
 *
 * Regions of one thread are nested: END closes the one that was begun last. A name must be a string
 * that lives until the call returns. */
#ifndef TOMOPROF_REGION_H
#define TOMOPROF_REGION_H

#if defined(TOMOPROF_REGION_OFF) || !defined(__linux__) || !defined(__GNUC__)

#define TOMOPROF_REGION_BEGIN(name) ((void)0)
#define TOMOPROF_REGION_END()       ((void)0)
#define TOMOPROF_REGION(name)       ((void)0)
#define TOMOPROF_START()            ((void)0)

#else

#ifdef __cplusplus
extern "C" {
#endif

/* Belongs to the C library. Weak: a static program lacks it, and then a recorder too. */
extern void *dlsym(void *, const char *)
#if defined(__cplusplus) && defined(__GLIBC__)
    __THROW
#endif
    __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* The recorder's functions; looked up once in each file that has regions. */
struct tomoprof_region_calls {
    int known;
    void (*push)(const char *);
    void (*pop)(void);
    void (*start)(void);
};

static struct tomoprof_region_calls tomoprof_region_calls;

__attribute__((cold, noinline, unused)) static void tomoprof_region_find(void)
{
    struct tomoprof_region_calls c = {1, 0, 0, 0};
    if (dlsym) {
        *(void **)&c.push = dlsym((void *)0, "tomoprof_region_push");
        *(void **)&c.pop = dlsym((void *)0, "tomoprof_region_pop");
        *(void **)&c.start = dlsym((void *)0, "tomoprof_region_begin_here");
    }
    tomoprof_region_calls.push = c.push;
    tomoprof_region_calls.pop = c.pop;
    tomoprof_region_calls.start = c.start;
    __atomic_store_n(&tomoprof_region_calls.known, 1, __ATOMIC_RELEASE);
}

#define TOMOPROF_REGION_KNOWN_                                                                     \
    (__atomic_load_n(&tomoprof_region_calls.known, __ATOMIC_ACQUIRE) ? (void)0                     \
                                                                     : tomoprof_region_find())

__attribute__((unused)) static inline void tomoprof_region_begin_(const char *name)
{
    TOMOPROF_REGION_KNOWN_;
    if (tomoprof_region_calls.push && tomoprof_region_calls.pop)
        tomoprof_region_calls.push(name);
}

__attribute__((unused)) static inline void tomoprof_region_end_(const char *const *unused)
{
    (void)unused;
    TOMOPROF_REGION_KNOWN_;
    if (tomoprof_region_calls.push && tomoprof_region_calls.pop)
        tomoprof_region_calls.pop();
}

__attribute__((unused)) static inline const char *tomoprof_region_open_(const char *name)
{
    tomoprof_region_begin_(name);
    return name;
}

__attribute__((unused)) static inline void tomoprof_region_start_(void)
{
    TOMOPROF_REGION_KNOWN_;
    if (tomoprof_region_calls.start)
        tomoprof_region_calls.start();
}

#define TOMOPROF_REGION_JOIN__(a, b) a##b
#define TOMOPROF_REGION_JOIN_(a, b)  TOMOPROF_REGION_JOIN__(a, b)

#define TOMOPROF_REGION_BEGIN(name) tomoprof_region_begin_(name)
#define TOMOPROF_REGION_END()       tomoprof_region_end_((const char *const *)0)
/* From here to the end of the block. */
#define TOMOPROF_REGION(name)                                                                      \
    const char *const TOMOPROF_REGION_JOIN_(tomoprof_region_, __LINE__)                            \
        __attribute__((cleanup(tomoprof_region_end_), unused)) = tomoprof_region_open_(name)
/* `tomoprof record --paused` leaves out what came before. */
#define TOMOPROF_START() tomoprof_region_start_()

#endif

#endif
