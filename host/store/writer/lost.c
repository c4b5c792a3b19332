/* Lists the facts of a source that a target format cannot hold, before anything is written. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/store/format/nifti.h"
#include "host/store/writer/writer.h"

struct lost {
    char text[2000];
    size_t n;
};

static void __attribute__((format(printf, 2, 3))) lost_add(struct lost *l, const char *format, ...)
{
    va_list args;
    if (l->n > 1800)
        return;
    if (l->n)
        l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, ", ");
    va_start(args, format);
    const int n = vsnprintf(l->text + l->n, sizeof l->text - l->n, format, args);
    va_end(args);
    l->n += n > 0 ? (size_t)n : 0;
    l->n = l->n < sizeof l->text ? l->n : sizeof l->text - 1;
}

static int is_set(const double *x, int n)
{
    int set = 0;
    for (int i = 0; i < n; i++)
        set |= x[i] != 0;
    return set;
}

/* A NIfTI header in a file of another format. */
static void lost_header(struct lost *l, const struct nifti_details *d)
{
    if (d->sform_code > 0 || d->qform_code > 0)
        lost_add(l, "affine (%s%s%s)", d->sform_code > 0 ? "sform" : "",
                 d->sform_code > 0 && d->qform_code > 0 ? ", " : "",
                 d->qform_code > 0 ? "qform" : "");
    if (d->intent_code || d->intent_name[0] || is_set(d->intent, 3))
        lost_add(l, "intent");
    if (d->description[0])
        lost_add(l, "description");
    if (d->aux_file[0])
        lost_add(l, "aux_file");
    if (d->cal_min != 0 || d->cal_max != 0)
        lost_add(l, "display range");
    if (d->slice_code || d->slice_duration != 0 || d->dim_info || d->time_offset != 0)
        lost_add(l, "acquisition order and times");
    if (d->extensions_bytes)
        lost_add(l, "extensions (%lld bytes)", (long long)d->extensions_bytes);
}

/* Lists what an order of dimensions does to the place in the world. */
static void lost_by_order(struct lost *l, const struct writer *w)
{
    struct nifti_details d = w->source->nifti->details;
    const struct nifti_details before = d;
    const int there = nifti_reorder(&d, w->dims - w->colours, w->from + w->colours);
    if (!there && (before.sform_code > 0 || before.qform_code > 0))
        lost_add(l, "affine (x, y and z are not the first three dimensions)");
    if (d.units != before.units)
        lost_add(l, "units");
    if (before.time_offset != 0 && d.time_offset == 0)
        lost_add(l, "time offset");
}

/* NIfTI has one unit for x, y and z. */
static int has_other_units(const struct writer *w)
{
    const struct store_array *a = w->source;
    int code = 0, other = 0;
    for (int i = 0; i < w->dims && i < 3; i++) {
        const int now = nifti_unit_code(a->unit[w->from[i]]);
        if (a->spacing[w->from[i]] <= 0 || !a->unit[w->from[i]])
            continue;
        other |= now < 1 || now > 7 || (code && code != now);
        code = now;
    }
    return other;
}

static void lost_axes(struct lost *l, const struct writer *w, const struct writer_format *f)
{
    static const char *const implied[] = {"x", "y", "z", "t", "u", "v", "w"};
    const struct store_array *a = w->source;
    int spacing = 0, axes = 0;
    for (int i = 0; i < w->dims; i++) {
        const char *axis = a->axis[w->from[i]];
        const int k = i - w->colours;
        spacing |= a->spacing[w->from[i]] > 0;
        axes |= axis && !(f->fortran && k < 7 && (k < 0 || !strcmp(axis, implied[k])));
    }
    if (spacing && !(f->keeps & KEEPS_SPACING))
        lost_add(l, "spacing");
    if (axes && !(f->keeps & KEEPS_AXES) && !(a->nifti && f->keeps & KEEPS_HEADER))
        lost_add(l, "names of axes");
}

void writer_lost(const struct store *s, const struct writer *w, const struct writer_format *f)
{
    const struct store_array *a = w->source;
    struct lost l = {.n = 0};
    if (!w->options->lost)
        return;
    lost_axes(&l, w, f);
    if (!(f->keeps & KEEPS_SCALE) && !w->scale && (a->slope != 1 || a->intercept != 0))
        lost_add(&l, "slope and intercept (`apply_scale` applies them)");
    if (a->nifti && !(f->keeps & KEEPS_HEADER))
        lost_header(&l, &a->nifti->details);
    else if (a->nifti)
        lost_by_order(&l, w);
    else if ((f->keeps & KEEPS_HEADER) && has_other_units(w))
        lost_add(&l, "units of spacing");
    if (a->units)
        lost_add(&l, "unit of the values (%.50s)", a->units);
    if (a->members_count && !(f->keeps & KEEPS_MEMBERS && writer_keeps_members(w)))
        lost_add(&l, "names of values (%.40s = %lld, ...)", a->members[0].name,
                 (long long)a->members[0].value);
    for (int i = 0; i < s->arrays_count; i++)
        if (s->arrays[i] != a)
            lost_add(&l, "array %.100s", s->arrays[i]->name);
    for (int i = 0; i < s->notes_count; i++)
        if (strcmp(s->notes[i].name, "version") != 0) /* of the format, not of the data */
            lost_add(&l, "%.100s", s->notes[i].name);
    if (l.n)
        w->options->lost(l.text);
}
