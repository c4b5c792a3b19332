/* Callbacks that are not API calls: modules with their cubins, graph nodes, contexts, CUPTI's own
 * troubles. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/cuda/call_state.h"

/* A cubin is saved for its line table alone: those of cuBLAS and its like have none and run to
 * hundreds of megabytes. */
#define CUBIN_LIMIT (64ull << 20)
#define CUBIN_TOTAL (256ull << 20)

static int has_lines(const unsigned char *elf, size_t bytes)
{
    Elf64_Ehdr h;
    if (bytes < sizeof h || memcmp(elf, ELFMAG, SELFMAG) != 0 || elf[EI_CLASS] != ELFCLASS64)
        return 0;
    memcpy(&h, elf, sizeof h);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > bytes ||
        h.e_shnum > (bytes - h.e_shoff) / sizeof(Elf64_Shdr) || h.e_shstrndx >= h.e_shnum)
        return 0;
    const unsigned char *sections = elf + h.e_shoff;
    Elf64_Shdr s, names;
    memcpy(&names, sections + h.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > bytes || names.sh_size > bytes - names.sh_offset)
        return 0;
    static const char wanted[] = ".debug_line";
    for (size_t i = 0; i < h.e_shnum; i++) {
        memcpy(&s, sections + i * sizeof s, sizeof s);
        if (s.sh_name < names.sh_size && names.sh_size - s.sh_name >= sizeof wanted &&
            !memcmp(elf + names.sh_offset + s.sh_name, wanted, sizeof wanted))
            return 1;
    }
    return 0;
}

static int cubin_write(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = syscall(SYS_write, fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return errno ? errno : EIO;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

/* 0, or errno. Other processes of the run may save the same one: each writes beside and renames. */
static int cubin_save(struct capture_thread *t, uint64_t hash, const void *bytes, size_t n)
{
    enum { ROOM = sizeof capture.config.folder + 64, BESIDE = ROOM + 64 };
    char *path = t->scratch, *beside = path + ROOM;
    snprintf(path, ROOM, "%s/cubin-%016llx.bin", capture.config.folder, (unsigned long long)hash);
    if (!access(path, F_OK))
        return 0;
    static uint64_t total; /* atomic */
    if (__atomic_add_fetch(&total, n, __ATOMIC_RELAXED) > CUBIN_TOTAL)
        return EFBIG;
    snprintf(beside, BESIDE, "%s/cubin-%016llx.bin.%d-%lx", capture.config.folder,
             (unsigned long long)hash, (int)getpid(), (unsigned long)(uintptr_t)path & 0xffffff);
    int fd = raw_open(beside, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return errno;
    int error = cubin_write(fd, bytes, n);
    if (syscall(SYS_close, fd) && !error)
        error = errno;
    if (!error && syscall(SYS_renameat, AT_FDCWD, beside, AT_FDCWD, path))
        error = errno;
    if (error)
        syscall(SYS_unlinkat, AT_FDCWD, beside, 0);
    return error;
}

void cuda_cubin(struct capture_thread *t, const struct cupti_module *module)
{
    if (!module->cubin || !module->bytes)
        return;
    const int lines = has_lines(module->cubin, module->bytes),
              large = lines && module->bytes > CUBIN_LIMIT;
    const uint64_t hash = lines && !large ? trace_hash(module->cubin, module->bytes, 0) : 0;
    const int error = large ? EFBIG : hash ? cubin_save(t, hash, module->cubin, module->bytes) : 0;
    if (error)
        capture_note(
            t, 1, "cuda.cubin",
            "device code of module %u (%zu bytes) could not be saved: %s; its kernels have no "
            "device lines",
            module->id, module->bytes,
            error == EFBIG ? "over the limit of 64 MiB, 256 MiB in all" : strerror(error));
    struct trace_cubin r = {.r.kind = TRACE_CUBIN,
                            .hash = hash,
                            .bytes = module->bytes,
                            .module = module->id,
                            .saved = lines && !error};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static void graph_node_record(struct capture_thread *t, const struct cupti_graph *g, int cloned,
                              const void *caller)
{
    struct trace_graph_node r = {.r.kind = TRACE_GRAPH_NODE, .cloned = (uint32_t)cloned};
    if (!cuda.cupti.node_id || cuda.cupti.node_id(g->node, &r.node))
        return;
    if (cloned && g->original_node)
        cuda.cupti.node_id(g->original_node, &r.original);
    if (cuda.cupti.graph_id)
        cuda.cupti.graph_id(g->graph, &r.graph);
    r.stack = cuda_call_stack();
    if (!r.stack)
        r.stack = capture_stack(t, NULL, caller);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

void cuda_resource(uint32_t id, const struct cupti_resource_data *data, const void *caller)
{
    static int exit_registered;
    uint64_t now = trace_now();
    if (id == CUPTI_MODULE_UNLOAD)
        __atomic_add_fetch(&cuda.unloads, 1, __ATOMIC_RELAXED);
    if (id == CUPTI_NODE_CREATED)
        cuda_call_captured();
    int entered;
    struct capture_thread *t = cuda_enter(&entered);
    if (!t)
        return;
    /* CUPTI takes it from here on alone. It costs kernels less, and has no latency timestamps. */
    if (id == CUPTI_CU_INIT_FINISHED && capture.config.hw_trace > 0)
        cuda_check(t, cuda.cupti.hw_trace ? cuda.cupti.hw_trace(1) : 11,
                   "cuptiActivityEnableHWTrace",
                   "kernels are timed as on other GPUs, and how long they were queued is unknown");
    /* CUPTI tells instructions apart until code is loaded where other code was. */
    if (id == CUPTI_MODULE_UNLOAD)
        cuda_samples_take(t);
    else if (id == CUPTI_CONTEXT_CREATED && data->context)
        cuda_samples_context(t, data->context);
    else if (id == CUPTI_CONTEXT_DESTROYED && data->context)
        cuda_samples_end(t, data->context);
    if (id == CUPTI_MODULE_LOADED && data->descriptor)
        cuda_cubin(t, data->descriptor);
    else if ((id == CUPTI_NODE_CREATED || id == CUPTI_NODE_CLONED) && data->descriptor)
        graph_node_record(t, data->descriptor, id == CUPTI_NODE_CLONED, caller);
    /* CUDA has registered its own handlers by now, which tear it down: ours, registered later,
     * runs earlier. */
    if ((id == CUPTI_CONTEXT_CREATED || id == CUPTI_CU_INIT_FINISHED) &&
        !__atomic_exchange_n(&exit_registered, 1, __ATOMIC_RELAXED))
        cuda_at_exit();
    cuda_leave(t, entered, now);
}

void cuda_state(uint32_t id, const struct cupti_state *state)
{
    static const char *const what[] = {"", "stopped for good", "reports an error", "warns"};
    int entered;
    struct capture_thread *t = cuda_enter(&entered);
    if (!t)
        return;
    capture_note(t, id == 1 ? 2 : 1, "cuda.state", "CUPTI %s: %d, %.400s", what[id < 4 ? id : 0],
                 state ? state->result : 0, state && state->message ? state->message : "");
    cuda_leave(t, entered, 0);
}
