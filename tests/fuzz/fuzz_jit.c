#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/symbols/code_image.h"
#include "profiler/analyze/symbols/jit.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "tests/fuzz/fuzz.h"

/* As an image that was announced to debuggers; every address of its code is asked for. */
static void announced(const uint8_t *data, size_t size)
{
    struct code_range ranges[8];
    struct symbol_file *file;
    struct file_frame frames[16];
    char *bytes = size ? malloc(size) : NULL;
    if (!bytes)
        return;
    memcpy(bytes, data, size);
    if (!code_image_place(bytes, size)) {
        free(bytes);
        return;
    }
    size_t count = code_image_ranges(bytes, size, ranges, 8);
    FUZZ_CHECK(count <= 8);
    FUZZ_CHECK(!symbol_file_open_code(bytes, size, &file) && file);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(ranges[i].start < ranges[i].end);
        for (uint64_t k = 0; k < 256 && ranges[i].start + k < ranges[i].end; k += 16) {
            int n = symbol_file_at(file, ranges[i].start + k, frames, 16);
            FUZZ_CHECK(n >= 0 && n <= 16);
            for (int f = 0; f < n; f++)
                FUZZ_CHECK(!frames[f].function || strlen(frames[f].function) < size);
        }
    }
    symbol_file_close(file);
}

/* As a perf map and as a jitdump: both are found by their names alone. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *texts;
    FUZZ_CHECK(!arena_create(&texts));
    for (int dump = 0; dump < 2; dump++) {
        struct jit *j;
        struct jit_place at;
        FUZZ_CHECK(!jit_create(texts, &j));
        const struct jit_mark marks[] = {{40, 100}, {60, 50}, {size, 200}};
        enum err e = dump ? jit_read_dump(j, data, size, 4711)
                          : jit_read_map(j, (const char *)data, size, marks, size % 4);
        FUZZ_CHECK(!e || *err_text());
        for (uint64_t address = 0x1000; address < 0x3000; address += 64)
            for (uint64_t time = 0; time < 400; time += 150)
                if (jit_find(j, time, address, &at)) {
                    FUZZ_CHECK(at.function && strlen(at.function) <= 1024);
                    FUZZ_CHECK(!at.file || strlen(at.file) <= 1024);
                    FUZZ_CHECK(at.line >= 0);
                }
        jit_free(j);
    }
    arena_free(texts);
    announced(data, size);
    return 0;
}
