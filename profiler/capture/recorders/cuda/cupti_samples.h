/* CUPTI's PC sampling as NVIDIA's header declares it, 64-bit Linux, CUDA 12.0 to 13.x. Each call takes one
 * structure that begins with its size and a pointer that stays NULL. tests/fakes/abi.c compares
 * them with NVIDIA's header. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CUPTI_SAMPLES_H
#define TP_CAPTURE_RECORDERS_CUDA_CUPTI_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_PACKED __attribute__((packed, aligned(8)))

struct cupti_stall {
    uint32_t reason, samples;
} CUPTI_PACKED;
struct cupti_pc {
    size_t bytes;
    uint64_t crc, offset;
    uint32_t index, pad;
    char *function; /* of CUPTI, shared by the records of a function */
    size_t stalls;
    struct cupti_stall *stall; /* room for all reasons that are collected */
    uint32_t correlation;
} CUPTI_PACKED;
struct cupti_pc_data {
    size_t bytes, room;
    uint64_t samples, dropped;
    size_t count, remaining;
    uint64_t range;
    struct cupti_pc *pc;
    uint64_t others;
    uint8_t full;
} CUPTI_PACKED;

enum cupti_sampling {
    CUPTI_SAMPLING_REASONS = 2,
    CUPTI_SAMPLING_SCRATCH = 3,
    CUPTI_SAMPLING_HARDWARE = 4,
    CUPTI_SAMPLING_MODE = 5,
    CUPTI_SAMPLING_START_STOP = 6,
    CUPTI_SAMPLING_FORMAT = 7,
    CUPTI_SAMPLING_BUFFER = 8
};
enum { CUPTI_CONTINUOUS = 1, CUPTI_PARSED = 1 };

struct cupti_sampling_attribute {
    uint32_t type;
    int status;
    union {
        uint64_t data[3];
        uint32_t number;
        size_t size;
        struct {
            size_t count;
            uint32_t *index;
        } reasons;
        void *buffer;
    };
};
struct cupti_sampling_call { /* of enable and disable */
    size_t bytes;
    void *unused, *context;
};
struct cupti_sampling_configure {
    size_t bytes;
    void *unused, *context;
    size_t count;
    struct cupti_sampling_attribute *attribute;
};
struct cupti_sampling_get {
    size_t bytes;
    void *unused, *context, *data;
};
struct cupti_sampling_count {
    size_t bytes;
    void *unused, *context;
    size_t *count;
};
struct cupti_sampling_reasons {
    size_t bytes;
    void *unused, *context;
    size_t count;
    uint32_t *index;
    char **name; /* of CUPTI_REASON_BYTES each */
};
#define CUPTI_REASON_BYTES 128

typedef void cupti_crc(const void *cubin, size_t bytes, uint64_t *crc);

/* As CUPTI_CALLS: none of them is indispensable. */
#define CUPTI_SAMPLING_CALLS(X)                                                                    \
    X(sampling_enable, "cuptiPCSamplingEnable", 0, (struct cupti_sampling_call *))                 \
    X(sampling_disable, "cuptiPCSamplingDisable", 0, (struct cupti_sampling_call *))               \
    X(sampling_configure, "cuptiPCSamplingSetConfigurationAttribute", 0,                           \
      (struct cupti_sampling_configure *))                                                         \
    X(sampling_get, "cuptiPCSamplingGetData", 0, (struct cupti_sampling_get *))                    \
    X(sampling_count, "cuptiPCSamplingGetNumStallReasons", 0, (struct cupti_sampling_count *))     \
    X(sampling_reasons, "cuptiPCSamplingGetStallReasons", 0, (struct cupti_sampling_reasons *))    \
    X(sampling_crc, "cuptiRegisterComputeCrcCallback", 0, (cupti_crc *))

#endif
