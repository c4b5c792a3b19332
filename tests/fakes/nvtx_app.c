/* A program with NVTX ranges of every kind, built with NVIDIA's headers. Texts are overwritten or
 * freed right after each call. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static const char *passing(const char *text)
{
    static char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    return copy;
}

static void forget(void)
{
    memset((char *)(size_t)passing(""), 'x', 255);
}

static nvtxEventAttributes_t event(const char *text)
{
    nvtxEventAttributes_t e = {0};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = passing(text);
    return e;
}

static void default_domain(void)
{
    nvtxRangePushA(passing("outer")), forget();
    nvtxRangePushW(L"wide \u00e9\u4e2d\U0001f600");
    nvtxRangePop();
    nvtxRangePop();
    nvtxMarkA(passing("mark")), forget();
    nvtxRangeId_t id = nvtxRangeStartA(passing("span")), other = nvtxRangeStartW(L"other span");
    nvtxRangeEnd(id);
    nvtxRangeEnd(other);
    nvtxNameCategoryA(7, "copies");
    nvtxNameOsThreadA((uint32_t)getpid(), "master");
    nvtxNameCudaDeviceA(0, "left card");
}

/* The pretended runtime's, where it is loaded: its headers and NVIDIA's exclude each other. */
static void streams(void)
{
    int (*create)(void **);
    void *symbol = dlsym(RTLD_DEFAULT, "cudaStreamCreate"), *stream = NULL;
    memcpy(&create, &symbol, sizeof symbol);
    if (symbol && !create(&stream))
        nvtxNameCudaStreamA(stream, "left stream");
}

static void domains(void)
{
    nvtxDomainHandle_t d = nvtxDomainCreateA(passing("solver"));
    forget();
    nvtxStringHandle_t step = nvtxDomainRegisterStringA(d, passing("step"));
    forget();
    nvtxEventAttributes_t e = event("project");
    e.category = 7;
    e.colorType = NVTX_COLOR_ARGB;
    e.color = 0xff123456;
    e.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    e.payload.dValue = 0.25;
    nvtxDomainRangePushEx(d, &e), forget();
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = step;
    e.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    e.payload.iValue = -5;
    for (int i = 0; i < 3; i++) {
        nvtxDomainRangePushEx(d, &e);
        nvtxDomainRangePop(d);
    }
    nvtxDomainRangePop(d);
    e = event("moment");
    e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    e.payload.ullValue = 1ull << 63;
    nvtxDomainMarkEx(d, &e);
    e = event("asynchronous");
    nvtxRangeId_t id = nvtxDomainRangeStartEx(d, &e);
    nvtxDomainRangeEnd(d, id);
    nvtxDomainNameCategoryA(d, 9, "kernels");
    nvtxDomainDestroy(d);
}

static void locks(void)
{
    nvtxDomainHandle_t d = nvtxDomainCreateA("locks");
    nvtxSyncUserAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "queue";
    nvtxSyncUser_t s = nvtxDomainSyncUserCreate(d, &a);
    nvtxDomainSyncUserAcquireStart(s);
    nvtxDomainSyncUserAcquireSuccess(s);
    nvtxDomainSyncUserReleasing(s);
    nvtxDomainSyncUserDestroy(s);
}

static void payloads(void)
{
    nvtxDomainHandle_t d = nvtxDomainCreateA("payloads");
    nvtxRangePushPayload(d, NULL, 0);
    nvtxRangePopPayload(d, NULL, 0);
}

static void *thread(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        nvtxRangePushA("turn");
        nvtxRangePop();
    }
    return unused;
}

int main(void)
{
    pthread_t id[4];
    default_domain();
    streams();
    domains();
    locks();
    payloads();
    for (int i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
    return 0;
}
