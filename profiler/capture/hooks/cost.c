/* Measures the extra cost of a call through a wrapper that does not record it: the wrapper's own
 * code in a loop, against the same loop past it. The least of some rounds, for what disturbs one
 * only adds; and not less than LEAST_NS, which ten instructions and a jump take on the fastest
 * machines, for the difference of two loops may be lost in what else goes on. 20 us in all. The
 * program's heap is not touched: its allocator begins when the program does. */
#include "profiler/capture/hooks/hooks.h"

enum { ROUNDS = 6, LOOP = 150, BYTES = 24 };
#define LEAST_NS 0.25

typedef __typeof(malloc) malloc_fn;
typedef __typeof(free) free_fn;
typedef __typeof(memcpy) copy_fn;

static double cost_of_malloc(malloc_fn *volatile take)
{
    uint64_t begin = trace_now();
    for (int i = 0; i < LOOP; i++)
        __asm__ volatile("" : : "r"(take(BYTES)));
    return (double)(trace_now() - begin) / LOOP;
}

static double cost_of_free(free_fn *volatile give)
{
    uint64_t begin = trace_now();
    for (int i = 0; i < LOOP; i++)
        give(NULL);
    return (double)(trace_now() - begin) / LOOP;
}

static double cost_of_copy(copy_fn *volatile copy)
{
    char from[BYTES] = {0}, to[BYTES];
    uint64_t begin = trace_now();
    for (int i = 0; i < LOOP; i++) {
        copy(to, from, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return (double)(trace_now() - begin) / LOOP;
}

static double at_least(double least_ns, double ns)
{
    return ns > least_ns ? ns : least_ns;
}

static void cost_minimum(double *of, double ns)
{
    *of = ns < *of ? ns : *of;
}

void calls_measure(malloc_fn *no_malloc, malloc_fn *wrapped_no_malloc, free_fn *real_free,
                   free_fn *wrapped_free, copy_fn *wrapped_copy, double ns[HEAP_CALLS])
{
    copy_fn *real_copy = (copy_fn *)*copy_rebinds[0].next;
    double bare[HEAP_CALLS] = {1e9, 1e9, 1e9}, own[HEAP_CALLS] = {1e9, 1e9, 1e9};
    for (int k = 0; k < HEAP_CALLS; k++)
        ns[k] = LEAST_NS;
    if (!real_copy)
        return;
    for (int i = 0; i < ROUNDS; i++) {
        cost_minimum(&bare[HEAP_MALLOCS], cost_of_malloc(no_malloc));
        cost_minimum(&own[HEAP_MALLOCS], cost_of_malloc(wrapped_no_malloc));
        cost_minimum(&bare[HEAP_FREES], cost_of_free(real_free));
        cost_minimum(&own[HEAP_FREES], cost_of_free(wrapped_free));
        cost_minimum(&bare[HEAP_COPIES], cost_of_copy(real_copy));
        cost_minimum(&own[HEAP_COPIES], cost_of_copy(wrapped_copy));
    }
    for (int k = 0; k < HEAP_CALLS; k++)
        ns[k] = at_least(LEAST_NS, own[k] - bare[k]);
}
