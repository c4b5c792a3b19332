/* rootcause.md of a recording: its findings that can be refuted, with evidence, actions, what a
 * change must keep, and what the recording cannot know. */
#ifndef TP_FINDINGS_CAUSES_H
#define TP_FINDINGS_CAUSES_H

#include "profiler/analyze/model/model.h"

/* Writes rootcause.json and rootcause.md into `folder`, or removes them where no finding has a
 * test. *written: 1 where there are some. */
enum err causes_write(const struct model *m, const char *folder, int *written);

/* Compares with a later run: fills the measured columns of both files of `folder`, whose profile is
 * `before`. *filled: 0 where the folder has none. `name`: of the later run. */
enum err causes_compare(const char *folder, const struct model *before, const char *later_folder,
                        const struct model *later, const char *name, int *filled);

#endif
