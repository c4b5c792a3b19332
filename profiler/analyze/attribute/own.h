/* The one rule for the program's own code: headline, cards, tables and filters follow it. */
#ifndef TP_ANALYZE_ATTRIBUTE_OWN_H
#define TP_ANALYZE_ATTRIBUTE_OWN_H

#include "profiler/analyze/attribute/frames.h"

/* 1: the frame lies under the program's folder or package (working folder, folder of the script),
 * or in the program's executable or a library beside it; not in an installed package, the system,
 * a tool chain or generated code. --include and --exclude come first. */
int own_frame(struct image *im, const struct resolved *f);
/* Takes the script and its folder from the command line, words divided by line ends. `cwd` is
 * known. ERR_MEMORY. */
enum err own_command(struct image *im, const char *cmdline);
/* 1: a frame of Python's import machinery. */
int own_import(const struct resolved *f);

#endif
