/* Classifies a frame of machine code by its work on data that is loaded, from its function and its
 * library. */
#ifndef TP_ANALYZE_MODEL_CODECS_H
#define TP_ANALYZE_MODEL_CODECS_H

#include "profiler/analyze/model/model.h"

enum frame_work { WORK_OTHER, WORK_CALL, WORK_DECODE, WORK_ENCODE, WORK_CONVERT, WORK_PLACE };

/* Returns the codec that a function or a library is named after; NULL: none, or no name. */
const char *codec_of(const char *name);
int codec_encodes(const char *function); /* 1: it compresses */

enum { CODEC_MODULES = 16 };
/* Libraries in which a function of a codec was seen that is named after none: their functions
 * without a name count as decoding too. */
struct codec_modules {
    const char *module[CODEC_MODULES], *codec[CODEC_MODULES];
    int count;
};
void codec_modules(const struct model *m, struct codec_modules *out);

/* `codec`: the name of what decodes, for WORK_DECODE. WORK_CALL: in a call of the kernel that
 * reads, whose time the recorder took itself. `unnamed`: decoding by its library alone. */
enum frame_work frame_work(const struct model_frame *f, const struct codec_modules *in,
                           const char **codec, int *unnamed);

#endif
