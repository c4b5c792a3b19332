#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analyze/symbols/demangle.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "tests/fuzz/fuzz.h"

#define FRAMES 8
#define CODE   1024 /* bytes behind the ELF header's, in which the code of small files lies */

/* Asks an ELF file with its debug information for places all over its code, as an analysis does with
 * files of the machine and of debuginfod. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symbol_file *f = NULL;
    struct symbol_facts facts = {0};
    struct file_frame frames[FRAMES];
    if (symbol_file_open(fuzz_file(data, size), NULL, 0, &f, &facts)) {
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
