/* Another tool that was to be injected into NVTX: logs what it is called with to NVTX_TOOL_LOG,
 * with handles of its own, and leaves the slots it does not know. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "profiler/capture/recorders/nvtx/nvtx.h"

static FILE *file(void)
{
    static FILE *f;
    const char *path = getenv("NVTX_TOOL_LOG");
    if (!f && path)
        f = fopen(path, "w");
    return f;
}
#define SAY(...) (file() ? (fprintf(file(), __VA_ARGS__), fputc('\n', file()), fflush(file())) : 0)

static int push_a(const char *text)
{
    SAY("push %s", text);
    return 11;
}

static int pop(void)
{
    SAY("pop");
    return 12;
}

static uint64_t start_a(const char *text)
{
    SAY("start %s", text);
    return 777;
}

static void end(uint64_t id)
{
    SAY("end %llu", (unsigned long long)id);
}

static int known[2]; /* addresses of these are its domain and its string */

static const void *domain(const char *text)
{
    SAY("domain %s", text);
    return &known[0];
}

static const void *text_handle(const void *d, const char *text)
{
    SAY("string %s in %s", text, d == &known[0] ? "its domain" : "a domain that it does not know");
    return &known[1];
}

static int domain_push(const void *d, const struct nvtx_event *e)
{
    SAY("%s in %s",
        e->message_type != NVTX_REGISTERED ? e->message.ascii
        : e->message.handle == &known[1]   ? "its string"
                                           : "a string that it does not know",
        d == &known[0] ? "its domain" : "a domain that it does not know");
    return 1;
}

FAKE_API int InitializeInjectionNvtx2(nvtx_get_table *get);
FAKE_API int InitializeInjectionNvtx2(nvtx_get_table *get)
{
    static const struct nvtx_row rows[] = {
        {NVTX_CORE, 9, (nvtx_function *)(void *)push_a},
        {NVTX_CORE, 11, (nvtx_function *)(void *)pop},
        {NVTX_CORE, 5, (nvtx_function *)(void *)start_a},
        {NVTX_CORE, 7, (nvtx_function *)(void *)end},
        {NVTX_CORE2, 12, (nvtx_function *)(void *)domain},
        {NVTX_CORE2, 10, (nvtx_function *)(void *)text_handle},
        {NVTX_CORE2, 4, (nvtx_function *)(void *)domain_push},
    };
    const struct nvtx_callbacks *callbacks = get(NVTX_CALLBACKS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nvtx_function ***table;
        unsigned slots;
        if (callbacks->table(rows[i].module, &table, &slots) && rows[i].slot < slots)
            *table[rows[i].slot] = rows[i].ours;
    }
    return 1;
}
