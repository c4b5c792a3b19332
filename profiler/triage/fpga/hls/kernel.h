#ifndef KERNEL_H
#define KERNEL_H

#include <ap_fixed.h>
#include <hls_stream.h>

#include "widths.h"

/* One sample in and one result out per clock once the pipeline is full. */
void kernel(hls::stream<sample_t> &in, hls::stream<result_t> &out);

#endif
