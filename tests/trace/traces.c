#include "tests/trace/traces.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char traces_folder[64];

int traces_set_up(void **state)
{
    (void)state;
    snprintf(traces_folder, sizeof traces_folder, "/tmp/tomoprof-trace-XXXXXX");
    return mkdtemp(traces_folder) ? 0 : -1;
}

void traces_empty(void)
{
    DIR *d = opendir(traces_folder);
    for (struct dirent *entry; d && (entry = readdir(d));)
        unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

int traces_tear_down(void **state)
{
    (void)state;
    traces_empty();
    return rmdir(traces_folder);
}

static uint64_t id_of(const struct trace_record *record)
{
    switch (record->kind) {
    case TRACE_STRING:
        return ((const struct trace_text *)record)->id;
    case TRACE_STACK:
        return ((const struct trace_stack *)record)->id;
    case TRACE_CODE:
        return ((const struct trace_code *)record)->id;
    case TRACE_SAMPLE:
        return ((const struct trace_sample *)record)->stack;
    default:
        return 0;
    }
}

static enum err read_all(struct trace_reader *reader, struct reading *r)
{
    struct trace_item item;
    int more;
    TRY(trace_next(reader, &item, &more));
    for (; more; r->count++) {
        if (!(r->count & (r->count - 1)))
            r->seen = realloc(r->seen, (r->count ? 2 * r->count : 1) * sizeof *r->seen);
        if (!r->seen)
            abort();
        uint32_t sum = trace_crc(0, item.record, (size_t)(item.tail - (const char *)item.record));
        r->seen[r->count] = (struct seen){item.tid, item.record->kind, id_of(item.record),
                                          trace_crc(sum, item.tail, item.tail_bytes)};
        TRY(trace_next(reader, &item, &more));
    }
    return ERR_OK;
}

struct reading reading_of(const char *path)
{
    struct reading r = {0};
    struct trace_reader *reader;
    r.error = trace_open(path, &reader);
    if (r.error)
        return r;
    r.error = read_all(reader, &r);
    r.header = *trace_reader_header(reader);
    r.damage = *trace_reader_damage(reader);
    trace_reader_free(reader);
    return r;
}

void reading_free(struct reading *r)
{
    free(r->seen);
    *r = (struct reading){0};
}

size_t reading_count(const struct reading *r, uint32_t tid)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        n += r->seen[i].tid == tid;
    return n;
}

int reading_clean(const struct reading *r)
{
    struct trace_damage damage = r->damage, none = {.unsealed = damage.unsealed};
    return !r->error && !memcmp(&damage, &none, sizeof none);
}

int put_text(struct trace_stream *s, uint64_t id, size_t bytes)
{
    static const char text[TRACE_RECORD_MAX + 4096] = "some text";
    struct trace_text t = {.r.kind = TRACE_STRING, .id = id, .bytes = (uint32_t)bytes};
    return trace_put(s, &t.r, sizeof t, text, bytes);
}

int put_sample(struct trace_stream *s, uint64_t stack)
{
    struct trace_sample sample = {.r.kind = TRACE_SAMPLE, .stack = stack, .tid = s->tid};
    return trace_put(s, &sample.r, sizeof sample, NULL, 0);
}

static void put_small(struct trace_stream *s)
{
    static const uint64_t frames[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char text[] = "file.pyname of a function, or of a module /lib/libsomething.so.6";
    struct trace_text meta = {.r.kind = TRACE_META, .bytes = 9};
    struct trace_code code = {.r.kind = TRACE_CODE, .id = 11, .file_bytes = 7, .name_bytes = 18};
    struct trace_stack stack = {.r.kind = TRACE_STACK, .id = 12, .native = 4, .python = 2};
    struct trace_module module = {.r.kind = TRACE_MODULE, .path_bytes = 22, .build_id_bytes = 20};
    struct trace_thread thread = {.r.kind = TRACE_THREAD, .tid = s->tid, .name_bytes = 6};
    struct trace_process process = {.r.kind = TRACE_PROCESS, .path_bytes = 10};
    struct trace_note note = {.r.kind = TRACE_NOTE, .bytes = 12};
    struct trace_device device = {.r.kind = TRACE_DEVICE, .name_bytes = 15};
    trace_put(s, &meta.r, sizeof meta, "key\0value", 9);
    trace_put2(s, &code.r, sizeof code, text, 7, text + 7, 18);
    trace_put2(s, &stack.r, sizeof stack, frames, 32, frames + 4, 32);
    trace_put2(s, &module.r, sizeof module, text + 42, 22, text, 20);
    trace_put(s, &thread.r, sizeof thread, text, 6);
    trace_put(s, &process.r, sizeof process, text, 10);
    trace_put(s, &note.r, sizeof note, "key\0sentence", 12);
    trace_put(s, &device.r, sizeof device, text, 15);
    put_text(s, 13, 9);
    put_sample(s, 12);
}

const char *small_trace(void)
{
    static char path[512];
    struct trace_writer w;
    struct trace_stream first, second;
    traces_empty();
    if (trace_create(&w, traces_folder, (const uint8_t *)"0123456789abcdef", 0))
        abort();
    trace_stream_open(&first, &w, 1);
    trace_stream_open(&second, &w, 2);
    put_small(&first);
    put_small(&second);
    trace_stream_close(&first);
    memcpy(path, w.path, sizeof path);
    trace_finish(&w, TRACE_EXIT, 3);
    trace_abandon(&w); /* so that the second is not sealed */
    trace_stream_close(&second);
    return path;
}

void patch(const char *path, long offset, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, n, offset) != (ssize_t)n || close(fd))
        abort();
}
