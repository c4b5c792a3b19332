/* One fiber per thread of a block. A fiber runs until a barrier or a shuffle holds it; blocks
 * follow each other. Order: natural, or permuted by a seed: a kernel without races gives the same
 * bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>
#include <string>
#include <vector>

#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/memory.h"
#include "tests/device/shim/shim.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK ((size_t)256 << 10) /* ASan's frames are several times as large */
#else
#define STACK ((size_t)64 << 10)
#endif
#define PAGE ((size_t)4096)

struct uint3 threadIdx, blockIdx;
struct dim3 blockDim, gridDim;

namespace
{
enum wait { READY, IN_WARP, IN_BLOCK, DONE };

struct warp {
    unsigned arrived, mask;
    enum shim_instruction which; /* of the lanes that arrived */
    uint64_t generation;
    uint64_t slots[2][32]; /* exchanges alternate: nobody is two ahead */
};

struct fiber {
    void *stack, *sp;
    enum wait wait;
    uint64_t generation; /* of the warp, that it waits to pass */
    struct uint3 index;
    int lane;
    struct warp *warp;
#ifdef __SANITIZE_ADDRESS__
    void *fake_stack;
#endif
};

std::vector<fiber> fibers;
std::vector<warp> warps;
struct fiber *current;
void *scheduler_sp;
void (*run_thread)(void *);
void *run_context;
const char *kernel_name;
std::map<std::string, int64_t> runs; /* by kernel */
unsigned seed;
unsigned char *shared_memory;
#ifdef __SANITIZE_ADDRESS__
void *scheduler_fake;
const void *scheduler_bottom;
size_t scheduler_size;
#endif
} // namespace

/* Saves the callee's registers on the stack, its pointer in *from, and goes on with `to`. */
extern "C" void shim_switch(void **from, void *to);
asm(".text\n"
    ".globl shim_switch\n"
    ".type shim_switch,@function\n"
    "shim_switch:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
    "  ret\n"
    ".size shim_switch, .-shim_switch\n");

static void to_scheduler(int last)
{
    struct fiber *f = current;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(last ? NULL : &f->fake_stack, scheduler_bottom, scheduler_size);
#else
    (void)last;
#endif
    shim_switch(&f->sp, scheduler_sp);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->fake_stack, &scheduler_bottom, &scheduler_size);
#endif
}

static void fiber_main(void)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, &scheduler_bottom, &scheduler_size);
#endif
    run_thread(run_context);
    current->wait = DONE;
    to_scheduler(1);
    abort();
}

static void resume(struct fiber *f)
{
    current = f;
    threadIdx = f->index;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK);
#endif
    shim_switch(&scheduler_sp, f->sp);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

