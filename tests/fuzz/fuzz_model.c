#include <math.h>

#include "host/store/format/geometry_json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_model m;
    if (ct_model_parse("fuzz.json", (const char *)data, size, &m)) {
        FUZZ_CHECK(*err_text());
        return 0;
    }
    /* Every operator takes this for granted. */
    FUZZ_CHECK(m.scan.views > 0 && m.scan.rows > 0 && m.scan.channels > 0 && m.scan.angles);
    FUZZ_CHECK(m.volume.rows > 0 && m.volume.cols > 0 && m.volume.slices > 0);
    FUZZ_CHECK(m.volume.rows <= INT32_MAX / m.volume.cols);
    FUZZ_CHECK(m.volume.delta > 0 && isfinite(m.volume.slice_offset));
    FUZZ_CHECK(m.scan.beam == BEAM_PARALLEL || m.scan.source_iso > 0);
    FUZZ_CHECK(!m.scan.moves || m.scan.beam == BEAM_CONE);
    FUZZ_CHECK(!scan_is_translation(&m.scan) || m.scan.z_shifts);
    for (int64_t v = 0; v < m.scan.views; v++) {
        FUZZ_CHECK(isfinite(m.scan.angles[v]));
        FUZZ_CHECK(!m.scan.moves ||
                   (isfinite(m.scan.moves[v].x) && isfinite(m.scan.moves[v].elevation)));
    }
    ct_model_free(&m);
    return 0;
}
