/* Included before every source of the library (gcc -include): memcpy and its like are the library's
 * own, also where the compiler copies a struct, and not the hooks of these names (hooks/copies.c);
 * and so are syscall (hooks/system_calls.c) and clock_gettime (raw/clock.c). getpid and getppid lie
 * in a part of the C library that a short process does not have in memory. */
#ifndef TP_CAPTURE_RAW_MEMORY_H
#define TP_CAPTURE_RAW_MEMORY_H

#include <stddef.h>

long syscall(long number, ...) __asm__("raw_syscall");
int getpid(void) __asm__("raw_getpid");
int getppid(void) __asm__("raw_getppid");
struct timespec;
int clock_gettime(int clock, struct timespec *t) __asm__("raw_clock_gettime");
#ifndef CAPTURE_DEFINES_MEMCPY
void *memcpy(void *to, const void *from, size_t n) __asm__("raw_memcpy");
void *memmove(void *to, const void *from, size_t n) __asm__("raw_memmove");
void *memset(void *to, int byte, size_t n) __asm__("raw_memset");
int memcmp(const void *a, const void *b, size_t n) __asm__("raw_memcmp");
#endif

#endif
