#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/scan/projections.h"
#include "host/store/exchange/exchange.h"
#include "tests/fuzz/fuzz.h"

/* libhdf5 1.10 loses objects of its own when it gives up on some damaged headers. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static int fill(int fd, const uint8_t *data, size_t size)
{
    return ftruncate(fd, 0) == 0 && (!size || pwrite(fd, data, size, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("fuzz.h5", 0); /* a file in memory */
    FUZZ_CHECK(fd >= 0 && fill(fd, data, size));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    struct exchange_info info;
    struct projections p;
    if (exchange_info(&(struct exchange_source){.path = path}, &info))
        FUZZ_CHECK(*err_text());
    else
        FUZZ_CHECK(info.views > 0 && info.rows > 0 && info.channels > 0);
    if (projections_read(&(struct exchange_source){.path = path}, 0, -1, &p)) {
        FUZZ_CHECK(*err_text() && !p.sinogram && !p.angles);
        return 0;
    }
    for (int64_t i = 0; i < p.views * p.rows * p.channels; i++)
        FUZZ_CHECK(isfinite(p.sinogram[i]));
    for (int64_t v = 0; v < p.views; v++)
        FUZZ_CHECK(isfinite(p.angles[v]));
    projections_free(&p);
    return 0;
}
