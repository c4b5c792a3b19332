#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/reader.h"
#include "profiler/trace/writer.h"
#include "tests/fuzz/fuzz.h"

/* The reader takes a path: one file in memory, written anew for each input. */
static const char *file_of(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd;
    if (!fd) {
        fd = memfd_create("trace", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_reader *reader;
    struct trace_item item;
    int more = 1;
    uint32_t sum = 0;
    size_t bytes = 0;
    if (trace_open(file_of(data, size), &reader)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    for (;;) {
        FUZZ_CHECK(trace_next(reader, &item, &more) == ERR_OK);
        if (!more)
            break;
        size_t fixed = (size_t)(item.tail - (const char *)item.record);
        FUZZ_CHECK((uintptr_t)item.record % 8 == 0 && fixed >= sizeof *item.record);
        FUZZ_CHECK(fixed + item.tail_bytes <= 8u * item.record->words);
        int known = 0;
#define X(name, number, type) known |= item.record->kind == (number);
        TRACE_KIND_LIST(X)
#undef X
        FUZZ_CHECK(known);
        sum ^= trace_crc(trace_crc(sum, item.record, fixed), item.tail, item.tail_bytes);
        bytes += 8u * item.record->words;
    }
    /* no record twice */
    FUZZ_CHECK(bytes <= size && trace_reader_position(reader) <= size);
    trace_reader_free(reader);
    return (int)(sum & 0); /* its bytes were read: a sanitizer saw them all */
}
