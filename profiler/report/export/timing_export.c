/* timing.json as OpenMetrics text (openmetrics.io, 1.0), and as JUnit's XML, where each operation
 * at each size is a test case. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "profiler/report/export/timing_export.h"

static void put_label(FILE *out, const char *s)
{
    for (; s && *s; s++)
        if (*s == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

/* A family: its lines lie together. `values` of a row, with what tells them apart. */
struct family {
    const char *name, *unit, *help, *label; /* label: NULL without one */
    struct {
        const char *word;
        size_t offset;
    } values[5];
};
#define VALUE(word, member)                                                                        \
    {                                                                                              \
        word, offsetof(struct timing_statistics, member)                                           \
    }

static void put_family(FILE *out, const struct timing_file *t, const struct family *f)
{
    char size[JSON_DIGITS];
    fprintf(out, "# TYPE %s gauge\n", f->name);
    if (f->unit)
        fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
    fprintf(out, "# HELP %s %s\n", f->name, f->help);
    for (int i = 0; i < t->statistics_count; i++)
        for (int k = 0; k < 5 && f->values[k].word; k++) {
            const struct timing_statistics *row = &t->statistics[i];
            double v = *(const double *)((const char *)row + f->values[k].offset);
            if (!isfinite(v)) /* unknown: the sample is absent */
                continue;
            fprintf(out, "%s{operation=\"", f->name);
            put_label(out, row->operation);
            fprintf(out, "\",size=\"%s\"", json_digits(row->volume_size, "unknown", size));
            if (f->label)
                fprintf(out, ",%s=\"%s\"", f->label, f->values[k].word);
            fprintf(out, "} %.17g\n", v);
        }
}

static void write_metrics(const struct timing_file *t, FILE *out)
{
    static const struct family families[] = {
        {"tomoprof_operation_seconds",
         "seconds",
         "Time of an operation over its measured runs.",
         "statistic",
         {VALUE("min", min), VALUE("median", median), VALUE("mean", mean), VALUE("p95", p95)}},
        {"tomoprof_operation_flops",
         NULL,
         "Arithmetic rate at the median, in 1e9 operations per second.",
         NULL,
         {VALUE("", gflops)}},
        {"tomoprof_operation_bandwidth",
         NULL,
         "Memory rate at the median, in 1e9 bytes per second.",
         NULL,
         {VALUE("", gbytes_per_s)}},
        {"tomoprof_operation_peak_ratio",
         "ratio",
         "Share of the measured peak of this machine.",
         NULL,
         {VALUE("", roof_share)}},
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        put_family(out, t, &families[i]);
    fputs("# TYPE tomoprof_suite info\n# HELP tomoprof_suite What was "
          "measured.\ntomoprof_suite_info{version=\"",
          out);
    put_label(out, t->environment.tomoprof_version);
    fputs("\",backend=\"", out);
    put_label(out, t->environment.backend);
    fputs("\"} 1\n# EOF\n", out);
}

/* XML 1.0 has no control characters, not even as references. */
static void put_xml(FILE *out, const char *s)
{
    for (; s && *s; s++)
        if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else if (*s == '"')
            fputs("&quot;", out);
        else
            fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
}

/* The first row of each operation at each size stands for all of its runs. */
static int begins_case(const struct timing_file *t, int i)
{
    const struct timing_measurement *a = &t->measurements[i];
    for (int k = 0; k < i; k++)
        if (t->measurements[k].volume_size == a->volume_size && t->measurements[k].operation &&
            a->operation && !strcmp(t->measurements[k].operation, a->operation))
            return 0;
    return a->operation != NULL;
}

struct outcome {
    const char *status, *reason; /* failed before skipped before ok */
    double time;
};

/* The traced pass adds no time to a case that was timed, and none that was left out skips it. What
 * failed there has failed. */
static struct outcome outcome_of(const struct timing_file *t, int i)
{
    struct outcome o = {"ok", NULL, 0};
    for (int k = i; k < t->measurements_count; k++) {
        const struct timing_measurement *m = &t->measurements[k];
        if (m->volume_size != t->measurements[i].volume_size || !m->operation ||
            strcmp(m->operation, t->measurements[i].operation))
            continue;
        const int other_pass = m->traced != t->measurements[i].traced;
        o.time += isfinite(m->time) && !other_pass ? m->time : 0;
        int failed = m->status && !strcmp(m->status, "failed"),
            skipped = m->status && !strcmp(m->status, "skipped") && !other_pass;
        if (failed || (skipped && !strcmp(o.status, "ok")))
            o.status = m->status, o.reason = m->reason;
    }
    return o;
}

static void write_junit(const struct timing_file *t, FILE *out)
{
    int tests = 0, failed = 0, skipped = 0;
    char size[JSON_DIGITS];
    for (int i = 0; i < t->measurements_count; i++)
        if (begins_case(t, i)) {
            struct outcome o = outcome_of(t, i);
            tests++;
            failed += !strcmp(o.status, "failed");
            skipped += !strcmp(o.status, "skipped");
        }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
            "name=\"tomoprof\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">\n",
            tests, failed, skipped);
    for (int i = 0; i < t->measurements_count; i++) {
        if (!begins_case(t, i))
            continue;
        struct outcome o = outcome_of(t, i);
        fputs("<testcase classname=\"", out);
        put_xml(out, t->measurements[i].operation);
        fprintf(out, "\" name=\"size %s\" time=\"%.6f\"",
                json_digits(t->measurements[i].volume_size, "unknown", size), o.time);
        if (strcmp(o.status, "ok")) {
            fprintf(out, "><%s message=\"", !strcmp(o.status, "failed") ? "failure" : "skipped");
            put_xml(out, o.reason ? o.reason : o.status);
            fputs("\"/></testcase>\n", out);
        } else
            fputs("/>\n", out);
    }
    fputs("</testsuite>\n</testsuites>\n", out);
}

static const struct timing_exporter openmetrics = {
    "openmetrics", ".openmetrics.txt", "times of the suite for Prometheus", write_metrics};
static const struct timing_exporter junit = {
    "junit", ".junit.xml", "operations of the suite as test cases for CI", write_junit};
const struct timing_exporter *const timing_exporters[] = {&openmetrics, &junit, NULL};

const struct timing_exporter *timing_exporter_find(const char *name)
{
    for (int i = 0; timing_exporters[i]; i++)
        if (!strcmp(timing_exporters[i]->name, name))
            return timing_exporters[i];
    return NULL;
}

enum err timing_export_file(const struct timing_file *t, const struct timing_exporter *x,
                            const char *path)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    x->write(t, f.stream);
    return outfile_commit(&f);
}
