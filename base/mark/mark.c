/* Opens the NVTX domain "tomoprof" and forwards marks to it; without NVTX headers marks do nothing.
 */
#include "base/mark/mark.h"

#ifdef TP_HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

/* Returns the one domain of the whole program, made at the first mark. Two threads racing here get
 * the same handle from the tool, so a plain atomic store is enough. */
static nvtxDomainHandle_t mark_domain(void)
{
    static nvtxDomainHandle_t handle;
    nvtxDomainHandle_t seen = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
    if (!seen) {
        seen = nvtxDomainCreateA("tomoprof");
        __atomic_store_n(&handle, seen, __ATOMIC_RELEASE);
    }
    return seen;
}

void mark_push(const char *name, uint64_t payload)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.payload.ullValue = payload;
    nvtxDomainRangePushEx(mark_domain(), &a);
}

void mark_pop(void)
{
    nvtxDomainRangePop(mark_domain());
}

#else

void mark_push(const char *name, uint64_t payload)
{
    (void)name;
    (void)payload;
}

void mark_pop(void)
{
}

#endif
