/* What exporters share: what a node of the stacks weighs, and its readable name. */
#include "profiler/report/export/export.h"

const struct export_unit export_units[EXPORT_WEIGHTS] = {
    [EXPORT_CPU] = {"cpu", "CPU time", "nanoseconds"},
    [EXPORT_GPU] = {"gpu", "GPU time by launching line", "nanoseconds"},
    [EXPORT_WAIT] = {"wait", "waiting", "nanoseconds"},
    [EXPORT_ALLOC] = {"alloc", "allocated memory", "bytes"},
};

int64_t export_weight(const struct model_stack *s, enum export_weight w)
{
    const int64_t weights[EXPORT_WEIGHTS] = {s->cpu_ns, s->gpu_ns, s->wait_ns, s->alloc_bytes};
    return weights[w] > 0 ? weights[w] : 0;
}

const char *export_frame_name(const struct model_frame *f)
{
    return f->function ? f->function : f->module ? f->module : "[unknown]";
}
