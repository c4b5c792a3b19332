#include "host/store/format/nifti.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nifti_header h;
    if (nifti_parse("fuzz.nii", data, size, &h)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    FUZZ_CHECK(h.dims >= 1 && h.dims <= 7 && h.data_offset >= 0 && h.bits > 0);
    for (int i = 0; i < h.dims; i++)
        FUZZ_CHECK(h.shape[i] >= 1);
    return 0;
}
