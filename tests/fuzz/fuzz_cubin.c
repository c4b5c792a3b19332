#include <string.h>

#include "profiler/analyze/symbols/cubin.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kernels[] = {"_Z7projectPfPKfi", "_Z11backprojectPfPKfi", ""};
    struct cubin *c;
    struct cubin_kernel k;
    struct cubin_frame frames[8];
    if (cubin_open(data, size, "fuzz.cubin", &c)) {
        FUZZ_CHECK(*err_text() && !c);
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        FUZZ_CHECK(cubin_kernel(c, kernels[i], &k) || (!k.begin.file && k.registers == -1));
        for (uint64_t offset = 0; offset < 4096; offset += 16) {
            int n = cubin_at(c, kernels[i], offset, frames, 8);
            FUZZ_CHECK(n >= 0 && n <= 8);
            for (int at = 0; at < n; at++) {
                FUZZ_CHECK(!frames[at].file || strlen(frames[at].file) < 1 << 20);
                FUZZ_CHECK(!frames[at].function || *frames[at].function);
            }
        }
    }
    cubin_free(c);
    return 0;
}
