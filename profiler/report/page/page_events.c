/* Events of the timeline as their page has them: without columns that say nothing, and no finer than
 * a screen shows. */
#include <math.h>
#include <string.h>

#include "profiler/report/page/page_profile.h"

/* Part of the run: a view of 1,000 pixels that is zoomed 1,000 times still has 10 steps a pixel. */
#define EVENT_STEP 1e-7

static cJSON *page_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int numbers_equal(const cJSON *a, const cJSON *b)
{
    for (a = a ? a->child : NULL, b = b ? b->child : NULL; a && b; a = a->next, b = b->next)
        if (a->valuedouble != b->valuedouble)
            return 0;
    return !a && !b;
}

static int numbers_are_one(const cJSON *list)
{
    for (const cJSON *at = list ? list->child : NULL; at; at = at->next)
        if (at->valuedouble != 1)
            return 0;
    return 1;
}

/* Counts begins and ends in steps, so that neighbours still touch. */
static void spans_round(cJSON *starts, cJSON *lengths, double step)
{
    double at = 0, before = 0;
    cJSON *start = starts ? starts->child : NULL, *length = lengths ? lengths->child : NULL;
    for (; start && length; start = start->next, length = length->next) {
        at += start->valuedouble;
        const double from = round(at / step), until = round((at + length->valuedouble) / step);
        cJSON_SetNumberValue(start, from - before);
        cJSON_SetNumberValue(length, until - from);
        before = from;
    }
}

/* Counts amounts in steps, so that their sum stays. */
static void amounts_round(cJSON *amounts, double step)
{
    double sum = 0, before = 0;
    for (cJSON *at = amounts ? amounts->child : NULL; at; at = at->next) {
        sum += at->valuedouble;
        cJSON_SetNumberValue(at, round(sum / step) - before);
        before = round(sum / step);
    }
}

/* Nanoseconds of a step, a power of ten. */
static double event_step(const cJSON *profile)
{
    const cJSON *wall = page_get(page_get(profile, "meta"), "wall_s");
    const double step = cJSON_IsNumber(wall) ? 1e9 * EVENT_STEP * wall->valuedouble : 0;
    return step >= 1 ? pow(10, floor(log10(step))) : 1;
}

/* Samples and waits, which are many and of uneven lengths. What a device did is exact. */
static int track_is_sampled(const cJSON *track)
{
    const char *kind = cJSON_GetStringValue(page_get(track, "kind"));
    return kind && (!strcmp(kind, "cpu") || !strcmp(kind, "wait"));
}

void page_events(cJSON *profile)
{
    const double step = event_step(profile);
    cJSON *track;
    cJSON_ArrayForEach (track, page_get(profile, "timeline")) {
        cJSON *events = page_get(track, "events");
        /* Busy times are lengths where no events were joined, and then each counts once. */
        if (numbers_equal(page_get(events, "length"), page_get(events, "busy")))
            cJSON_DeleteItemFromObjectCaseSensitive(events, "busy");
        if (numbers_are_one(page_get(events, "count")))
            cJSON_DeleteItemFromObjectCaseSensitive(events, "count");
        if (step > 1 && track_is_sampled(track)) {
            spans_round(page_get(events, "start"), page_get(events, "length"), step);
            amounts_round(page_get(events, "busy"), step);
            cJSON_AddNumberToObject(track, "step_ns", step);
        }
    }
}
