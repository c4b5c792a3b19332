/* Files of the repository that the program holds, to write them where an engineer works. */
#ifndef TP_FPGA_EMBED_EMBEDDED_H
#define TP_FPGA_EMBED_EMBEDDED_H

#include "base/err.h"

struct embedded_file {
    const char *name, *text;
};

/* Made by the build with embed.cmake, each ended by a row of zeros. */
extern const struct embedded_file hls_templates[]; /* profiler/fpga/hls/templates */
extern const struct embedded_file verilog_cores[]; /* profiler/fpga/verilog/cores */

/* Writes `text` as `folder`/`name`; the folder exists. */
enum err embedded_write(const char *folder, const char *name, const char *text);

/* The Verilog cores, for an FPGA engineer to start from: streaming median of 3 x 3 x 3, flat field
 * and logarithm. Their first lines say what they take and give. */

/* Writes them into `folder`, which is made where it is missing. */
enum err verilog_export_write(const char *folder);

#endif
