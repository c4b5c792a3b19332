#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "host/store/codec/children.h"
#include "host/store/guard/guarded.h"
#include "tests/fuzz/fuzz.h"

void fuzz_set_up(void)
{
    setenv("TOMOPROF_MEMORY", "256MiB", 1);
    log_set_level(LOG_ERROR);
    guarded_readers = 0; /* a crash is a finding */
    codec_children_used = 0;
}

void fuzz_folder(const char *name, char out[64])
{
    snprintf(out, 64, "%s/fuzz_%s.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", name);
    FUZZ_CHECK(mkdtemp(out) != NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_set_up();
    return 0;
}

const char *fuzz_file(const uint8_t *data, size_t size)
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
