/* A harness for each reader of untrusted bytes, with libFuzzer's entry points: run by libFuzzer
 * itself (run.sh), and by replay.c on the corpus. */
#ifndef TP_TESTS_FUZZ_FUZZ_H
#define TP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process when `condition` does not hold: a finding, like a crash. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            __builtin_trap();                                                                      \
    } while (0)

/* Quiet, and with little memory: a header that makes a reader ask for much is refused, or found. */
void fuzz_set_up(void);
/* Makes a folder of its own, in memory where the machine has a file system there: thousands of
 * inputs are written to it. */
void fuzz_folder(const char *name, char out[64]);
/* Writes an input into one file in memory, anew each time; its path. */
const char *fuzz_file(const uint8_t *data, size_t size);
/* A stream that keeps nothing. The number that is unknown in memory is a finding in its text. */
FILE *fuzz_sink(void);

#endif
