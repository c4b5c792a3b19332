/* Finds the descriptors of GDB's JIT interface (__jit_debug_descriptor) in the images of the
 * process. Programs that link LLVM export none: it is a local symbol of llvmlite's and jaxlib's
 * libraries, so the symbol tables of files are read too, a little at a time, once a sample was
 * taken in code outside of all images. */
#ifndef TP_CAPTURE_RECORDERS_JIT_DESCRIPTORS_H
#define TP_CAPTURE_RECORDERS_JIT_DESCRIPTORS_H

#include "profiler/capture/core/capture.h"

enum { JIT_DESCRIPTORS = 16 };

/* On the library's own thread alone, while no fork is under way: looks at images that came and
 * went, reads their files for 20 ms at most (a read that waits for the disk takes as long as that
 * does). */
void jit_descriptors_poll(struct capture_thread *ours);
/* Their addresses, which may have gone since; how many. */
size_t jit_descriptors(uintptr_t at[JIT_DESCRIPTORS]);

#endif
