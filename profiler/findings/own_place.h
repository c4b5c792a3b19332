/* How an own line or function is named in a sentence. */
#ifndef TP_FINDINGS_OWN_PLACE_H
#define TP_FINDINGS_OWN_PLACE_H

#include "profiler/analyze/model/model.h"

/* NULL: the model has no such line. */
const struct model_line *own_line_of(const struct model *m, const char *path, int64_t line);
int own_made_at_run_time(const struct model_own *at);
/* "recon.py:12", or "waves (prog)" of a program without line tables. */
void own_place(const struct model_own *at, char out[300]);
/* The same with the text of the line, cut to some 50 bytes. */
void own_place_and_text(const struct model *m, const struct model_own *at, char out[400]);

#endif