static void *new_stack(void)
{
    char *p = static_cast<char *>(
        mmap(NULL, STACK + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (p == MAP_FAILED || mprotect(p + PAGE, STACK, PROT_READ | PROT_WRITE))
        shim_die("no memory for the stack of a fiber");
    return p + PAGE; /* the page below faults */
}

/* A stack from which shim_switch returns into fiber_main, aligned as after a call. */
static void start(struct fiber *f)
{
    if (!f->stack)
        f->stack = new_stack();
    uintptr_t top = (uintptr_t)f->stack + STACK - 64;
    void **sp = reinterpret_cast<void **>(top & ~(uintptr_t)15);
    *--sp = NULL;
    *--sp = reinterpret_cast<void *>(fiber_main);
    sp -= 6;
    memset(sp, 0, 6 * sizeof *sp);
    f->sp = sp;
    f->wait = READY;
}

void shim_order(unsigned new_seed)
{
    seed = new_seed;
}

/* Place `i` of a permutation of n: natural without a seed. */
static size_t permuted(size_t i, size_t n)
{
    if (!seed)
        return i;
    size_t step = seed % n | 1;
    for (size_t a = step, b = n;;) {
        size_t r = a % b;
        a = b, b = r;
        if (b == 0) {
            if (a == 1)
                break;
            step += 2;
            a = step, b = n;
        }
    }
    return (i * (step % n) + seed / 3) % n;
}

static int can_run(const struct fiber &f)
{
    return f.wait == READY || (f.wait == IN_WARP && f.warp->generation != f.generation);
}

static void run_block(size_t threads)
{
    for (size_t w = 0; w < warps.size(); w++)
        memset(&warps[w], 0, sizeof warps[w]);
    for (size_t t = 0; t < threads; t++)
        start(&fibers[t]);
    for (size_t left = threads; left > 0;) {
        size_t progressed = 0, at_barrier = 0;
        for (size_t i = 0; i < threads; i++) {
            struct fiber &f = fibers[permuted(i, threads)];
            if (can_run(f)) {
                f.wait = READY;
                resume(&f);
                progressed++;
                left -= f.wait == DONE;
            }
            at_barrier += f.wait == IN_BLOCK;
        }
        if (at_barrier == left)
            for (size_t t = 0; t < threads; t++)
                fibers[t].wait = fibers[t].wait == IN_BLOCK ? READY : fibers[t].wait;
        else if (!progressed)
            shim_die("%s: threads of block %u wait for others that never come", kernel_name,
                     blockIdx.x);
    }
}

static void prepare(dim3 block)
{
    const size_t threads = (size_t)block.x * block.y * block.z;
    if (fibers.size() < threads)
        fibers.resize(threads);
    warps.resize((threads + 31) / 32);
    for (size_t t = 0; t < threads; t++) {
        fibers[t].index = uint3{(unsigned)(t % block.x), (unsigned)(t / block.x % block.y),
                                (unsigned)(t / block.x / block.y)};
        fibers[t].lane = (int)(t % 32);
        fibers[t].warp = &warps[t / 32];
    }
}

void shim_run(const char *name, dim3 grid, dim3 block, size_t shared, void (*thread)(void *),
              void *context)
{
    const size_t threads = (size_t)block.x * block.y * block.z;
    const size_t blocks = (size_t)grid.x * grid.y * grid.z;
    runs[name]++;
    kernel_name = name;
    run_thread = thread;
    run_context = context;
    gridDim = grid;
    blockDim = block;
    prepare(block);
    shim_unlock();
    for (size_t i = 0; i < blocks; i++) {
        const size_t b = permuted(i, blocks);
        blockIdx = uint3{(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y),
                         (unsigned)(b / grid.x / grid.y)};
        /* Of the exact size, so that ASan sees what goes beyond; NaN, so that nothing is read
         * before it is written. */
        shared_memory = static_cast<unsigned char *>(aligned_alloc(16, (shared + 15) / 16 * 16));
        memset(shared_memory, 0xff, shared);
        run_block(threads);
        free(shared_memory);
    }
    shim_lock();
    kernel_name = NULL;
}

int64_t shim_runs_of(const char *kernel)
{
    return runs[kernel];
}

void *shim_shared(void)
{
    return shared_memory;
}

int shim_lane(void)
{
    return current->lane;
}

void shim_check_lane(unsigned mask, int from)
{
    if (!(mask >> from & 1))
        shim_die("%s: reads from lane %d, which is not in its mask %08x", kernel_name, from, mask);
}

void __syncthreads(void)
{
    current->wait = IN_BLOCK;
    to_scheduler(0);
}

const uint64_t *shim_exchange(enum shim_instruction which, unsigned mask, uint64_t bits)
{
    struct warp *w = current->warp;
    const uint64_t generation = w->generation;
    uint64_t *slots = w->slots[generation % 2];
    if (!(mask >> current->lane & 1))
        shim_die("%s: lane %d is not in its own mask %08x", kernel_name, current->lane, mask);
    if (w->arrived && (w->mask != mask || w->which != which))
        shim_die("%s: lanes of a warp meet at different instructions, or with different masks",
                 kernel_name);
    w->mask = mask;
    w->which = which;
    slots[current->lane] = bits;
    w->arrived |= 1u << current->lane;
    if (w->arrived == mask) {
        w->arrived = 0;
        w->generation++;
    } else {
        current->generation = generation;
        current->wait = IN_WARP;
        to_scheduler(0);
    }
    return slots;
}

void __syncwarp(unsigned mask)
{
    shim_exchange(SHIM_SYNC, mask, 0);
}

unsigned __match_any_sync(unsigned mask, int value)
{
    const uint64_t *slots = shim_exchange(SHIM_MATCH, mask, (uint64_t)(unsigned)value);
    unsigned same = 0;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1 && slots[lane] == (uint64_t)(unsigned)value)
            same |= 1u << lane;
    return same;
}

unsigned __ballot_sync(unsigned mask, int predicate)
{
    const uint64_t *slots = shim_exchange(SHIM_BALLOT, mask, predicate != 0);
    unsigned set = 0;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1 && slots[lane])
            set |= 1u << lane;
    return set;
}
