/* Which code is the user's, which a library's, which a runtime's; how paths are shown. */
#ifndef TP_ANALYZE_ATTRIBUTE_RULES_H
#define TP_ANALYZE_ATTRIBUTE_RULES_H

#include "profiler/analyze/state/run.h"

enum frame_class { FRAME_USER, FRAME_LIBRARY, FRAME_RUNTIME };
enum frame_class rules_class(struct run *r, const char *file, const char *module, int python);
int rules_interpreter(const char *module);
int rules_recorder(const char *module); /* tomoprof's own library, in the program */
int rules_eval(const char *function);   /* the interpreter's loop */
/* By --include and --exclude: 1 asked for, 0 left out, RULES_OPEN where neither says anything. */
#define RULES_OPEN (-1)
int rules_chosen(struct run *r, const char *file);
/* Code that Python makes to be seen in perf (-X perf): its frames are recorded as they are. */
int rules_trampoline(const char *module, const char *function);
/* A path as shown. The text must live as long as the run. */
const char *rules_path(struct run *r, const char *recorded);
/* Any text with the paths in it shown likewise. */
const char *rules_words(struct run *r, const char *text);

#endif
