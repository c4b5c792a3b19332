/* Frames that the kernel makes for signal handlers on aarch64. Its call frame information there
 * holds the frame pointer alone; all registers lie in the frame, which the code tells. */
#include <string.h>
#include <ucontext.h>

#include "profiler/capture/core/unwind/unwind.h"
#include "profiler/capture/raw/safe_read.h"

#ifdef __aarch64__
int unwind_signal_frame(struct unwind_registers *r)
{
    static const uint32_t returns[2] = {0xd2801168, 0xd4000001}; /* mov x8, #139; svc #0 */
    const size_t siginfo = 128;
    uint32_t code[2];
    ucontext_t u;
    uintptr_t at = r->r[UNWIND_SP] + siginfo + offsetof(ucontext_t, uc_mcontext);
    size_t bytes = offsetof(mcontext_t, pstate);
    if (!safe_read(r->pc, code, sizeof code) || memcmp(code, returns, sizeof code) != 0 ||
        !safe_read(at, &u.uc_mcontext, bytes))
        return 0;
    unwind_from_context(r, &u);
    return 1;
}
#else
int unwind_signal_frame(struct unwind_registers *r)
{
    (void)r;
    return 0;
}
#endif
