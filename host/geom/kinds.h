/* The four kinds of scans by their names in geometry files, and an example of each. */
#ifndef TP_GEOM_KINDS_H
#define TP_GEOM_KINDS_H

#include "base/err.h"
#include "host/geom/scan.h"

enum scan_kind { KIND_PARALLEL, KIND_CONE, KIND_TRANSLATION, KIND_MULTIAXIS, SCAN_KINDS };
extern const char *const scan_kind_names[SCAN_KINDS]; /* "parallel", "cone", ... */

enum scan_kind scan_kind_of(const struct scan *s);
/* The place of a name in the list; SCAN_KINDS where it has none. */
enum scan_kind scan_kind_named(const char *name);

/* An example of `kind` from the sizes in *s: its beam and distances (source to detector 4 times the
 * channels, to the axis 2 times); then the angles from `first` on over `turn` (NAN: 180 degrees of
 * parallel rays, 360 of a cone, 0 of a translation), and the moves, of multi-axis rays with this
 * elevation. Radians. */
void scan_example_beam(enum scan_kind kind, struct scan *s);
enum err scan_example_views(enum scan_kind kind, double first, double turn, double elevation,
                            struct scan *s);

#endif
