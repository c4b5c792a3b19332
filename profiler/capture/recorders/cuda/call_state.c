/* The API call in progress on each thread, and the names that launches had: what decoding and
 * resources ask of call.c. */
#include "profiler/capture/recorders/cuda/call_state.h"

__thread struct cuda_api_call cuda_call_now;

/* Names that launches had, by their ids. A full neighbourhood forgets its last one. */
enum { SYMBOLS = 8192, PROBES = 8 };
static uint64_t symbols[SYMBOLS];

int cuda_symbol_known(uint64_t id)
{
    for (int i = 0; i < PROBES; i++)
        if (__atomic_load_n(&symbols[(id + (uint64_t)i) % SYMBOLS], __ATOMIC_RELAXED) == id)
            return 1;
    return 0;
}

void cuda_learn_symbol(uint64_t id)
{
    int place = 0;
    if (cuda_symbol_known(id))
        return;
    while (place < PROBES - 1 && symbols[(id + (uint64_t)place) % SYMBOLS])
        place++;
    __atomic_store_n(&symbols[(id + (uint64_t)place) % SYMBOLS], id, __ATOMIC_RELAXED);
}

uint64_t cuda_call_stack(void)
{
    return cuda_call_now.depth ? cuda_call_now.stack : 0;
}

void cuda_call_captured(void)
{
    struct cuda_api_call *c = &cuda_call_now;
    if (c->depth && c->api_class != TRACE_API_GRAPH)
        c->flags |= TRACE_API_CAPTURED;
}

int cuda_call_depth(void)
{
    return cuda_call_now.depth;
}
