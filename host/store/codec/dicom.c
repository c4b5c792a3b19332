/* DICOM: a chunk is a whole file, whose pixels GDCM decodes. */
#include "host/store/codec/codecs.h"
#include "host/store/dicom/dicom.h"

int dicom_available(void)
{
    const char *why;
    return dicom_open(&why) != NULL;
}

/* level 1: float32, each file's own slope and intercept applied. */
enum err codec_dicom(const struct codec_call *c)
{
    char why[256] = "";
    const char *missing;
    const struct dicom_library *l = dicom_open(&missing);
    FAIL_IF(!l, ERR_UNSUPPORTED, "its data are DICOM, and %s", missing);
    if (l->decode(c->in, c->in_bytes, c->step->level, c->out, c->out_bytes, why, sizeof why))
        return CODEC_DAMAGED(c, why);
    return ERR_OK;
}
