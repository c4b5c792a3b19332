/* What a frame of machine code does with data that is loaded, by its function and its library. */
#ifndef TP_ANALYZE_MODEL_CODECS_H
#define TP_ANALYZE_MODEL_CODECS_H

#include "profiler/analyze/model/model.h"

enum frame_work { WORK_OTHER, WORK_CALL, WORK_DECODE, WORK_CONVERT, WORK_PLACE };

/* `codec`: the name of what decodes, for WORK_DECODE. WORK_CALL: in a call of the kernel that
 * reads, whose time the recorder took itself. */
enum frame_work frame_work(const struct model_frame *f, const char **codec);

#endif
