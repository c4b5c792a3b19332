/* Texts in the trace: STRING records by id, META and NOTE. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"

/* Ids of the texts that this file has; a full neighbourhood means a text may be written twice. */
#define TABLE  32768
#define PROBES 8
static uint64_t written[TABLE] __attribute__((aligned(4096)));

/* After a new file was made. */
void text_forget(void)
{
    /* Zero again without touching pages: most processes write few texts. */
    if (!raw_clear(written, sizeof written))
        memset(written, 0, sizeof written);
    capture_count_memory(sizeof written);
}

uint64_t capture_text(struct capture_thread *t, const char *text, size_t bytes)
{
    uint64_t id = trace_hash(text, bytes, 0);
    size_t place = id % TABLE;
    for (int i = 0; i < PROBES; i++, place = (place + 1) % TABLE) {
        uint64_t seen = __atomic_load_n(&written[place], __ATOMIC_RELAXED);
        if (seen == id)
            return id;
        if (!seen)
            break;
    }
    struct trace_text r = {.r.kind = TRACE_STRING, .id = id};
    size_t room = TRACE_RECORD_MAX - sizeof r;
    r.bytes = (uint32_t)(bytes < room ? bytes : room);
    if (bytes > room)
        trace_lost(&capture.writer, TRACE_LOST_STRINGS, 1);
    if (trace_put(&t->stream, &r.r, sizeof r, text, bytes) && !written[place])
        __atomic_store_n(&written[place], id, __ATOMIC_RELAXED);
    return id;
}

/* key '\0' value, as META and NOTE have it. */
static size_t pair(char *out, size_t room, const char *key, const char *value)
{
    size_t k = strnlen(key, room - 1), v = strnlen(value, room - 1 - k);
    memcpy(out, key, k);
    out[k] = 0;
    memcpy(out + k + 1, value, v);
    return k + 1 + v;
}

void capture_meta(struct capture_thread *t, const char *key, const char *value)
{
    char tail[4096 + 128];
    struct trace_text r = {.r.kind = TRACE_META};
    if (!t)
        return;
    r.bytes = (uint32_t)pair(tail, sizeof tail, key, value);
    trace_put(&t->stream, &r.r, sizeof r, tail, r.bytes);
}

void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    char sentence[1024], tail[1024 + 128];
    struct trace_note r = {.r.kind = TRACE_NOTE, .severity = (uint32_t)severity};
    va_list list;
    if (!t)
        return;
    va_start(list, format);
    int n = vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    if (n < 0)
        return;
    r.bytes = (uint32_t)pair(tail, sizeof tail, key, sentence);
    trace_put(&t->stream, &r.r, sizeof r, tail, r.bytes);
}
