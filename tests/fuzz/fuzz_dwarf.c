#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/analyze/symbols/demangle.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "tests/fuzz/fuzz.h"

#define FRAMES 8
#define CODE   1024 /* bytes behind the ELF header's, in which the code of small files lies */

/* Writes an input into one file in memory, anew each time. */
static const char *file_of(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd;
    if (!fd) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

/* Asks an ELF file with its debug information for places all over its code, as an analysis does with
 * files of the machine and of debuginfod. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symbol_file *f = NULL;
    struct symbol_facts facts = {0};
    struct file_frame frames[FRAMES];
    if (symbol_file_open(file_of(data, size), NULL, 0, &f, &facts)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    FUZZ_CHECK((f != NULL) == (facts.state == SYMBOL_FILE_FOUND));
    for (uint64_t at = 0; f && at < CODE; at += 3) {
        const int n = symbol_file_at(f, at, frames, FRAMES);
        FUZZ_CHECK(n >= 0 && n <= FRAMES);
        for (int i = 0; i < n; i++) {
            char *name = frames[i].function ? demangle(frames[i].function) : NULL;
            FUZZ_CHECK(!frames[i].function || name);
            FUZZ_CHECK(!frames[i].file || strlen(frames[i].file) < 1 << 20);
            FUZZ_CHECK(frames[i].line >= 0 && frames[i].function_line >= 0);
            free(name);
        }
    }
    if (f)
        FUZZ_CHECK(symbol_file_memory(f) < (uint64_t)1 << 40);
    symbol_file_close(f);
    return 0;
}
