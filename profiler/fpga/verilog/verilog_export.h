/* The Verilog cores, for an FPGA engineer to start from: streaming median of 3 x 3 x 3, flat field
 * and logarithm. Their first lines say what they take and give. */
#ifndef TP_FPGA_VERILOG_VERILOG_EXPORT_H
#define TP_FPGA_VERILOG_VERILOG_EXPORT_H

#include "base/err.h"

/* Writes them into `folder`, which is made where it is missing. */
enum err verilog_export_write(const char *folder);

#endif
