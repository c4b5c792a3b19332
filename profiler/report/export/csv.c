/* Writes one row per source line (RFC 4180; unknown is empty). Times in s, memory in MB of 2^20
 * bytes. */
#include <math.h>

#include "base/page/markup.h"
#include "profiler/report/export/export.h"

static void put_real(FILE *out, double v)
{
    fputc(',', out);
    if (isfinite(v))
        fprintf(out, "%.17g", v);
}

static void put_int(FILE *out, int64_t v)
{
    fputc(',', out);
    if (v != MODEL_UNKNOWN)
        fprintf(out, "%lld", (long long)v);
}

/* Heads of the columns up to those of CPU time, in seconds or in samples. */
#define CSV_CPU(unit)                                                                              \
    "file,line,user,cpu_user_" unit ",cpu_sys_" unit ",cpu_wait_" unit ",cpu_python_" unit         \
    ",cpu_native_" unit ",cpu_incl_user_" unit ",cpu_incl_sys_" unit ","
enum { CPU_TIMES = 7 };

static void csv_write(const struct model *m, const struct export_options *o, FILE *out)
{
    (void)o;
    const int counted = model_counts_samples(m);
    fputs(counted ? CSV_CPU("samples") : CSV_CPU("s"), out);
    fputs("gpu_self_s,gpu_incl_s,launches,kernel_s,gpu_copy_s,h2d_bytes,d2h_bytes,alloc_mb,"
          "allocations,peak_mb,"
          "avg_mb,live_end_mb,host_copy_mb,text\r\n",
          out);
    for (int i = 0; i < m->files_count; i++) {
        const struct model_file *f = &m->files[i];
        for (int j = 0; j < f->lines_count; j++) {
            const struct model_line *l = &f->lines[j];
            csv_text(out, f->path);
            put_int(out, l->line);
            fprintf(out, ",%d", f->user);
            const double times[] = {l->cpu.user,     l->cpu.sys,    l->cpu.wait,
                                    l->cpu.python,   l->cpu.native, l->cpu_incl.user,
                                    l->cpu_incl.sys, l->gpu_self_s, l->gpu_incl_s};
            for (size_t k = 0; k < sizeof times / sizeof *times; k++)
                if (counted && k < CPU_TIMES && isfinite(times[k]))
                    put_int(out, llround(1e9 * times[k]));
                else
                    put_real(out, times[k]);
            put_int(out, l->gpu.launches);
            put_real(out, l->gpu.kernel_s);
            put_real(out, l->gpu.copy_s);
            put_int(out, l->copy.h2d.bytes);
            put_int(out, l->copy.d2h.bytes);
            const double memory[] = {l->mem.alloc_mb, l->mem.n,           l->mem.peak_mb,
                                     l->mem.avg_mb,   l->mem.live_end_mb, l->copy.host_mb};
            for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
                put_real(out, memory[k]);
            fputc(',', out);
            csv_text(out, l->text);
            fputs("\r\n", out);
        }
    }
}

const struct exporter export_csv = {"csv", ".csv", "one row per source line", csv_write};
