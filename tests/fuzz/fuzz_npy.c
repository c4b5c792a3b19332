#include <string.h>

#include "host/store/format/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy_header h;
    if (npy_parse("fuzz.npy", data, size, &h)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    FUZZ_CHECK(h.dims >= 0 && h.dims <= NPY_DIMS && strlen(h.dtype) < sizeof h.dtype);
    FUZZ_CHECK(h.data_offset >= 10 && (size_t)h.data_offset <= size);
    for (int i = 0; i < h.dims; i++)
        FUZZ_CHECK(h.shape[i] >= 0);
    return 0;
}
