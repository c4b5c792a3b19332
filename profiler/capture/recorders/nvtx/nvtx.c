/* The NVTX recorder: each shared object that uses NVTX asks once for its functions, here. A tool
 * that was to be injected before us (TOMOPROF_CAPTURE_NVTX_CHAIN) fills the tables first; what it
 * put there is called after ours has recorded, and its handles are the ones that the target sees.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/nvtx/nvtx.h"

static void *chain_find(const char *symbol)
{
    static void *library;
    static int
        searched; /* one target thread at a time initialises NVTX; a second dlopen is harmless */
    const char *path = getenv("TOMOPROF_CAPTURE_NVTX_CHAIN");
    if (!searched && path && *path)
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    searched = 1;
    return library ? dlsym(library, symbol) : NULL;
}

static int chain_initialise(nvtx_get_table *get)
{
    int (*initialize)(nvtx_get_table *);
    void *found = chain_find("InitializeInjectionNvtx2");
    memcpy(&initialize, &found, sizeof found);
    return found ? initialize(get) : 0;
}

/* Every slot: before the earlier tool, to see which ones it filled, and after it. */
static void nvtx_attach_table(const struct nvtx_callbacks *callbacks, nvtx_get_table *get,
                              int recording)
{
    nvtx_function *before[NVTX_MODULES - NVTX_CORE][NVTX_SLOTS] = {{0}},
                                         ***tables[NVTX_MODULES] = {0};
    unsigned slots[NVTX_MODULES] = {0};
    for (int m = NVTX_CORE; m < NVTX_MODULES; m++) {
        if (!callbacks->table(m, &tables[m], &slots[m]))
            tables[m] = NULL;
        for (unsigned i = 0; tables[m] && i < slots[m] && i < NVTX_SLOTS; i++)
            before[m - NVTX_CORE][i] = tables[m][i] ? *tables[m][i] : NULL;
    }
    int previous = chain_initialise(get);
    for (size_t i = 0; recording && i < nvtx_row_count; i++) {
        const struct nvtx_row *r = nvtx_rows + i;
        nvtx_function **slot =
            tables[r->module] && r->slot < slots[r->module] ? tables[r->module][r->slot] : NULL;
        if (!slot)
            continue;
        if (previous && *slot != before[r->module - NVTX_CORE][r->slot] && *slot != r->ours)
            nvtx_previous[r->module][r->slot] = *slot;
        *slot = r->ours;
    }
}

int nvtx_initialize(nvtx_get_table *get)
{
    int saved = errno, recording = capture_is_on() && capture.config.modes & CAPTURE_NVTX;
    const struct nvtx_callbacks *callbacks = get ? get(NVTX_CALLBACKS) : NULL;
    int known = callbacks && callbacks->bytes >= sizeof *callbacks && callbacks->table;
    int result = recording && known;
    if (known)
        nvtx_attach_table(callbacks, get, recording);
    else if (get)
        result = chain_initialise(get);
    errno = saved;
    return result || chain_find("InitializeInjectionNvtx2");
}

/* Extensions: the earlier tool keeps them to itself where it knows them; of the payload extension
 * its ranges and marks are recorded, without their payloads. */
int nvtx_initialize_extension(struct nvtx_extension *module)
{
    int (*initialize)(struct nvtx_extension *);
    void *found = chain_find("InitializeInjectionNvtxExtension");
    memcpy(&initialize, &found, sizeof found);
    if (!module || (found && initialize(module)))
        return module != NULL;
    if (!capture_is_on() || !(capture.config.modes & CAPTURE_NVTX))
        return 0;
    if (module->module != NVTX_EXTENSION_PAYLOAD || !module->count)
        return 1;
    for (size_t i = 0; i < nvtx_extension_row_count; i++)
        if (nvtx_extension_rows[i].slot < module->segments[0].slots)
            memcpy(&module->segments[0].functions[nvtx_extension_rows[i].slot],
                   &nvtx_extension_rows[i].ours, sizeof(nvtx_function *));
    return 1;
}

const struct recorder nvtx_recorder = {.name = "nvtx", .modes = CAPTURE_NVTX};
