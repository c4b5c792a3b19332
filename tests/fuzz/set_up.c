#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "host/store/codec/children.h"
#include "host/store/guard/guarded.h"
#include "tests/fuzz/fuzz.h"

#ifdef __clang__
/* The interceptor of clang's sanitizer takes the C library's old realpath, which knows no NULL for
 * the result: libhdf5 could open no file. */
char *realpath(const char *restrict path, char *restrict out)
{
    static char *(*real)(const char *, char *);
    if (!real)
        real = (char *(*)(const char *, char *))dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3");
    FUZZ_CHECK(real);
    return real(path, out);
}
#endif

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

static ssize_t sink_write(void *state, const char *text, size_t n)
{
    static const char unknown[] = "-9223372036854775808"; /* JSON_UNKNOWN */
    const char *at = memmem(text, n, unknown, sizeof unknown - 1);
    (void)state;
    if (at) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        fprintf(stderr, "%.*s\n", (int)(at - line) + 80, line);
        FUZZ_CHECK(0);
    }
    return (ssize_t)n;
}

FILE *fuzz_sink(void)
{
    static FILE *sink;
    static char buffer[1 << 20];
    if (!sink) {
        sink = fopencookie(NULL, "w", (cookie_io_functions_t){.write = sink_write});
        FUZZ_CHECK(sink && !setvbuf(sink, buffer, _IOFBF, sizeof buffer));
    }
    return sink;
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
