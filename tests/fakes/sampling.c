/* PC sampling of the pretended CUPTI. FAKE_SAMPLES names a file of "FUNCTION OFFSET REASON N": each
 * launch of FUNCTION is sampled N times at OFFSET for the reason of that number below. As in the
 * real one, the data of the last launch stay in the hardware until sampling ends, an unread call
 * keeps the rest, structures of another size are refused, and so are calls in another order. */
#include "sampling.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/recorders/cuda/cupti_samples.h"

#define FAKE_FAILS(name)                                                                           \
    do {                                                                                           \
        int asked = (int)store_option(name, 0);                                                    \
        if (asked)                                                                                 \
            return asked;                                                                          \
    } while (0)
#define FAKE_EXPORT(name, ...)                                                                     \
    FAKE_API int name(__VA_ARGS__);                                                                \
    FAKE_API int name(__VA_ARGS__)

enum { ROWS = 256, INVALID_PARAMETER = 1, INVALID_OPERATION = 7 };
static const char *const reasons[] = {"long_scoreboard", "short_scoreboard", "lg_throttle",
                                      "mio_throttle",    "selected",         "wait",
                                      "barrier",         "a_new_reason"};
enum {
    KNOWN = sizeof reasons / sizeof *reasons,
    ALL = 2 * KNOWN,
    FIRST = 500 /* numbers of CUPTI's own */
};

static struct sampled_row {
    char function[64];
    unsigned long long offset;
    unsigned reason, each;   /* of a launch */
    unsigned waiting, ready; /* in the hardware; to be fetched */
    uint64_t crc;
} rows[ROWS];
static size_t row_count;
static pthread_mutex_t sampling_lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_crc *crc_of;
static uint64_t crc_now = 0x1234; /* of all device code, when nobody gives another */
static struct cupti_pc_data *last;
static int enabled, configured, wanted[ALL];

static void sampling_read(void)
{
    const char *path = getenv("FAKE_SAMPLES");
    FILE *f = path && !row_count ? fopen(path, "r") : NULL;
    struct sampled_row r;
    memset(&r, 0, sizeof r);
    while (f && row_count < ROWS &&
           fscanf(f, "%63s %llu %u %u", r.function, &r.offset, &r.reason, &r.each) == 4)
        rows[row_count++] = r;
    if (f)
        fclose(f);
}

void sampling_module(const void *cubin, size_t bytes)
{
    if (crc_of)
        crc_of(cubin, bytes, &crc_now);
}

void sampling_launch(const char *function)
{
    pthread_mutex_lock(&sampling_lock);
    for (size_t i = 0; enabled && i < row_count; i++) {
        rows[i].ready += rows[i].waiting;
        rows[i].waiting = strcmp(rows[i].function, function) ? 0 : rows[i].each;
        rows[i].crc = crc_now;
    }
    pthread_mutex_unlock(&sampling_lock);
}

/* Fills as many instructions as there is room for. */
static void sampling_fill(struct cupti_pc_data *d)
{
    d->count = d->remaining = 0;
    d->samples = d->others = 0;
    d->dropped = (uint64_t)(last == d ? store_option("sampling_dropped", 0) : 0);
    d->full = 0;
    const size_t room = last == d ? d->room : (size_t)store_option("sampling_room", (long)d->room);
    for (size_t i = 0; i < row_count; i++) {
        struct sampled_row *r = &rows[i];
        if (!r->ready || !wanted[r->reason])
            continue;
        size_t at = 0;
        while (at < d->count &&
               (d->pc[at].offset != r->offset || strcmp(d->pc[at].function, r->function)))
            at++;
        if (at == room || at == d->room) {
            d->remaining++;
            continue;
        }
        struct cupti_pc *pc = &d->pc[at];
        if (at == d->count) {
            d->count++;
            pc->crc = r->crc;
            pc->offset = r->offset;
            pc->function = r->function;
            pc->stalls = 0;
        }
        pc->stall[pc->stalls++] = (struct cupti_stall){FIRST + r->reason, r->ready};
        d->samples += r->ready;
        r->ready = 0;
    }
}

