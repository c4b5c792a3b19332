/* System calls without the C library's functions of these names: those may be the library's own
 * hooks, and some are points where a thread may be cancelled. Async-signal-safe; they set errno. */
#ifndef TP_CAPTURE_RAW_SYSTEM_H
#define TP_CAPTURE_RAW_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

void raw_clock_setup(void); /* once, first of all: clock_gettime is slower before */
/* The calling thread may not read the processor's counter any longer (PR_SET_TSC), which the clock
 * of the kernel's page does too: asks the kernel whether that is so, and asks it for the time then.
 * Async-signal-safe. */
void raw_clock_check(void);
extern int raw_ticks_trapped; /* 1: found so */

/* Zeroed private memory of its own mapping; `flags` besides MAP_PRIVATE | MAP_ANONYMOUS. NULL:
 * there is none. */
void *raw_map(size_t bytes, int flags);
/* A file from its start on, for reading; NULL on failure. */
void *raw_map_file(int fd, size_t bytes);
void raw_unmap(void *p, size_t bytes);
/* Zero again, where the kernel can do so without touching the pages: 1; 0: not done. */
int raw_clear(void *p, size_t bytes);

/* The processor's counter of time, of unknown rate; 0: it has none, or it may not be read. */
static inline uint64_t raw_ticks(void)
{
    if (__builtin_expect(raw_ticks_trapped, 0))
        return 0;
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#elif defined __aarch64__
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* The same, after all that comes before it and before all that comes after it. */
static inline uint64_t raw_ticks_between(void)
{
#if defined __x86_64__
    __builtin_ia32_lfence();
    const uint64_t ticks = raw_ticks();
    __builtin_ia32_lfence();
    return ticks;
#else
    return raw_ticks();
#endif
}

void raw_sleep(uint64_t ns); /* less when a signal arrives */
/* Waits while *word is `value`, `ns` at most (0: without end), for wakes of this process alone. */
void raw_futex_wait(const volatile void *word, uint32_t value, uint64_t ns);
void raw_futex_wake(const volatile void *word, int threads);

/* Bytes that the library read (0) and wrote (1) by system calls of its own, as the kernel counts
 * them. */
extern uint64_t raw_chars[2];
uint64_t raw_chars_here(void);  /* read by the calling thread, of raw_chars[0] */
void raw_chars_uncounted(void); /* not those of the calling thread, from now on */

/* openat() that ends under a number from 200 on, where the limit has such: -1 and errno. A low
 * number is free to be hit by the program. bash closes each end of a pipe twice; with our file
 * between the two under that number, the next pipe got it and lost it again when we closed ours: 6
 * of 560 of its command substitutions came back empty on a loaded machine. Where the limit has no
 * such number, only the main thread gets one, while the program waits for it: with four descriptors
 * the program found none. */
int raw_open_high(const char *path, int flags);
/* The same for a file that is closed again before anything of the program runs, where that is so:
 * there its number does not matter. */
int raw_open(const char *path, int flags);

/* The calling thread has a table of descriptors of its own, in which each number will do. */
void raw_files_unshare(void);
int raw_files_are_unshared(void);
/* Nothing of the program runs until the calling thread goes on: in a constructor and in the child
 * of a fork, where it is alone. Files that are closed again by then may have any number, for three
 * calls less. */
void raw_files_alone(int on);
int raw_files_are_alone(void);
/* `seen` tells whether another thread that shares the caller's descriptors may run meanwhile. */
void raw_files_seen_by(int (*seen)(void));
int raw_files_are_seen(void);

/* A small file; terminated; bytes read, 0 on any error. Keeps errno. errands.c: opened where the
 * program's threads do not see it. */
size_t raw_read_file(const char *path, char *out, size_t bytes);
size_t raw_read_here(const char *path, uint64_t offset, char *out, size_t bytes); /* here */
/* The same for one that is read again and again: it stays open under *fd, -1 at first, where the
 * thread's descriptors are its own. One of /proc is then read in 2 us, not 12. */
size_t raw_read_again(int *fd, const char *path, char *out, size_t bytes);
size_t raw_read_private(int *fd, const char *path, char *out, size_t bytes); /* on such a thread */

/* Returns the text of an error number. */
const char *raw_error_text(int error);

/* The function that ours of this name replaces (RTLD_NEXT), resolved once; safe while dlsym
 * allocates. */
void *raw_find_next(void **slot, const char *name);
static inline void *raw_next(void **slot, const char *name)
{
    void *f = __atomic_load_n(slot, __ATOMIC_RELAXED);
    return __builtin_expect(f != NULL, 1) ? f : raw_find_next(slot, name);
}

#endif
