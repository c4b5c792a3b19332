/* The threads of a block run on fibers: each until a barrier or a shuffle holds it, then the next
 * one in turn. A thread that is done leaves its stack to one that has not begun, so that those
 * which nothing holds run as a loop does. Blocks follow each other. Order: natural, or permuted by
 * a seed: a kernel without races gives the same bits. */
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
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STACK ((size_t)256 << 10) /* ASan's frames are several times as large */
#else
#define STACK ((size_t)64 << 10)
#endif
#define PAGE   ((size_t)4096)
#define SHARED ((size_t)256 << 10) /* more than a block can have */

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
    void *stack, *sp; /* sp: where it waits; NULL before it first does */
    enum wait wait;
    int lane;
    uint64_t generation; /* of the warp, that it waits to pass */
    struct warp *warp;
    struct uint3 index;
#ifdef __SANITIZE_ADDRESS__
    void *fake_stack;
#endif
};

std::vector<fiber> fibers;
std::vector<warp> warps;
std::vector<size_t> turns;   /* threads of a block in their order */
unsigned turns_seed;         /* that gave it */
std::vector<void *> stacks;  /* on which no thread is */
size_t turn, ran;            /* of this round: the next turn, threads that went on */
size_t left, held;           /* threads that are not done, of these at the barrier */
struct fiber *current, home; /* home: who launches, on a stack of its own */
void (*run_thread)(void *);
void *run_context;
const char *kernel_name;
std::map<std::string, int64_t> runs; /* by kernel */
unsigned seed;
unsigned char *shared_memory;
#ifdef __SANITIZE_ADDRESS__
struct fiber *before; /* who ran before `current` */
const void *home_bottom;
size_t home_size;
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

static void *new_stack(void)
{
    char *p = static_cast<char *>(
        mmap(NULL, STACK + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (p == MAP_FAILED || mprotect(p + PAGE, STACK, PROT_READ | PROT_WRITE))
        shim_die("no memory for the stack of a fiber");
    return p + PAGE; /* the page below faults */
}

static void fiber_main(void);

/* A stack from which shim_switch returns into fiber_main, aligned as after a call. Stacks begin in
 * different cache lines of their pages: a thousand in the same one would not be cached. */
static void give_stack(struct fiber *f)
{
    if (stacks.empty())
        stacks.push_back(new_stack());
    f->stack = stacks.back();
    stacks.pop_back();
    const uintptr_t line = (uintptr_t)f->stack / (STACK + PAGE) % (PAGE / 64) * 64;
    uintptr_t top = (uintptr_t)f->stack + STACK - 64 - line;
    void **sp = reinterpret_cast<void **>(top & ~(uintptr_t)15);
#ifdef __SANITIZE_ADDRESS__
    /* fiber_main and what it left by never return, so that the poison around their variables stays.
     */
    __asan_unpoison_memory_region(reinterpret_cast<char *>(sp) - PAGE, PAGE);
#endif
    *--sp = NULL;
    *--sp = reinterpret_cast<void *>(fiber_main);
    sp -= 6;
    memset(sp, 0, 6 * sizeof *sp);
    f->sp = sp;
}

static void become(struct fiber *f)
{
    current = f;
    threadIdx = f->index;
}

/* From `current` to another fiber; `back`: its turn comes again. */
static void switch_to(struct fiber *to, int back)
{
    struct fiber *const from = current;
    if (!to->sp)
        give_stack(to);
    become(to);
#ifdef __SANITIZE_ADDRESS__
    before = from;
    __sanitizer_start_switch_fiber(back ? &from->fake_stack : NULL,
                                   to == &home ? home_bottom : to->stack,
                                   to == &home ? home_size : STACK);
#else
    (void)back;
#endif
    shim_switch(&from->sp, to->sp);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

static int can_run(const struct fiber &f)
{
    return f.wait == READY || (f.wait == IN_WARP && f.warp->generation != f.generation);
}

/* Picks the next thread, round the block; NULL: all are done. */
static struct fiber *next_thread(void)
{
    for (;; turn++) {
        if (turn == turns.size()) {
            if (!left)
                return NULL;
            if (held == left)
                for (size_t t = held = 0; t < turns.size(); t++)
                    fibers[t].wait = fibers[t].wait == IN_BLOCK ? READY : fibers[t].wait;
            else if (!ran)
                shim_die("%s: threads of block %u wait for others that never come", kernel_name,
                         blockIdx.x);
            turn = ran = 0;
        }
        struct fiber &f = fibers[turns[turn]];
        if (can_run(f)) {
            turn++;
            ran++;
            f.wait = READY;
            return &f;
        }
    }
}

static void hold(enum wait wait)
{
    struct fiber *const f = current;
    f->wait = wait;
    struct fiber *const next = next_thread();
    if (next != f)
        switch_to(next, 1);
}

/* Threads run here one after the other, until one was held that must now go on where it waits. */
static void fiber_main(void)
{
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    if (before == &home) {
        home_bottom = bottom;
        home_size = size;
    }
#endif
    for (;;) {
        run_thread(run_context);
        struct fiber *const done = current;
        done->wait = DONE;
        left--;
        struct fiber *const next = next_thread();
        if (!next || next->sp) {
            stacks.push_back(done->stack);
            switch_to(next ? next : &home, 0);
            abort();
        }
        next->stack = done->stack;
        become(next);
    }
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

static void run_block(size_t threads)
{
    for (struct warp &w : warps) {
        w.arrived = 0;
        w.generation = 0;
    }
    for (size_t t = 0; t < threads; t++) {
        fibers[t].wait = READY;
        fibers[t].sp = NULL;
    }
    turn = ran = held = 0;
    left = threads;
    current = &home;
    switch_to(next_thread(), 1);
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
    if (turns.size() == threads && turns_seed == seed)
        return;
    turns.resize(threads);
    for (size_t t = 0; t < threads; t++)
        turns[t] = permuted(t, threads);
    turns_seed = seed;
}

/* Shared memory of a block, of the exact size for ASan, else up to a page that faults. */
#ifdef __SANITIZE_ADDRESS__
static unsigned char *take_shared(size_t bytes)
{
    return static_cast<unsigned char *>(aligned_alloc(16, (bytes + 15) / 16 * 16));
}

static void give_shared(unsigned char *p)
{
    free(p);
}
#else
static unsigned char *take_shared(size_t bytes)
{
    static unsigned char *end;
    if (!end) {
        unsigned char *const p = static_cast<unsigned char *>(mmap(
            NULL, SHARED + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (p == MAP_FAILED || mprotect(p, SHARED, PROT_READ | PROT_WRITE))
            shim_die("no memory for the shared memory of a block");
        end = p + SHARED;
    }
    return end - (bytes + 15) / 16 * 16;
}

static void give_shared(unsigned char *)
{
}
#endif

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
        /* NaN, so that nothing is read before it is written. */
        shared_memory = take_shared(shared);
        memset(shared_memory, 0xff, shared);
        run_block(threads);
        give_shared(shared_memory);
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
    held++;
    hold(IN_BLOCK);
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
        hold(IN_WARP);
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
