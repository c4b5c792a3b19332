/* Reading memory of this process that may not be there: an error where a plain read would be
 * SIGSEGV. Async-signal-safe; about 0.4 us a call. */
#ifndef TP_CAPTURE_RAW_SAFE_READ_H
#define TP_CAPTURE_RAW_SAFE_READ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds out how: process_vm_readv, or /proc/self/mem where a seccomp filter forbids it. Again in a
 * forked child. 0, or errno: then every read fails. */
int safe_read_start(void);
/* The same in the child of a fork, which may what its parent may. */
int safe_read_forked(void);
int safe_read_has_file(void); /* it reads by a descriptor of the process */

/* Reads the memory of another process from now on. */
void safe_read_process(pid_t pid);

/* Bytes read from `address` on; stops at the first page that cannot be read. */
size_t safe_read_some(uintptr_t address, void *to, size_t bytes);
/* 1: all of it. */
int safe_read(uintptr_t address, void *to, size_t bytes);
/* Two places in one call. 0: not even the first. 1: the first. 2: both. */
int safe_read2(uintptr_t first, void *to_first, size_t first_bytes, uintptr_t second,
               void *to_second, size_t second_bytes);

#endif
