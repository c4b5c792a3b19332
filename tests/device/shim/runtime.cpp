/* The runtime: device memory in a range of its own, failures on demand. Streams: stream.cpp. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "tests/device/shim/cuda_runtime.h"
#include "tests/device/shim/memory.h"
#include "tests/device/shim/shim.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define PAGE    ((size_t)4096)
#define SPACE   ((size_t)1 << 40) /* addresses; each is used once, so that freed memory faults */
#define CANARY  0xa5
#define VERSION 13000
#define FREELY  ((size_t)48 << 10) /* shared memory that no kernel has to ask for */

struct shim_faults shim_faults;
size_t shim_memory = (size_t)256 << 20, shim_block_shared = (size_t)227 << 10;
int shim_capability = 90;

namespace
{
struct block {
    char *pages;
    size_t size, bytes; /* of the mapping, of the allocation */
};
std::map<char *, block> blocks;             /* by first byte */
std::map<const void *, size_t> shared_most; /* of kernels that asked for more than 48 KiB */
std::map<std::string, std::set<const void *>> launched;
const char *failed;
char *space, *unused;
size_t allocated;
int unlocked;
cudaError_t last, lost;
int process;              /* that has called the runtime */
thread_local int current; /* device */
} // namespace

struct shim_counts shim_totals;