FAKE_EXPORT(cuptiRegisterComputeCrcCallback, cupti_crc *f)
{
    FAKE_FAILS("cuptiRegisterComputeCrcCallback");
    crc_of = f;
    return f ? 0 : INVALID_PARAMETER;
}

FAKE_EXPORT(cuptiPCSamplingEnable, struct cupti_sampling_call *p)
{
    FAKE_FAILS("cuptiPCSamplingEnable");
    if (p->bytes != sizeof *p || p->unused || !p->context)
        return INVALID_PARAMETER;
    sampling_read();
    enabled = 1;
    return 0;
}

FAKE_EXPORT(cuptiPCSamplingGetNumStallReasons, struct cupti_sampling_count *p)
{
    FAKE_FAILS("cuptiPCSamplingGetNumStallReasons");
    if (p->bytes != sizeof *p || p->unused || !p->context || !enabled)
        return INVALID_PARAMETER;
    *p->count = ALL;
    return 0;
}

/* Each reason, and the part of its samples in which no warp could go on. */
FAKE_EXPORT(cuptiPCSamplingGetStallReasons, struct cupti_sampling_reasons *p)
{
    FAKE_FAILS("cuptiPCSamplingGetStallReasons");
    if (p->bytes != sizeof *p || p->unused || p->count != ALL)
        return INVALID_PARAMETER;
    for (uint32_t i = 0; i < ALL; i++) {
        p->index[i] = FIRST + i;
        snprintf(p->name[i], CUPTI_REASON_BYTES, "smsp__pcsamp_warps_issue_stalled_%s%s",
                 reasons[i % KNOWN], i < KNOWN ? "" : "_not_issued");
    }
    return 0;
}

FAKE_EXPORT(cuptiPCSamplingSetConfigurationAttribute, struct cupti_sampling_configure *p)
{
    FAKE_FAILS("cuptiPCSamplingSetConfigurationAttribute");
    if (p->bytes != sizeof *p || p->unused || !p->context)
        return INVALID_PARAMETER;
    if (!enabled)
        return INVALID_OPERATION;
    for (size_t i = 0; i < p->count; i++) {
        const struct cupti_sampling_attribute *a = &p->attribute[i];
        if (a->type == CUPTI_SAMPLING_MODE && a->number != CUPTI_CONTINUOUS)
            return INVALID_OPERATION; /* it would run kernels one after the other */
        if (a->type == CUPTI_SAMPLING_HARDWARE && a->size > 64u << 20)
            return INVALID_OPERATION; /* too much of a small card's memory */
        for (size_t k = 0; a->type == CUPTI_SAMPLING_REASONS && k < a->reasons.count; k++)
            wanted[a->reasons.index[k] - FIRST] = 1;
        if (a->type == CUPTI_SAMPLING_BUFFER)
            last = a->buffer;
    }
    configured = 1;
    return 0;
}

FAKE_EXPORT(cuptiPCSamplingGetData, struct cupti_sampling_get *p)
{
    FAKE_FAILS("cuptiPCSamplingGetData");
    struct cupti_pc_data *d = p->data;
    if (p->bytes != sizeof *p || p->unused || d->bytes != sizeof *d ||
        d->pc->bytes != sizeof *d->pc)
        return INVALID_PARAMETER;
    if (!enabled || !configured)
        return INVALID_OPERATION;
    pthread_mutex_lock(&sampling_lock);
    sampling_fill(d);
    pthread_mutex_unlock(&sampling_lock);
    return 0;
}

FAKE_EXPORT(cuptiPCSamplingDisable, struct cupti_sampling_call *p)
{
    FAKE_FAILS("cuptiPCSamplingDisable");
    if (p->bytes != sizeof *p || !enabled)
        return INVALID_OPERATION;
    sampling_launch("");
    pthread_mutex_lock(&sampling_lock);
    if (last)
        sampling_fill(last);
    enabled = 0;
    pthread_mutex_unlock(&sampling_lock);
    return 0;
}
