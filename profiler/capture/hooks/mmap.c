/* mmap and its like: the program's own mappings are recorded (recorders/heap/mappings.c). */
#include <stdarg.h>
#include <sys/mman.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/heap/mappings.h"
#include "profiler/capture/recorders/io/rings.h"
#include "profiler/capture/recorders/jit/jit.h"

#define CALLER __builtin_return_address(0)

static void *mmap_recorded(void *at, size_t bytes, int prot, int flags, int fd, off_t offset,
                           const void *caller)
{
    static void *slot;
    void *(*next)(void *, size_t, int, int, int, off_t) = raw_next(&slot, "mmap");
    struct mapping_call call;
    struct capture_thread *t = mapping_begin(&call, at, bytes, prot, flags, caller);
    uint64_t begin = fd >= 0 && !(flags & MAP_ANONYMOUS) ? io_begin() : 0;
    void *p = next(at, bytes, prot, flags, fd, offset);
    if (t)
        mapping_end(&call, t, p, bytes, caller);
    if (begin && p != MAP_FAILED) {
        if (io_rings)
            io_ring_mapped(fd, p, offset);
        io_mapped(p, bytes, fd, offset, begin, caller);
    }
    if (fd >= 0 && prot & PROT_EXEC && p != MAP_FAILED)
        jit_mapped(fd);
    return p;
}

CAPTURE_API void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return mmap_recorded(at, bytes, prot, flags, fd, offset, CALLER);
}

CAPTURE_API void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
    return mmap_recorded(at, bytes, prot, flags, fd, offset, CALLER);
}

CAPTURE_API int munmap(void *p, size_t bytes)
{
    static void *slot;
    int (*next)(void *, size_t) = raw_next(&slot, "munmap");
    mapping_unmap(p, bytes);
    io_unmapping(p, bytes);
    return next(p, bytes);
}

CAPTURE_API void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    static void *slot;
    void *(*next)(void *, size_t, size_t, int, ...) = raw_next(&slot, "mremap");
    va_list rest;
    va_start(rest, flags);
    void *at = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    struct mapping_move move;
    struct capture_thread *t = mapping_move_begin(&move, old, old_bytes, at, bytes, CALLER);
    void *p = next(old, old_bytes, bytes, flags, at);
    if (t)
        mapping_move_end(&move, t, p, bytes, CALLER);
    return p;
}
