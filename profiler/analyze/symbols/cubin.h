/* Lines of device code from a saved cubin (ELF with -lineinfo's .debug_line, NVIDIA's extended
 * opcode 0x90 for inlined calls). Untrusted bytes. */
#ifndef TP_ANALYZE_SYMBOLS_CUBIN_H
#define TP_ANALYZE_SYMBOLS_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cubin;

struct cubin_frame {             /* texts live as long as the cubin */
    const char *file, *function; /* function: NULL for the kernel itself */
    int line;
};

enum err cubin_open(const void *bytes, size_t n, const char *name,
                    struct cubin **out); /* bytes are copied */
void cubin_free(struct cubin *c);
/* Returns the inline chain at `offset` in the kernel's code, innermost first; 0 when unknown. */
int cubin_at(const struct cubin *c, const char *kernel_mangled, uint64_t offset,
             struct cubin_frame *out, int max);
/* File and line where the kernel begins, its registers and shared bytes by the ELF notes (-1
 * unknown). 0 when the kernel is not in it. */
struct cubin_kernel {
    struct cubin_frame begin;
    int registers, shared_bytes, local_bytes;
};
int cubin_kernel(const struct cubin *c, const char *kernel_mangled, struct cubin_kernel *out);

#endif
