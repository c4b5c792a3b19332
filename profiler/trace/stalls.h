/* Why a warp of a GPU did not issue its next instruction when it was sampled. `prefix` begins the
 * name of the reason in CUPTI (after smsp__pcsamp_warps_issue_stalled_) and on Nsight Compute's
 * source page (after stall_); `key` is its name in profile.json. Numbers never change their
 * meaning. */
#ifndef TP_TRACE_STALLS_H
#define TP_TRACE_STALLS_H

#include <string.h>

/* name, number, prefix, key, what the warp does */
#define TRACE_STALL_LIST(X)                                                                        \
    X(OTHER, 0, "misc", "other", "waits for another reason")                                       \
    X(ISSUES, 1, "selected", "issues", "issues an instruction")                                    \
    X(NOT_CHOSEN, 2, "not_selected", "not_chosen", "is ready, another warp was chosen")            \
    X(MEMORY, 3, "long_s", "memory", "waits for global or local memory")                           \
    X(SHARED, 4, "short_s", "shared", "waits for shared memory or sqrt, sin")                      \
    X(MEMORY_QUEUE, 5, "lg", "memory_queue", "too many accesses to memory queue up")               \
    X(SHARED_QUEUE, 6, "mio", "shared_queue", "too many accesses to shared memory")                \
    X(TEXTURE_QUEUE, 7, "tex", "texture_queue", "too many texture accesses queue up")              \
    X(MATH, 8, "math", "math", "waits for a busy arithmetic unit")                                 \
    X(DISPATCH, 9, "dispatch", "dispatch", "waits for the dispatcher")                             \
    X(FIXED, 10, "wait", "fixed", "waits for the instruction before it")                           \
    X(BARRIER, 11, "barrier", "barrier", "waits for other warps at a barrier")                     \
    X(FENCE, 12, "membar", "fence", "waits at a memory fence")                                     \
    X(BRANCH, 13, "branch", "branch", "waits for the target of a branch")                          \
    X(FETCH, 14, "no_inst", "fetch", "waits for its code to be loaded")                            \
    X(CONSTANT, 15, "imc", "constant", "waits for constant memory")                                \
    X(DRAIN, 16, "drain", "drain", "ends, waits for its last writes")                              \
    X(SLEEPS, 17, "sleeping", "sleeps", "sleeps")                                                  \
    X(MATRIX, 18, "gmma", "matrix", "waits for a matrix instruction")                              \
    X(GROUP, 19, "warpgroup", "group", "waits for the warps of its group")

enum trace_stall {
#define X(name, number, prefix, key, words) TRACE_STALL_##name = (number),
    TRACE_STALL_LIST(X)
#undef X
        TRACE_STALLS
};

/* Finds the reason of a name without what comes before it; OTHER where it is not known. */
static inline enum trace_stall trace_stall_of(const char *name)
{
    static const char *const prefixes[] = {
#define X(name, number, prefix, key, words) [number] = (prefix),
        TRACE_STALL_LIST(X)
#undef X
    };
    for (int i = 0; i < TRACE_STALLS; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return (enum trace_stall)i;
    return TRACE_STALL_OTHER;
}

#endif
