/* memcpy and its family, sampled by bytes ("sampled libc copies": copies that the compiler inlines
 * and those inside the C library do not pass here). Called before this library is relocated, in
 * handlers: so nothing here needs a relocation before the next definitions are known, and this file
 * is built so that no loop of it becomes a call of memcpy. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/next_symbol.h"

#define CALLER __builtin_return_address(0)

typedef void *copy_fn(void *, const void *, size_t);
typedef void *check_fn(void *, const void *, size_t, size_t);

static copy_fn *next_memcpy, *next_memmove, *next_mempcpy;
static check_fn *next_memcpy_chk, *next_memmove_chk, *next_mempcpy_chk;

static void *copy_bytewise(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;
    if ((uintptr_t)d - (uintptr_t)s >= n) {
#if defined __x86_64__
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
        for (size_t i = 0; i < n; i++)
            d[i] = s[i];
#endif
    } else {
        while (n--)
            d[n] = s[n];
    }
    return to;
}

/* NAME_due is entered by a jump (a sibling call): its caller is the program's. */
#define COPY(name, result)                                                                         \
    static __attribute__((noinline, cold)) void *name##_due(void *to, const void *from, size_t n)  \
    {                                                                                              \
        if (!next_##name)                                                                          \
            return (char *)copy_bytewise(to, from, n) + (result);                                  \
        heap_copied(n, CALLER);                                                                    \
        return next_##name(to, from, n);                                                           \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API void *name(void *to, const void *from, size_t n)                  \
    {                                                                                              \
        if (HEAP_UNLIKELY(!next_##name) || heap_copy_due(n))                                       \
            return name##_due(to, from, n);                                                        \
        return next_##name(to, from, n);                                                           \
    }
COPY(memcpy, 0)
COPY(memmove, 0)
COPY(mempcpy, n)

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);

/* The C library reports overflows; before that is known, they trap. */
#define CHECKED(name, result)                                                                      \
    static __attribute__((noinline, cold)) void *name##_chk_due(void *to, const void *from,        \
                                                                size_t n, size_t room)             \
    {                                                                                              \
        if (!next_##name##_chk) {                                                                  \
            if (n > room)                                                                          \
                __builtin_trap();                                                                  \
            return (char *)copy_bytewise(to, from, n) + (result);                                  \
        }                                                                                          \
        heap_copied(n, CALLER);                                                                    \
        return next_##name##_chk(to, from, n, room);                                               \
    }                                                                                              \
    CAPTURE_API void *__##name##_chk(void *to, const void *from, size_t n, size_t room)            \
    {                                                                                              \
        if (HEAP_UNLIKELY(!next_##name##_chk) || heap_copy_due(n))                                 \
            return name##_chk_due(to, from, n, room);                                              \
        return next_##name##_chk(to, from, n, room);                                               \
    }
CHECKED(memcpy, 0)
CHECKED(memmove, 0)
CHECKED(mempcpy, n)

/* By names that nobody replaces. */
#define OWN(name)                                                                                  \
    extern __typeof(name) own_##name __attribute__((alias(#name), copy(name), visibility("hidden")))
OWN(memcpy);
OWN(memmove);
OWN(mempcpy);
OWN(__memcpy_chk);
OWN(__memmove_chk);
OWN(__mempcpy_chk);

#define ROW(name, next)                                                                            \
    {                                                                                              \
        (void *)own_##name, (void *const *)&next                                                   \
    }
const struct rebind copy_rebinds[] = {
    ROW(memcpy, next_memcpy),
    ROW(memmove, next_memmove),
    ROW(mempcpy, next_mempcpy),
    ROW(__memcpy_chk, next_memcpy_chk),
    ROW(__memmove_chk, next_memmove_chk),
    ROW(__mempcpy_chk, next_mempcpy_chk),
};
const size_t copy_rebind_count = sizeof copy_rebinds / sizeof *copy_rebinds;

/* Runs even if capture does not start: until then copies go byte by byte. */
static __attribute__((constructor)) void copies_find_next(void)
{
    static const struct {
        const char *name;
        void *slot;
    } rows[] = {
        {"memcpy", &next_memcpy},
        {"memmove", &next_memmove},
        {"mempcpy", &next_mempcpy},
        {"__memcpy_chk", &next_memcpy_chk},
        {"__memmove_chk", &next_memmove_chk},
        {"__mempcpy_chk", &next_mempcpy_chk},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        __atomic_store_n((void **)rows[i].slot, next_symbol(rows[i].name), __ATOMIC_RELAXED);
}
