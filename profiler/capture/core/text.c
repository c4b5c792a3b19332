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

/* META and NOTE end with key '\0' value; longer values are cut. */
#define VALUE_MOST 4096

void capture_meta(struct capture_thread *t, const char *key, const char *value)
{
    struct trace_text r = {.r.kind = TRACE_META};
    if (!t)
        return;
    size_t k = strlen(key) + 1, v = strnlen(value, VALUE_MOST);
    r.bytes = (uint32_t)(k + v);
    trace_put2(&t->stream, &r.r, sizeof r, key, k, value, v);
}

void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    enum { SENTENCE = 1024 };
    struct trace_note r = {.r.kind = TRACE_NOTE, .severity = (uint32_t)severity};
    va_list list;
    if (!t || !t->scratch)
        return;
    va_start(list, format);
    int n = vsnprintf(t->scratch, SENTENCE, format, list);
    va_end(list);
    if (n < 0)
        return;
    size_t k = strlen(key) + 1, v = strlen(t->scratch);
    r.bytes = (uint32_t)(k + v);
    trace_put2(&t->stream, &r.r, sizeof r, key, k, t->scratch, v);
}
