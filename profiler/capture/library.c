/* The way into the library: its constructor and the entry points of CUDA's and NVTX's injection,
 * whichever comes first, start capture with the recorders that are listed here. */
#include <dlfcn.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/cuda/cuda.h"
#include "profiler/capture/recorders/io/io.h"
#include "profiler/capture/recorders/locks/locks.h"
#include "profiler/capture/recorders/nvtx/nvtx.h"

/* In the order of starting: stacks before what takes them. */
static const struct recorder *const recorders[] = {
    &stack_recorder, &python_recorder, &heap_recorder, &nvtx_recorder,
    &cuda_recorder,  &jit_recorder,    &io_recorder,   &locks_recorder,
    &mpi_recorder,   &fatal_recorder,  &wait_recorder, &cpu_recorder,
};

static void library_setup(void)
{
    filter_hooks_setup();
    io_hooks_setup();
    io_take_out_by(io_hooks_take_out);
    heap_set_allocator(&malloc_hooks);
    locks_set_calls(&lock_hooks);
    lock_hooks_find();
}

static int library_start(int early)
{
    static const struct capture_parts parts = {recorders, sizeof recorders / sizeof *recorders,
                                               library_setup};
    asleep.allocator = (uintptr_t)calloc;
    raw_clock_setup();
    thread_hooks_setup();
    return capture_start(&parts, early);
}

/* glibc 2.32 and later say so. */
static int library_single_threaded(void)
{
    const char *flag = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
    return flag && *flag;
}

/* The C library gives a constructor what it gives main. */
__attribute__((constructor)) static void loaded(int count, char **words)
{
    facts_arguments(count, words);
    if (!library_start(library_single_threaded()))
        lock_hooks_find();
}

/* The CUDA driver calls this inside cuInit. Never fails: the target goes on without us. */
CAPTURE_API int InitializeInjection(void);
CAPTURE_API int InitializeInjection(void)
{
    library_start(0);
    if (capture_is_on())
        cuda_initialize();
    return 1;
}

CAPTURE_API int InitializeInjectionNvtx2(nvtx_get_table *get);
CAPTURE_API int InitializeInjectionNvtx2(nvtx_get_table *get)
{
    library_start(0);
    capture_wake();
    return nvtx_initialize(get);
}

CAPTURE_API int InitializeInjectionNvtxExtension(struct nvtx_extension *module);
CAPTURE_API int InitializeInjectionNvtxExtension(struct nvtx_extension *module)
{
    library_start(0);
    capture_wake();
    return nvtx_initialize_extension(module);
}
