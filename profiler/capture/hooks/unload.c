/* dlclose: which libraries were there until now is written down before others can take their place.
 * dlopen is left alone: where it searches depends on the library that calls it. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/system.h"

/* No handler of the target may jump out of the table while it is held. */
static void unload_refresh_modules(void)
{
    sigset_t all, old;
    int saved = errno;
    struct capture_thread *t = capture_enter();
    if (t) {
        const uint64_t begin = trace_now();
        sigfillset(&all);
        signals_mask(SIG_SETMASK, &all, &old);
        modules_refresh_now(&t->stream);
        signals_mask(SIG_SETMASK, &old, NULL);
        capture_leave(t, TRACE_PART_WRITER, begin);
    }
    errno = saved;
}

CAPTURE_API int dlclose(void *handle)
{
    static void *next;
    unload_refresh_modules();
    int r = ((int (*)(void *))raw_next(&next, "dlclose"))(handle);
    unload_refresh_modules();
    return r;
}