void shim_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("device shim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

struct shim_counts shim_counts(void)
{
    shim_totals.live =
        (int64_t)blocks.size() + shim_graphs_alive() + shim_streams_alive() + shim_plans_alive();
    shim_totals.failed = failed;
    shim_totals.busy_streams = shim_busiest();
    return shim_totals;
}

void shim_reset_peaks(void)
{
    shim_totals.peak = (int64_t)allocated;
    shim_reset_busiest();
}

void shim_count_copy(enum cudaMemcpyKind kind, size_t bytes)
{
    shim_totals.to_device += kind == cudaMemcpyHostToDevice ? (int64_t)bytes : 0;
    shim_totals.to_host += kind == cudaMemcpyDeviceToHost ? (int64_t)bytes : 0;
}

static void protect(int protection)
{
    for (auto &entry : blocks)
        if (mprotect(entry.second.pages, entry.second.size, protection))
            shim_die("mprotect: %s", strerror(errno));
}

void shim_unlock(void)
{
    if (unlocked++ == 0)
        protect(PROT_READ | PROT_WRITE);
}

void shim_lock(void)
{
    if (--unlocked == 0)
        protect(PROT_NONE);
}

int shim_is_device(const void *p, size_t bytes)
{
    char *at = static_cast<char *>(const_cast<void *>(p));
    auto next = blocks.upper_bound(at);
    if (next == blocks.begin())
        return 0;
    --next;
    return at + bytes <= next->first + next->second.bytes;
}

/* Returns 1 for heap, stack or program. Two ints side by side, or an int and the padding behind it,
 * look like a pointer too: not when the lower one is below 2^20, or the upper one below 256. */
int shim_is_mapped_host(const void *p)
{
    const uintptr_t at = (uintptr_t)p;
    unsigned char there;
    if (at >> 40 == 0 || (uint32_t)at < 1u << 20 || at % 4 || at >> 47 ||
        (at >= (uintptr_t)space && at < (uintptr_t)space + SPACE))
        return 0;
    return mincore(reinterpret_cast<void *>(at & ~(PAGE - 1)), 1, &there) == 0;
}

/* A pointer parameter must be NULL or device memory; a struct's words must not be host addresses.
 */
void shim_check_argument(const char *kernel, const void *bytes, size_t size)
{
    for (size_t at = 0; at + sizeof(void *) <= size; at += sizeof(void *)) {
        void *p;
        memcpy(&p, static_cast<const char *>(bytes) + at, sizeof p);
        if (shim_is_mapped_host(p))
            shim_die("%s is launched with the host address %p", kernel, p);
        if (shim_is_device(p, 1))
            shim_name_memory(p);
    }
}

int shim_may_launch(const char *name, const void *kernel, cudaStream_t stream, dim3 grid,
                    dim3 block, size_t shared)
{
    const size_t threads = (size_t)block.x * block.y * block.z;
    if (current)
        shim_die("%s: launched on device %d, its stream belongs to device 0", name, current);
    const auto asked = shared_most.find(kernel);
    if (threads == 0 || threads > 1024 || threads % 32 || block.z > 64)
        shim_die("%s: blocks of %zu threads", name, threads);
    if (shared > (asked == shared_most.end() ? FREELY : asked->second))
        shim_die("%s: %zu bytes of shared memory were not asked for", name, shared);
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        shim_die("%s: a grid of %u x %u x %u blocks", name, grid.x, grid.y, grid.z);
    const int loads = launched[name].insert(kernel).second;
    if (shim_recording(stream)) {
        if (loads && shim_faults.lazy) {
            launched[name].erase(kernel);
            shim_forbid();
            return 0;
        }
        return shim_may_record();
    }
    shim_totals.launches++;
    if (lost) {
        last = lost;
        return 0;
    }
    if (shim_faults.launch > 0 && --shim_faults.launch == 0) {
        last = cudaErrorInvalidConfiguration;
        return 0;
    }
    return 1;
}

int shim_variants_of(const char *kernel)
{
    return (int)launched[kernel].size();
}

cudaError_t shim_note(cudaError_t code)
{
    if (code)
        last = code;
    return code;
}

void shim_new_process(void)
{
    process = 0;
}

/* A child of fork has the memory of its parent, but not its driver. */
static int is_forked(void)
{
    process = process ? process : getpid();
    return process != getpid();
}

cudaError_t shim_enter(const char *call)
{
    if (is_forked())
        return shim_note(cudaErrorInitializationError);
    if (lost || shim_faults.call <= 0 || --shim_faults.call > 0)
        return lost ? shim_note(lost) : cudaSuccess;
    failed = call;
    if (shim_faults.sticky)
        lost = cudaErrorIllegalAddress;
    const cudaError_t code =
        shim_faults.code ? static_cast<cudaError_t>(shim_faults.code) : cudaErrorUnknown;
    return shim_note(lost ? lost : code);
}

cudaError_t shim_lost(void)
{
    return lost;
}

/* As much as there is, when it was asked for. */
cudaError_t shim_allow_shared(const void *kernel, int bytes)
{
    const cudaError_t code = shim_enter("cudaFuncSetAttribute");
    if (code)
        return code;
    if (bytes < 0 || (size_t)bytes > shim_block_shared)
        return shim_note(cudaErrorInvalidValue);
    shared_most[kernel] = (size_t)bytes > FREELY ? (size_t)bytes : FREELY;
    return cudaSuccess;
}

cudaError_t shim_code_of(struct cudaFuncAttributes *out)
{
    *out = cudaFuncAttributes{shim_capability};
    const cudaError_t code = shim_enter("cudaFuncGetAttributes");
    return code                  ? code
           : shim_faults.no_code ? shim_note(cudaErrorNoKernelImageForDevice)
                                 : cudaSuccess;
}

void shim_lose(void)
{
    lost = cudaErrorDevicesUnavailable;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = last;
    last = cudaSuccess;
    return code;
}

const char *cudaGetErrorName(cudaError_t code)
{
    return code ? "cudaErrorOfTheShim" : "cudaSuccess";
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorInvalidConfiguration ? "invalid configuration argument"
           : code == cudaErrorDevicesUnavailable
               ? "CUDA-capable device(s) is/are busy or unavailable"
           : code == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
           : code == cudaErrorNoKernelImageForDevice
               ? "no kernel image is available for execution on the device"
               : "an error of the emulator";
}

cudaError_t cudaDriverGetVersion(int *version)
{
    last = lost = cudaSuccess; /* a back end is opened: another process, as it were */
    *version = shim_faults.no_driver ? 0 : shim_faults.old_driver ? 12040 : VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = shim_faults.no_device ? 0 : 1;
    return shim_faults.no_device ? shim_note(cudaErrorNoDevice) : shim_enter("cudaGetDeviceCount");
}

/* A line of $SHIM_PROFILER, if it is set: which call, and the launches before it. */
static cudaError_t note_profiler(const char *call)
{
    const char *const path = getenv("SHIM_PROFILER");
    FILE *const f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s %lld\n", call, (long long)shim_totals.launches);
        fclose(f);
    }
    return cudaSuccess;
}

cudaError_t cudaProfilerStart(void)
{
    return note_profiler("start");
}

cudaError_t cudaProfilerStop(void)
{
    return note_profiler("stop");
}

