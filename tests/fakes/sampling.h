/* The pretended CUPTI's samples inside kernels. */
#ifndef FAKE_SAMPLING_H
#define FAKE_SAMPLING_H

#include "store.h"

void sampling_module(const void *cubin, size_t bytes); /* loaded */
void sampling_launch(const char *function);

#endif
