/* Nsight Compute's source page (ncu --csv --page source --print-source cuda,sass): for each kernel
 * and source file a table with a row per line, and rows of its instructions below it. Lines that
 * hold inlined code are in the table of each file of the chain. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/gpu/inside.h"
#include "profiler/import/source/ncu_source.h"
#include "profiler/trace/stalls.h"

enum { NOT_STALL = -1 };

/* Reads a cell; NaN: not a number. */
static double source_number(const struct csv *row, int column)
{
    char plain[64];
    size_t n = 0;
    if (column < 0 || column >= row->count)
        return (double)NAN;
    for (const char *c = row->field[column]; *c && n + 1 < sizeof plain; c++)
        if (*c != ',')
            plain[n++] = *c;
    plain[n] = 0;
    char *end;
    const double v = strtod(plain, &end);
    return n && !*end && v >= 0 && v < 9e15 ? v : (double)NAN;
}

static int source_stall(const char *title)
{
    static const char begin[] = "stall_";
    if (strncmp(title, begin, sizeof begin - 1) != 0 || strchr(title, '(') ||
        strstr(title, "not_issued"))
        return NOT_STALL;
    return (int)trace_stall_of(title + sizeof begin - 1);
}

static void source_head(struct ncu_source *s, const struct csv *row)
{
    static const char *const titles[SOURCE_COLUMNS] = {"Line No",
                                                       "Warp Stall Sampling (All Samples)",
                                                       "L2 Theoretical Sectors Global",
                                                       "L2 Theoretical Sectors Global Excessive",
                                                       "L1 Wavefronts Shared",
                                                       "L1 Wavefronts Shared Excessive"};
    for (int c = 0; c < SOURCE_COLUMNS; c++)
        s->column[c] = -1;
    s->fields = row->count < SOURCE_FIELDS ? row->count : SOURCE_FIELDS;
    for (int i = 0; i < s->fields; i++) {
        s->stall[i] = (int8_t)source_stall(row->field[i]);
        for (int c = 0; c < SOURCE_COLUMNS; c++)
            if (!strcmp(row->field[i], titles[c]))
                s->column[c] = i;
    }
}

/* Adds what was counted; a sum of which nothing is known stays unknown. */
static void source_add(double *sum, double more)
{
    if (isfinite(more))
        *sum = isfinite(*sum) ? *sum + more : more;
}

static void source_counts(const struct ncu_source *s, const struct csv *row,
                          struct inside_place *to)
{
    const double samples = source_number(row, s->column[SOURCE_SAMPLES]);
    double named = 0;
    for (int i = 0; i < s->fields; i++) {
        const double v = s->stall[i] == NOT_STALL ? 0 : source_number(row, i);
        if (v > 0) {
            to->stalls[s->stall[i]] += v;
            named += v;
        }
    }
    if (samples > named)
        to->stalls[TRACE_STALL_OTHER] += samples - named;
    const double sectors = source_number(row, s->column[SOURCE_SECTORS]),
                 waves = source_number(row, s->column[SOURCE_WAVEFRONTS]);
    source_add(&to->sectors, sectors);
    source_add(&to->sectors_ideal, sectors - source_number(row, s->column[SOURCE_SECTORS_MORE]));
    source_add(&to->wavefronts, waves);
    source_add(&to->wavefronts_ideal,
               waves - source_number(row, s->column[SOURCE_WAVEFRONTS_MORE]));
}

/* Takes a row of a line; without lines, of an instruction. */
static enum err source_row(struct ncu_source *s, struct builder *b, const struct csv *row)
{
    const int by_line = s->column[SOURCE_LINE] >= 0;
    const double line = source_number(row, s->column[SOURCE_LINE]);
    uint32_t kernel;
    struct inside_place *to;
    if (by_line && (!(line > 0) || !*s->file))
        return ERR_OK;
    if (!by_line && strncmp(row->field[0], "0x", 2) != 0)
        return ERR_OK;
    const struct cubin_frame frame = {.file =
                                          by_line ? import_path(b, s->file, strlen(s->file)) : NULL,
                                      .line = by_line && line < 1e9 ? (int)line : 0};
    TRY(gpu_kernel_of(b->run, import_text(b, s->kernel, strlen(s->kernel)), &kernel));
    TRY(inside_of(b->run, kernel, &frame, by_line, &to));
    if (to)
        source_counts(s, row, to);
    s->rows++;
    return ERR_OK;
}

int ncu_source_begins(const struct csv *row)
{
    return row->count == 2 &&
           (!strcmp(row->field[0], "Kernel Name") || !strcmp(row->field[0], "Function Name"));
}

enum err ncu_source_line(struct ncu_source *s, struct builder *b, const struct csv *row, int *taken)
{
    *taken = 1;
    if (ncu_source_begins(row)) {
        snprintf(s->kernel, sizeof s->kernel, "%s", row->field[1]);
        s->open = 1;
        s->fields = 0;
        *s->file = 0;
    } else if (s->open && row->count == 2 && !strcmp(row->field[0], "File Path")) {
        snprintf(s->file, sizeof s->file, "%s", row->field[1]);
        s->fields = 0;
    } else if (s->open &&
               (!strcmp(row->field[0], "Line No") || !strcmp(row->field[0], "Address"))) {
        source_head(s, row);
    } else if (s->open && s->fields) {
        return row->count >= s->fields ? source_row(s, b, row) : ERR_OK;
    } else {
        *taken = 0;
    }
    return ERR_OK;
}