/* $SHIM_EXCLUSIVE, if it is set: a file that the process which has the device keeps locked. */
static int exclusive = -1;

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return shim_enter("cudaGetDevice");
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *p)
{
    const int device = shim_is_device(p, 1);
    *out = cudaPointerAttributes{device              ? cudaMemoryTypeDevice
                                 : shim_is_pinned(p) ? cudaMemoryTypeHost
                                                     : cudaMemoryTypeUnregistered,
                                 0};
    return shim_enter("cudaPointerGetAttributes");
}

cudaError_t cudaSetDevice(int device)
{
    const char *const path = getenv("SHIM_EXCLUSIVE");
    const cudaError_t code = shim_enter("cudaSetDevice");
    if (!code)
        current = device;
    if (code || !path || exclusive >= 0)
        return code;
    exclusive = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (!flock(exclusive, LOCK_EX | LOCK_NB))
        return cudaSuccess;
    close(exclusive);
    exclusive = -1;
    return shim_note(cudaErrorDevicesUnavailable);
}

cudaError_t cudaDeviceReset(void)
{
    if (shim_counts().live)
        shim_die("the device is reset, which %lld objects need", (long long)shim_totals.live);
    if (exclusive >= 0)
        close(exclusive);
    exclusive = -1;
    return shim_enter("cudaDeviceReset");
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int)
{
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "host emulator");
    out->totalGlobalMem = shim_memory;
    out->sharedMemPerBlockOptin = shim_block_shared;
    out->major = shim_capability / 10;
    out->minor = shim_capability % 10;
    out->multiProcessorCount = 1;
    out->l2CacheSize = 1 << 20;
    return shim_enter("cudaGetDeviceProperties");
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = shim_memory;
    *free_bytes = allocated < shim_memory ? shim_memory - allocated : 0;
    return shim_enter("cudaMemGetInfo");
}

/* The end is 16-byte aligned and next to a page that is never mapped. */
cudaError_t cudaMalloc(void **out, size_t bytes)
{
    shim_totals.allocations++;
    const cudaError_t code = shim_enter("cudaMalloc");
    if (code || shim_forbid())
        return code ? code : last;
    if ((shim_faults.allocation > 0 && --shim_faults.allocation == 0) ||
        bytes > shim_memory - allocated)
        return shim_note(cudaErrorMemoryAllocation);
    if (!space) {
        space = static_cast<char *>(mmap(reinterpret_cast<void *>(0x200000000000), SPACE, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (space == MAP_FAILED)
            shim_die("no room for device addresses: %s", strerror(errno));
        unused = space + PAGE;
    }
    const size_t padded = (bytes + 15) / 16 * 16, size = (padded + PAGE - 1) / PAGE * PAGE;
    char *pages = unused, *first = pages + size - padded;
    unused += size + PAGE;
    if (mprotect(pages, size, PROT_READ | PROT_WRITE))
        shim_die("no memory for %zu bytes: %s", bytes, strerror(errno));
    memset(pages, CANARY, size);
    memset(first, 0xff, bytes); /* NaN */
    POISON(pages, size);
    UNPOISON(first, bytes);
    blocks[first] = block{pages, size, bytes};
    allocated += bytes;
    shim_totals.peak =
        shim_totals.peak > (int64_t)allocated ? shim_totals.peak : (int64_t)allocated;
    if (!unlocked && mprotect(pages, size, PROT_NONE))
        shim_die("mprotect: %s", strerror(errno));
    *out = first;
    return cudaSuccess;
}

static int intact(const block &b)
{
    const size_t front = b.size - (b.bytes + 15) / 16 * 16;
    UNPOISON(b.pages, b.size);
    for (size_t i = 0; i < b.size; i++)
        if ((i < front || i >= front + b.bytes) && (unsigned char)b.pages[i] != CANARY)
            return 0;
    return 1;
}

cudaError_t cudaFree(void *p)
{
    if (!p || shim_forbid())
        return p ? last : cudaSuccess;
    auto entry = blocks.find(static_cast<char *>(p));
    if (entry == blocks.end())
        shim_die("cudaFree of %p, which was not allocated", p);
    const block b = entry->second;
    shim_drain(); /* as the driver does before it frees */
    shim_unlock();
    if (!intact(b))
        shim_die("something wrote around an allocation of %zu bytes", b.bytes);
    blocks.erase(entry);
    shim_lock();
    /* The addresses stay, without memory. */
    if (mmap(b.pages, b.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        shim_die("mmap: %s", strerror(errno));
    allocated -= b.bytes;
    return shim_enter("cudaFree");
}
