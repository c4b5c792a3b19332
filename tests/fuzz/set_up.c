#include <stdlib.h>

#include "host/base/log.h"
#include "tests/fuzz/fuzz.h"

void fuzz_set_up(void)
{
    setenv("TOMOPROF_MEMORY", "256MiB", 1);
    log_set_level(LOG_ERROR);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_set_up();
    return 0;
}
