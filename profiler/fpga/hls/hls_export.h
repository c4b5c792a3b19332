/* A folder for an FPGA engineer to start from: C++ kernel with the widths of the sweep, test bench
 * and golden vectors. Its templates are the files of profiler/fpga/hls/templates, embedded by the
 * build. */
#ifndef TP_FPGA_HLS_HLS_EXPORT_H
#define TP_FPGA_HLS_HLS_EXPORT_H

#include "profiler/fpga/width/width_case.h"

/* Writes `folder`/kernel.cpp, kernel.h, bench.cpp, Makefile, widths.h, golden.txt and fallback/,
 * with the bits of width_needed and vectors from `c`. ERR_USAGE for a primitive without template.
 * `make check` in the folder compiles it and compares. */
enum err hls_export_write(const char *primitive, const struct width_case *c, const char *folder);

#endif
