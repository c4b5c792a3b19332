/* From options to widths and kernels: makes the data, runs the simulation, writes its files. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "profiler/fpga/fpga.h"
#include "profiler/fpga/hls/hls_export.h"
#include "profiler/fpga/width/width_case.h"
#include "profiler/fpga/width/width_sweep.h"

/* A sweep as a line of text. */

/* Writes one line: bits of each stage, error and similarity on each data set, small formats that
 * keep the quality. */
static void width_write_line(const struct width_sweep *s, FILE *out)
{
    fprintf(out, "%-26s", s->primitive->name);
    for (int k = 0; k < WIDTH_STAGES; k++)
        if (!s->primitive->stages[k])
            fprintf(out, "  -");
        else
            fprintf(out, " %2d", s->bits[k]);
    for (int c = 0; c < s->cases; c++)
        fprintf(out, "  %.1e %.5f", s->together[c].rmse, s->together[c].ssim);
    for (int i = 0; i < s->formats_count; i++) {
        int keeps = 1;
        for (int c = 0; c < s->cases; c++)
            keeps &= width_keeps(&s->formats[i].at[c], s->limits);
        if (keeps)
            fprintf(out, "  %s%s", s->formats[i].name, s->formats[i].sums_wide ? "*" : "");
    }
    fprintf(out, "%s\n", s->reached ? "" : "  NOT REACHED");
}

/* cases[0]: the phantom; cases[1]: the scan, where there is one. Both are to be destroyed. */
static enum err make_cases(const struct fpga_data *data, struct width_case cases[2])
{
    memset(cases, 0, 2 * sizeof *cases);
    TRY(width_case_phantom((int)data->size, &cases[0]));
    return data->scan ? width_case_scan(data->scan, data->center, (int)data->size, &cases[1])
                      : ERR_OK;
}

static void destroy_cases(struct width_case cases[2])
{
    width_case_destroy(&cases[0]);
    width_case_destroy(&cases[1]);
}

static enum err fpga_write_files(const struct width_sweep *s, int n, const struct width_case *cases,
                                 const char *prefix)
{
    static const char *const suffixes[] = {".json", ".svg"};
    for (int i = 0; i < 2; i++) {
        struct outfile f = {0};
        char *path = NULL;
        FAIL_IF(asprintf(&path, "%s%s", prefix, suffixes[i]) < 0, ERR_MEMORY, "no memory left");
        enum err e = outfile_open(&f, path);
        if (!e)
            e = i ? width_write_svg(s, n, f.stream)
                  : width_write_json(s, n, cases, TP_VERSION, f.stream);
        if (!e)
            e = outfile_commit(&f);
        outfile_abort(&f);
        if (!e)
            log_info("%s", path);
        free(path);
        TRY(e);
    }
    return ERR_OK;
}

static enum err sweep_all(const struct width_case *cases, int n, const struct fpga_widths *widths,
                          FILE *lines)
{
    int count = 0, room = 0;
    while (width_primitive_at(room))
        room++;
    struct width_sweep *s = calloc((size_t)room, sizeof *s);
    FAIL_IF(!s, ERR_MEMORY, "no memory left for %d sweeps", room);
    enum err e = ERR_OK;
    for (int i = 0; !e && i < room; i++) {
        const struct width_primitive *p = width_primitive_at(i);
        if (widths->only && strcmp(widths->only, p->name))
            continue;
        e = width_sweep(p, cases, n, (struct width_limits){widths->rmse, widths->ssim}, &s[count]);
        if (!e)
            width_write_line(&s[count++], lines);
        fflush(lines);
    }
    if (!e)
        e = fpga_write_files(s, count, cases, widths->out);
    free(s);
    return e;
}

enum err fpga_widths_measure(const struct fpga_data *data, const struct fpga_widths *widths,
                             FILE *lines)
{
    struct width_case cases[2];
    FAIL_IF(widths->only && !width_primitive_named(widths->only), ERR_USAGE,
            "`only=%s`: no such primitive; docs/internals/triage-width.md lists them",
            widths->only);
    enum err e = make_cases(data, cases);
    if (!e)
        e = sweep_all(cases, data->scan ? 2 : 1, widths, lines);
    destroy_cases(cases);
    return e;
}

enum err fpga_hls_write(const struct fpga_data *data, const char *primitive, const char *folder)
{
    struct width_case cases[2];
    enum err e = make_cases(data, cases);
    if (!e)
        e = hls_export_write(primitive, &cases[data->scan ? 1 : 0], folder);
    destroy_cases(cases);
    return e;
}
