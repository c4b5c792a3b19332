/* The pretended CUPTI's activity buffers: pieces of work become records in the client's buffers. */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include "gpu.h"
#include "profiler/capture/recorders/cuda/cupti_api.h"

extern cupti_request *store_request;
extern cupti_complete *store_complete;
extern uint64_t (*store_clock)(void);
extern uint8_t store_enabled[64]; /* by kind */
extern uint8_t store_hw_trace;    /* Blackwell's: without latency */
extern uint8_t store_latency;     /* kernels say when they were queued and submitted */

long store_option(const char *key, long otherwise);
uint64_t store_now(void);
void store_activity(const struct fake_activity *a);
size_t store_length(uint32_t kind); /* of a record */
size_t store_dropped(void);         /* since the last time that this was asked */
void store_flush(void);
int store_pending(void); /* records wait in a buffer */

#endif
