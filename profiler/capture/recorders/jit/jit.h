/* Descriptions of code that the program makes at run time. */
#ifndef TP_CAPTURE_RECORDERS_JIT_JIT_H
#define TP_CAPTURE_RECORDERS_JIT_JIT_H

#include "profiler/capture/core/capture.h"

/* The program has mapped file `fd` as code: writers of jitdump do that with jit-PID.dump, so that
 * profilers hear of it. */
void jit_mapped(int fd);

struct capture_thread;

/* files.c: looks whether the process's perf map and jitdump have grown. */
void jit_files_poll(struct capture_thread *t);
void jit_dump_is(const char *path);
void jit_files_forget(void); /* in the child of a fork, which has others */

/* Finds the descriptors of GDB's JIT interface (__jit_debug_descriptor) in the images of the
 * process. Programs that link LLVM export none: it is a local symbol of llvmlite's and jaxlib's
 * libraries, so the symbol tables of files are read too, a little at a time, once a sample was
 * taken in code outside of all images. */

enum { JIT_DESCRIPTORS = 16 };

/* On the library's own thread alone, while no fork is under way: looks at images that came and
 * went, reads their files for 20 ms at most (a read that waits for the disk takes as long as that
 * does). */
void jit_descriptors_poll(struct capture_thread *ours);
/* Their addresses, which may have gone since; how many. */
size_t jit_descriptors(uintptr_t at[JIT_DESCRIPTORS]);

#endif
