/* Writes embedded files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "profiler/fpga/embed/embedded.h"

enum err embedded_write(const char *folder, const char *name, const char *text)
{
    struct outfile f = {0};
    char *path = NULL;
    FAIL_IF(asprintf(&path, "%s/%s", folder, name) < 0, ERR_MEMORY, "no memory left");
    enum err e = outfile_open(&f, path);
    if (!e)
        e = outfile_write(&f, text, strlen(text));
    if (!e)
        e = outfile_commit(&f);
    outfile_abort(&f);
    free(path);
    return e;
}

/* Writes the embedded Verilog cores and tells their paths. */

enum err verilog_export_write(const char *folder)
{
    TRY(dir_make(folder));
    for (const struct embedded_file *f = verilog_cores; f->name; f++) {
        TRY(embedded_write(folder, f->name, f->text));
        log_info("%s/%s", folder, f->name);
    }
    return ERR_OK;
}
