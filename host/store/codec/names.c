/* Codecs' names, and the buffers that they work in. */
#include <stdlib.h>

#include "host/store/codec/codecs.h"

const char *codec_name(enum codec codec)
{
    static const char *const names[] = {
#define X(name, text, function, grows) text,
        CODEC_LIST(X)
#undef X
    };
    return (unsigned)codec < CODEC_COUNT ? names[codec] : "unknown";
}

enum err codec_spare(struct codec_worker *w, int which, size_t bytes)
{
    if (w->spare_room[which] >= bytes)
        return ERR_OK;
    free(w->spare[which]);
    w->spare[which] = malloc(bytes);
    w->spare_room[which] = w->spare[which] ? bytes : 0;
    FAIL_IF(!w->spare[which], ERR_MEMORY, "no memory left to decode %zu bytes", bytes);
    return ERR_OK;
}
