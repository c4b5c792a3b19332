/* NVTX v3 as an injection library sees it: facts of its interface, so that the build needs no
 * headers of it (tests/fakes/nvtx_app.c is built with them where they are). */
#ifndef TP_CAPTURE_RECORDERS_NVTX_NVTX_H
#define TP_CAPTURE_RECORDERS_NVTX_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "profiler/capture/core/capture.h"

enum nvtx_module { NVTX_CORE = 1, NVTX_CUDA, NVTX_OPENCL, NVTX_CUDART, NVTX_CORE2, NVTX_SYNC };
enum { NVTX_MODULES = 7, NVTX_SLOTS = 17, NVTX_CALLBACKS = 1 };
enum { NVTX_ASCII = 1, NVTX_UNICODE = 2, NVTX_REGISTERED = 3 }; /* message_type */
#define NVTX_NO_TRACKING (-2)                                   /* a push's level is not told */

typedef void nvtx_function(void);
typedef const void *nvtx_get_table(uint32_t id);
struct nvtx_callbacks {
    size_t bytes;
    int (*table)(int module, nvtx_function ****out, unsigned *slots); /* slots point to pointers */
};

union nvtx_message {
    const char *ascii;
    const wchar_t *wide;
    const void *handle;
};
struct nvtx_event { /* 48 bytes in every version so far */
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload; /* bits; 32-bit types in the lower half */
    int32_t message_type;
    union nvtx_message message;
};
struct nvtx_sync {
    uint16_t version, bytes;
    int32_t message_type;
    union nvtx_message message;
};
struct nvtx_segment {
    size_t id, slots;
    intptr_t *functions;
};
struct nvtx_extension {
    uint16_t version, bytes, module, compatible;
    size_t count;
    struct nvtx_segment *segments;
};
enum { NVTX_EXTENSION_PAYLOAD = 2 };

/* Hands our functions to NVTX, and what an earlier tool put in their place to ours; 1: it may use
 * this library. */
int nvtx_initialize(nvtx_get_table *get);
int nvtx_initialize_extension(struct nvtx_extension *module);

/* A function of a table; `previous` is that of the tool that was there before us. */
struct nvtx_row {
    uint8_t module, slot;
    nvtx_function *ours;
};
extern const struct nvtx_row nvtx_rows[];
extern const size_t nvtx_row_count;
extern const struct nvtx_row nvtx_extension_rows[]; /* payload extension, slot numbers */
extern const size_t nvtx_extension_row_count;
extern nvtx_function *nvtx_previous[NVTX_MODULES][NVTX_SLOTS];

/* text.c: texts as STRING ids, and what handles stand for: a handle without an entry is the id
 * of its text itself. */
struct nvtx_handle {
    const void *handle;
    uint64_t text, domain;
};
uint64_t nvtx_ascii(struct capture_thread *t, const char *s);
uint64_t nvtx_wide(struct capture_thread *t, const wchar_t *s);
uint64_t nvtx_message_text(struct capture_thread *t, int type, union nvtx_message m);
const void *nvtx_keep(const void *handle, uint64_t text, uint64_t domain); /* returns `handle` */
struct nvtx_handle *nvtx_handle(const void *handle);
uint64_t nvtx_text_of(const void *handle);

#endif
