/* Names of scans, and the scans that the suite and `simulate` make. */
#include <string.h>

#include "host/geom/ct_model.h"
#include "host/geom/kinds.h"
#include "host/geom/moves.h"

const char *const scan_kind_names[SCAN_KINDS] = {"parallel", "cone", "translation", "multiaxis"};

enum scan_kind scan_kind_of(const struct scan *s)
{
    return s->beam == BEAM_PARALLEL ? KIND_PARALLEL
           : scan_is_translation(s) ? KIND_TRANSLATION
           : scan_is_multiaxis(s)   ? KIND_MULTIAXIS
                                    : KIND_CONE;
}

enum scan_kind scan_kind_named(const char *name)
{
    int kind = 0;
    while (kind < SCAN_KINDS && strcmp(name, scan_kind_names[kind]) != 0)
        kind++;
    return (enum scan_kind)kind;
}

void scan_example_beam(enum scan_kind kind, struct scan *s)
{
    s->beam = kind == KIND_PARALLEL ? BEAM_PARALLEL : BEAM_CONE;
    if (kind != KIND_CONE && kind != KIND_TRANSLATION)
        return;
    s->source_detector = 4 * (double)s->channels;
    s->source_iso = 2 * (double)s->channels;
}

enum err scan_example_views(enum scan_kind kind, double first, double turn, double elevation,
                            struct scan *s)
{
    const int translation = kind == KIND_TRANSLATION;
    if (isnan(turn))
        turn = translation ? 0 : kind == KIND_CONE ? 2 * M_PI : M_PI;
    s->angles = angles_even(first, turn, s->views);
    FAIL_IF(!s->angles, ERR_MEMORY, "no memory left for %lld angles", (long long)s->views);
    return translation || kind == KIND_MULTIAXIS
               ? moves_example(s, translation ? 0.125 * (double)s->channels : 0,
                               translation ? 0 : elevation)
               : ERR_OK;
}
