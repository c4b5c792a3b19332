/* Which code is the user's, which a library's, which a runtime's; how paths are shown. */
#ifndef TP_ANALYZE_ATTRIBUTE_RULES_H
#define TP_ANALYZE_ATTRIBUTE_RULES_H

#include "profiler/analyze/state/run.h"

enum frame_class { FRAME_USER, FRAME_LIBRARY, FRAME_RUNTIME };
enum frame_class rules_class(struct run *r, const char *file, const char *module, int python);
int rules_interpreter(const char *module);
int rules_eval(const char *function); /* the interpreter's loop */
int rules_own(const char *file);      /* of no installed package */
/* A path as shown. The text must live as long as the run. */
const char *rules_path(struct run *r, const char *recorded);
/* Any text with the paths in it shown likewise. */
const char *rules_words(struct run *r, const char *text);

#endif
