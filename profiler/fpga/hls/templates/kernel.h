// The kernel's entry and its types, for kernel.cpp and bench.cpp; widths.h has the numbers.
#ifndef KERNEL_H
#define KERNEL_H

#include <ap_fixed.h>
#include <hls_stream.h>

#include "widths.h"

#ifdef FOOTPRINTS
typedef ap_fixed<28, 4, AP_RND_CONV, AP_SAT> share_t; // of a width or a weight

// Of a pixel in a view: where it falls, how wide, the path's length in it, and of a cone beam the
// shares of the rows under it.
struct footprint {
    coordinate_t position;
    share_t width, height;
#if UNDER
    share_t rows[UNDER];
#endif
};

// A footprint a clock once the pipeline is full.
void kernel(hls::stream<sample_t> &in, hls::stream<footprint> &footprints_in,
            hls::stream<result_t> &out);
void footprints(hls::stream<footprint> &out);
#else
// One sample in and one result out per clock once the pipeline is full.
void kernel(hls::stream<sample_t> &in, hls::stream<result_t> &out);
#endif

#endif
