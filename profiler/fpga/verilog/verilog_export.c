/* Writes the embedded Verilog cores and tells their paths. */
#include "base/file.h"
#include "base/log.h"
#include "profiler/fpga/embed/embedded.h"
#include "profiler/fpga/verilog/verilog_export.h"

enum err verilog_export_write(const char *folder)
{
    TRY(dir_make(folder));
    for (const struct embedded_file *f = verilog_cores; f->name; f++) {
        TRY(embedded_write(folder, f->name, f->text));
        log_info("%s/%s", folder, f->name);
    }
    return ERR_OK;
}
