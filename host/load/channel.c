/* A channel of an array, by its name or number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/load/against.h"

/* The first dimension that is called c: those of microscopes have their channels there. */
static int channel_axis(const struct store_array *a)
{
    for (int d = 0; d < a->dims; d++)
        if (a->axis[d] && (!strcmp(a->axis[d], "c") || !strcasecmp(a->axis[d], "channel")))
            return d;
    return -1;
}

enum err load_channel(const struct store_array *a, const char *name, struct engine_box *box)
{
    const int axis = channel_axis(a);
    char known[300] = "", *end;
    int64_t at = -1;
    FAIL_IF(axis < 0, ERR_USAGE, "`channel=%s`: %s has no channels (no dimension is called c)",
            name, a->name);
    for (int i = 0; i < a->channels_count && at < 0; i++)
        if (!strcmp(a->channels[i].name, name))
            at = a->channels[i].value;
    if (at < 0 && *name >= '0' && *name <= '9') {
        errno = 0;
        at = strtoll(name, &end, 10);
        at = *end || errno ? -1 : at;
    }
    for (int i = 0; i < a->channels_count && strlen(known) < sizeof known - 60; i++)
        text_append(known, sizeof known, "%s%.40s", i ? ", " : ": ", a->channels[i].name);
    FAIL_IF(at < 0 || at >= a->shape[axis], ERR_USAGE,
            "`channel=%s`: %s has the channels 0 to %lld%s", name, a->name,
            (long long)a->shape[axis] - 1, known);
    box->start[axis] += at;
    box->count[axis] = 1;
    return ERR_OK;
}
