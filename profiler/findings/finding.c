/* Fills a finding: evidence, gain, lines. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profiler/findings/rules.h"

void finding_evidence(struct finding *out, const char *format, ...)
{
    const size_t n = strlen(out->evidence);
    va_list args;
    va_start(args, format);
    vsnprintf(out->evidence + n, sizeof out->evidence - n, format, args);
    va_end(args);
}

void finding_gain(struct finding *out, double low_s, double high_s, const char *confidence)
{
    out->gain_low_s = low_s;
    out->gain_s = high_s;
    out->confidence = confidence;
}

void finding_line(struct finding *out, const char *file, int64_t line, int64_t n, double value)
{
    if (!out->e)
        out->e = vector_add(&out->lines, (struct model_place){file, line, n, value});
}

ARRAY_ORDER(place_most_first, struct model_place, COMPARE(y->value, x->value));

void finding_lines_by(struct finding *out, const struct model *m, line_value *value)
{
    for (int i = 0; i < m->files_count; i++)
        for (int k = 0; k < m->files[i].lines_count; k++) {
            const struct model_line *line = &m->files[i].lines[k];
            double v = value(line);
            if (v > 0)
                finding_line(out, m->files[i].path, line->line, MODEL_UNKNOWN, v);
        }
    vector_sort(&out->lines, place_most_first);
    if (out->lines.count > FINDING_LINES)
        out->lines.count = FINDING_LINES;
}

void finding_calls(struct finding *out, const struct model_io_file *file, const char *op)
{
    for (int i = 0; file && i < file->lines_count; i++) {
        const struct model_io_place *p = &file->lines[i];
        if (p->file && (!op || !strcmp(p->op, op)))
            finding_line(out, p->file, p->line, (int64_t)p->calls, p->s);
    }
}

void finding_file(struct finding *out, const struct model_io_file *file)
{
    finding_calls(out, file, NULL);
}
